"""Audio or video for a model that does not take it.

Why: ``This model doesn't support the video content block that you provided.`` (Bedrock);
``Invalid 'messages[3]'. Content blocks are expected to be either text or image_url type.`` (OpenAI,
for audio).

Repair: A text replaces the recording and states its type, duration and size. The duration is read
from the header of WAV, MP3, FLAC, Ogg and MP4 files.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "text", "text": "What is said?"},
         {"type": "video_url", "video_url": {"url": "https://example.com/talk.mp4"}}]}]
After:
    [{"role": "user", "content": [
         {"type": "text", "text": "What is said?"},
         {"type": "text", "text": "Video removed (https://example.com/talk.mp4): this model does \
not take video."}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.dialects.attachments import ATTACHMENT_KEYS, find_attachment
from chatmend.rules import document_words
from chatmend.rules.image_repair import ImageRepair, repair_images
from chatmend.rules.rule import KeyedJudge, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window

_LIMITS = ("audio", "video")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that replace audio and video which the model does not take."""
    refused = _refused(context.limits)
    if not refused:
        return

    def repair_recording(part: Media, role: str) -> ImageRepair | None:
        found = find_attachment(part.extra)
        if found is None or found.kind not in refused:
            return None
        text = document_words.removed_attachment(found, f"this model does not take {found.kind}")
        why = f"{document_words.measure_attachment(found)}: the model does not take {found.kind}"
        return ImageRepair((document_words.text_part(part, text, context),), why, Effect.DROPS)

    yield from repair_images(window, context, repair_recording)


def _refused(limits: Limits) -> tuple[str, ...]:
    return tuple(name for name in _LIMITS if limits.of(name) is False)


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of recordings: whether the model refuses one."""
    refused = _refused(limits)

    def judge(part: dict[str, Any]) -> object:
        found = find_attachment(part)
        return found is not None and found.kind in refused

    return judge if refused else None


RULE = Rule(
    "MEDIA001",
    "unsupported-recording",
    find,
    {"parts": KeyedJudge(ATTACHMENT_KEYS, _make_judge)},
    own_limits=dict.fromkeys(_LIMITS, bool),
)
