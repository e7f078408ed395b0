"""Texts that replace an image or are sent with it: neutral, and constant for the same image."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.images import Probe, Tiling

IN_RESULT = "The image of this tool result is in the next user message."
IN_MESSAGE = "The image of this message is in the next user message."
FROM_RESULT = "Image from the tool result above:"
FILE_IN_RESULT = "The file of this tool result is in the next user message."
FILE_FROM_RESULT = "File from the tool result above:"
FROM_MESSAGE = "Image from the message above:"
UNSEEN = "Image removed: this model takes no images."
TOO_MANY = "Image removed: the request held more images than the model takes."
TOO_LARGE = "Image removed: its sides are too long for a request of this many images."
FIRST_FRAME = "Only the first frame of this animation is shown."


def removed_text(probe: Probe, why: str) -> str:
    """Return the text that replaces an image: its type and size, and why it was removed."""
    return f"Image removed ({probe.description}): {why}."


def scaled_text(before: tuple[int, int], after: tuple[int, int]) -> str:
    """Return the text that gives the factor for coordinates in a scaled image."""
    factor = f"{before[0] / after[0]:.4g}"
    return "This image is shown at {} x {} of {} x {} pixels; multiply coordinates by {}.".format(
        *after, *before, factor
    )


def tile_text(number: int, tiling: Tiling, size: tuple[int, int]) -> str:
    """Return the caption of a tile: its number, and its part of the image.

    Args:
        number: the index of the tile in the tiling.
        tiling: the tiles.
        size: the size of the image in pixels.
    """
    left, top, right, bottom = tiling.boxes[number]
    spans = [
        f"{name} {first} to {last}"
        for name, first, last, side in (
            ("rows", top, bottom, size[1]),
            ("columns", left, right, size[0]),
        )
        if last - first < side
    ]
    return "Tile {} of {} of an image of {} x {} pixels: {}.".format(
        number + 1, len(tiling.boxes), *size, ", ".join(spans)
    )


def tile_coordinates_text(number: int, tiling: Tiling) -> str:
    """Return the text that tells how to convert coordinates in a tile to those in the image."""
    left, top, right, _ = tiling.boxes[number]
    factor = f"{(right - left) / tiling.plan.size[0]:.4g}"
    return f"Multiply coordinates in this tile by {factor} and add {left} to x and {top} to y."
