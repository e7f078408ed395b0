"""Cuts an image into tiles: one decode, then one resize and one encode for each tile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import LAST_UPRIGHT
from chatmend.images.headers.exif import ORIENTATION
from chatmend.images.memory import bytes_to_decode
from chatmend.images.pixels import apply_orientation, flatten, to_resizable_mode
from chatmend.images.transcode import (
    UnreadableError,
    check_budget,
    encode,
    open_image,
    unreadable_on_error,
)

if TYPE_CHECKING:
    from PIL.Image import Image

    from chatmend.images.budget import Budget
    from chatmend.images.facts import Probe
    from chatmend.images.sizes import Size
    from chatmend.images.tiles import Box, Tiling
    from chatmend.images.transcode import Encoded


def cut(data: bytes, probe: Probe, tiling: Tiling, budget: Budget) -> tuple[Encoded, ...]:
    """Decode an image, and return its tiles in the order of the tiling.

    Args:
        data: the file.
        probe: the facts about the file.
        tiling: the tiles.
        budget: limits the memory for one image and waits while other decodes use too much.

    Raises:
        TooLargeError: decoding needs more memory than allowed; the image may be intact.
        UnreadableError: the image cannot be decoded, or a tile has too many bytes.
        MemoryError: the machine has less memory than the budget.
    """
    with unreadable_on_error():
        opened = open_image(data, probe, budget)
        is_turned_by_decoder = probe.type == "avif" and opened.getexif().get(ORIENTATION, 1) != 1
        if opened.size != (probe.width, probe.height) or is_turned_by_decoder:
            raise UnreadableError("it cannot be cut, because its header states two sizes")
        if probe.type == "jpeg":
            width, height = opened.size
            opened.draft(None, (int(width * tiling.scale), int(height * tiling.scale)))
        cost = bytes_to_decode(opened, probe, tiling.plan.size)
        check_budget(cost, budget)
        with budget.reserve(cost):
            opened.load()
            profile = opened.info.get("icc_profile")
            drawn = to_resizable_mode(opened)
            return tuple(
                encode(_draw_tile(drawn, box, probe, tiling, profile), probe, tiling.plan)
                for box in tiling.boxes
            )


def _draw_tile(drawn: Image, box: Box, probe: Probe, tiling: Tiling, profile: object) -> Image:
    """Return an upright tile of the decoded image, which a JPEG decoder may have scaled."""
    from PIL.Image import Resampling

    width, height = tiling.plan.size
    drafted = round(probe.width / drawn.width)
    left, top, right, bottom = (
        edge / drafted for edge in stored_box(box, probe.display_size, probe.orientation)
    )
    size = (height, width) if probe.orientation > LAST_UPRIGHT else (width, height)
    tile = drawn.resize(size, Resampling.BICUBIC, box=(left, top, right, bottom))
    return apply_orientation(flatten(tile, profile), probe.orientation)


def stored_box(box: Box, size: Size, orientation: int) -> Box:
    """Return the box in the stored image of a box in the upright image.

    Args:
        box: the box in the upright image.
        size: the size of the upright image.
        orientation: the EXIF orientation of the stored image.
    """
    corners = [_stored_point(point, size, orientation) for point in (box[:2], box[2:])]
    (first_x, first_y), (second_x, second_y) = corners
    return (
        min(first_x, second_x),
        min(first_y, second_y),
        max(first_x, second_x),
        max(first_y, second_y),
    )


def _stored_point(point: Size, size: Size, orientation: int) -> Size:
    (x, y), (width, height) = point, size
    return {
        2: (width - x, y),
        3: (width - x, height - y),
        4: (x, height - y),
        5: (y, x),
        6: (y, width - x),
        7: (height - y, width - x),
        8: (height - y, x),
    }.get(orientation, (x, y))
