"""An image whose address the target cannot read: a local file, or an address without a scheme.

Why: ``Invalid 'messages[0].content[1].image_url.url'. Expected a valid URL, but got a value with an
invalid format`` (OpenAI); ``Only HTTPS URLs are supported`` (Anthropic). A provider cannot read a
file of the caller (``file:``, a path) or of a browser (``blob:``).

Repair: ``//host/a.png`` becomes ``https://host/a.png``, and white space, quotes and brackets around
an address are removed. Any other address becomes a text that states it. chatmend never fetches an
image.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "image_url", "image_url": {"url": "//example.com/a.png"}},
         {"type": "image_url", "image_url": {"url": "file:///tmp/b.png"}}]}]
After:
    [{"role": "user", "content": [
         {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
         {"type": "text", "text": "Image not available: the model cannot read the address \
file:///tmp/b.png."}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.dialects.pictures import find_picture, link_of, with_link
from chatmend.images.addresses import corrected_link
from chatmend.rules.image_repair import ImageRepair, repair_images, replacement_text
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

LINK_SCHEMES = "link_schemes"
_LONGEST_QUOTED = 200
_KEYS = frozenset({"image_url", "source", "url"})


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for images with an address that the target cannot read."""
    schemes = context.limits.of(LINK_SCHEMES)
    if schemes is None or not context.limits.images.vision:
        return

    def repair_image(part: Media, role: str) -> ImageRepair | None:
        link = _link_in(part.extra)
        corrected = None if link is None else corrected_link(link, schemes)
        if link is None or corrected == link:
            return None
        quoted = link[:_LONGEST_QUOTED]
        if corrected is not None:
            why = "the address of the image is not in the form that providers read"
            becomes = replace(part, native=with_link(part.extra, corrected))
            return ImageRepair((becomes,), why, Effect.RESHAPES)
        text = f"Image not available: the model cannot read the address {quoted.strip()}."
        replacement = replacement_text(part, text, context)
        why = "the target cannot read the address of the image"
        return ImageRepair((replacement,), why, Effect.DEGRADES)

    yield from repair_images(window, context, repair_image)


def _link_in(native: dict[str, Any]) -> str | None:
    """Return the address of an image that is not part of the request."""
    found = find_picture(native)
    return link_of(native) if found is not None and found.payload is None else None


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of links: whether it has to be corrected or replaced."""
    schemes = limits.of(LINK_SCHEMES)

    def judge(part: dict[str, Any]) -> object:
        link = _link_in(part)
        return link is not None and corrected_link(link, schemes) != link

    return None if schemes is None else judge


RULE = Rule(
    "IMG014",
    "unreachable-image",
    find,
    {"parts": KeyedJudge(_KEYS, _make_judge)},
    own_limits={LINK_SCHEMES: list[str]},
)
