"""A tall or wide image, such as a screenshot of a whole page, that the model could not read.

Why: The request is accepted, but Anthropic scales an image to 1568 or 2576 pixels, OpenAI to 2048
and Mistral to 1540, so a page of 1440 x 11000 pixels is seen at 205 x 1568. Anthropic refuses more
than 8000 pixels, and 2000 in a request with many images.

Repair: The image is cut into overlapping tiles in reading order, each with a caption. The model
sees them at a scale at which text of 12 pixels is legible. If the target accepts too few images,
the report states the size of the smallest legible text. An image is tall or wide if its sides
differ by more than a factor of 2.5; screens and photos stay whole. The effect is *added* if the
target accepts the image, because the model sees more than before, and *degraded* otherwise. With
``Policy(tall="scale")`` the image is scaled as a whole. An image in the result of a computer tool
stays whole.

Before (anthropic/claude-sonnet-4-5): an image of 1440 x 11000 pixels, about 448 tokens
After: eight tiles of 1440 x 1438 pixels at 1094 x 1092, about 12480 tokens, each after a text such
as ``Tile 2 of 8 of an image of 1440 x 11000 pixels: rows 1366 to 2804.``
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chatmend import images
from chatmend.changes import Effect
from chatmend.dialects.pictures import find_picture, replace_image
from chatmend.images.defects import Defect
from chatmend.rules import image_words
from chatmend.rules.image_repair import (
    HOSTED,
    IMAGES,
    ImageRepair,
    caption,
    probe_once,
    recompress,
    repair_images,
    without_cache_marker,
)
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects.pictures import Picture
    from chatmend.images import Outcome, Probe, Tiling
    from chatmend.images.payload import Payload
    from chatmend.targets.image_limits import ImageLimits
    from chatmend.transcript import Media, Part
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that cut tall and wide images into tiles."""

    def repair_image(part: Media, role: str) -> ImageRepair | None:
        found = find_picture(part.extra)
        if found is None or found.payload is None:
            return None
        image = _Image(part, found, found.payload, probe_once(window, found.payload), context)
        if image.diagnose(context.limits.images) is not Defect.ILLEGIBLE:
            return None
        return image.repair(is_cut=role != HOSTED)

    yield from repair_images(window, context, repair_image)


@dataclass(frozen=True, slots=True)
class _Image:
    """An image in a message, with the facts that decide how it is repaired."""

    part: Media
    found: Picture
    payload: Payload
    probe: Probe
    context: Context

    def diagnose(self, limits: ImageLimits) -> Defect | None:
        """Return the most serious defect for these limits."""
        return images.diagnose(self.probe, limits, self.payload.text_size, self.found.detail)

    def repair(self, *, is_cut: bool) -> ImageRepair | None:
        """Return tiles, or the repair of the whole image if it is not cut or cannot be."""
        limits = self.context.limits.images
        whole_defect = self.diagnose(replace(limits, tall="scale"))
        tiling = images.tiling_for(
            self.probe, limits, self.found.detail, is_sent_whole=whole_defect is None
        )
        problem = None
        if is_cut and tiling is not None:
            recompressor = self.context.recompressor or images.default_recompressor()
            outcome = recompressor(self.payload, self.probe, tiling)
            if outcome.tiles:
                return self._tiled(tiling, outcome.tiles)
            problem = outcome.problem
        if whole_defect is not None:
            repair = recompress(self.found, self.part, self.probe, self.context)
            return repair if problem is None else replace(repair, why=_join(repair.why, problem))
        if problem is None:
            return None
        why = _join(f"{self.probe.description} is sent unchanged", problem)
        return ImageRepair((self.part,), why, Effect.DEGRADES, finding=True)

    def _tiled(self, tiling: Tiling, tiles: tuple[Outcome, ...]) -> ImageRepair:
        becomes: list[Part] = []
        for number, tile in enumerate(tiles):
            words = image_words.tile_text(number, tiling, self.probe.display_size)
            if self.context.policy.image_notes:
                words += " " + image_words.tile_coordinates_text(number, tiling)
            is_last = number + 1 == len(tiles)
            native = self.part.extra if is_last else without_cache_marker(self.part.extra)
            media_type = images.media_type(tile.type)
            becomes += (
                caption(self.part, words, self.context),
                replace(
                    self.part,
                    native=replace_image(native, self.found, tile.text or "", media_type),
                ),
            )
        is_accepted = images.is_accepted(
            self.probe, self.context.limits.images, self.payload.text_size
        )
        effect = Effect.ADDS if is_accepted else Effect.DEGRADES
        return ImageRepair(tuple(becomes), self._describe(tiling, tiles), effect)

    def _describe(self, tiling: Tiling, tiles: tuple[Outcome, ...]) -> str:
        """Describe the image before and after: size in pixels, bytes, tokens, and legibility."""
        limits, detail = self.context.limits.images, self.found.detail
        size = sum(len(tile.text or "") for tile in tiles) // 4 * 3
        width, height = tiling.plan.size
        text = (
            f"{self.probe.description} became {len(tiles)} tiles of {width} x {height} "
            f"({images.type_name(tiles[0].type)}, together {images.format_size(size)})"
        )
        before = images.tokens(limits, self.probe.display_size, detail)
        after = images.tokens(limits, tiling.plan.size, detail)
        if before is not None and after is not None:
            text += f", about {after * len(tiles)} tokens instead of {before}"
        if tiling.legible_text is not None:
            text += f"; text smaller than {tiling.legible_text} px is not legible"
        return text


def _join(why: str, problem: str) -> str:
    return f"{why}; not cut into tiles: {problem}"


RULE = Rule("IMG013", "illegible-image", find, IMAGES)
