"""Texts that replace an image or are sent with it: neutral, and constant for the same image."""

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


def removed_text(probe: Probe, why: str) -> str:
    """Return the text that replaces an image: its type and size, and why it was removed."""
    return f"Image removed ({probe.description}): {why}."


def scaled_text(before: tuple[int, int], after: tuple[int, int]) -> str:
    """Return the text that gives the factor for coordinates in a scaled image."""
    factor = f"{before[0] / after[0]:.4g}"
    return "This image is shown at {} x {} of {} x {} pixels; multiply coordinates by {}.".format(
        *after, *before, factor
    )
