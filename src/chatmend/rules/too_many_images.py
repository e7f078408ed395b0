"""Too many images, or too many bytes of them, in one request.

Why: ``Too many images and documents: 101 + 0 > 100`` and ``Request exceeds the maximum size`` (Anthropic); ``Too many images
provided. This model supports up to 5 images`` (Groq).

Repair: the oldest become texts, in coarse steps: when a limit is passed, as many go at once as leave a quarter of it free.
So what was sent stays a prefix of what is sent, but for one change a step.

Before (mistral/mistral-medium-latest):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/0.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/1.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/2.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/3.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/4.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/5.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/6.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/7.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/8.png"}}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "Image removed: the request held more images than the model takes."}, {"type": "text", "text": "Image removed: the request held more images than the model takes."}, {"type": "text", "text": "Image removed: the request held more images than the model takes."}, {"type": "image_url", "image_url": {"url": "https://example.com/3.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/4.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/5.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/6.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/7.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/8.png"}}]}]
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Change, Effect
from chatmend.dialects.pictures import picture, told
from chatmend.rules.image_words import TOO_MANY
from chatmend.rules.rule import Context, Request, RequestRule
from chatmend.transcript import Thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE, NAME = "IMG012", "too-many-images"
_KEPT = 0.75
"""What is left of a limit when it was passed."""
_Place = tuple[int, ...]
"""Where an image is: the message, then the place in each nested list of parts."""


@dataclass(slots=True)
class _Tally:
    """The images that are still sent, while the messages go by in order."""

    most: int | None
    most_bytes: int | None
    images: deque[tuple[_Place, int]] = field(default_factory=deque)
    size: int = 0
    gone: list[_Place] = field(default_factory=list)

    def settle(self) -> None:
        """Let the oldest go where a limit is passed."""
        if self.most is not None and len(self.images) > self.most:
            kept = max(1, int(self.most * _KEPT))
            while len(self.images) > kept:
                self._drop()
        if self.most_bytes is not None and self.size > self.most_bytes:
            while self.size > self.most_bytes * _KEPT and self.images:
                self._drop()

    def _drop(self) -> None:
        place, size = self.images.popleft()
        self.size -= size
        self.gone.append(place)


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """The request without the oldest images where there are too many, and one change a message for it."""
    limits, messages = context.limits.images, request.messages
    if limits.max_images is None and limits.max_request_bytes is None:
        return request, []
    listed = [at for at, message in enumerate(messages) if _content(message).__class__ is list]
    found = {at: inside for at in listed if (inside := list(_pictures(_content(messages[at]))))}
    if not found:
        return request, []
    tally = _Tally(limits.max_images, limits.max_request_bytes)
    tally.size = _weight(request.system) + _weight(request.tools)
    for at, message in enumerate(messages):
        inside = found.get(at, [])
        tally.size += _weight(_said(message)) - sum(size for _, size in inside)
        for place, size in inside:
            tally.images.append(((at, *place), size))
            tally.size += size
        tally.settle()
    out, changes = _told(messages, tally.gone, context)
    return (request if out is messages else replace(request, messages=out)), changes


def _content(message: Any) -> Any:  # noqa: ANN401 - anything may stand here
    """The content of a message, which a dialect of objects has as an attribute."""
    return message.get("content") if message.__class__ is dict else getattr(message, "content", None)


def _said(message: Any) -> Any:  # noqa: ANN401 - as above
    return message if message.__class__ is dict else (_content(message), getattr(message, "tool_calls", None))


def _pictures(content: Any) -> Iterator[tuple[_Place, int]]:  # noqa: ANN401 - as above
    if not isinstance(content, list):
        return
    for at, part in enumerate(content):
        if not isinstance(part, dict) or isinstance(part.get("text"), str):
            continue
        if (image := picture(part)) is not None:
            yield (at,), image.payload.text_size if image.payload is not None else 0
        elif part.get("type") == "tool_result":
            yield from (((at, *place), size) for place, size in _pictures(part.get("content")))


def _weight(value: object) -> int:
    """About how many bytes a value takes in the request; a text is measured, not read."""
    if isinstance(value, dict) and isinstance(value.get("content"), str) and len(value) == 2:  # noqa: PLR2004
        return len(value["content"]) + 32
    return sum((len(text) if text.isascii() else len(text) * 3) + 6 for text in jsontext.strings(value))


def _told(messages: list[Any], gone: list[_Place], context: Context) -> tuple[list[Any], list[Change]]:
    by_message: dict[int, list[_Place]] = {}
    for place in gone:
        by_message.setdefault(place[0], []).append(place[1:])
    allowed = context.policy.allow >= Effect.DROPS
    signed = _last_signed(messages, context) if by_message else -1
    out, changes = list(messages), list[Change]()
    for at, places in by_message.items():
        becomes = out[at]
        shown: Any = becomes if isinstance(becomes, dict) else context.dialect.read(becomes).native
        for place in places:
            shown = _without(shown, place)
        becomes = shown if isinstance(becomes, dict) else context.dialect.write(context.dialect.read(shown))
        why = f"more images than the target takes in one request: {len(places)} of the oldest removed"
        changes.append(
            Change(
                CODE, NAME, Effect.DROPS, at, why, (out[at],), (becomes if allowed else out[at],), None, at,
                applied=allowed, invalidates_thinking=allowed and at <= signed,
            )
        )  # fmt: skip
        out[at] = becomes
    return (out, changes) if by_message and allowed else (messages, changes)


def _last_signed(messages: list[Any], context: Context) -> int:
    """The last message with a signed thinking block; -1 where there is none."""
    for at in range(len(messages) - 1, -1, -1):
        parts = context.dialect.read(messages[at]).parts
        if any(isinstance(part, Thinking) and part.signature for part in parts):
            return at
    return -1


def _without(holder: dict[str, Any], place: _Place) -> dict[str, Any]:
    """A message, or a tool result, with a text in the place of one image."""
    first, *rest = place
    content = list(holder["content"])
    content[first] = _without(content[first], tuple(rest)) if rest else told(content[first], TOO_MANY)
    return {**holder, "content": content}


RULE = RequestRule(CODE, NAME, apply)
