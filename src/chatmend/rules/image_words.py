"""What is said in the place of an image, or beside it: constant for the same image, and claiming nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.images import Probe

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


def removed(probe: Probe, why: str) -> str:
    """An image that could not be saved: what it was, and why it is not here."""
    return f"Image removed ({probe.described}): {why}."


def scaled(before: tuple[int, int], after: tuple[int, int]) -> str:
    """The note with the factor by which coordinates in the image must be multiplied."""
    factor = f"{before[0] / after[0]:.4g}"
    return "This image is shown at {} x {} of {} x {} pixels; multiply coordinates by {}.".format(
        *after, *before, factor
    )
