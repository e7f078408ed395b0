"""Messages from their blocks: the way back from ``blocks.py``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from chatmend.sessions import together
from chatmend.sessions.blocks import NEXT, quoted
from chatmend.sessions.escaping import unescape

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPENING = re.compile(r'<!--MSG role="([A-Za-z][\w-]*|\?)"-->\n(?:<!--JSON ([^\n]*)-->(\n|\Z))?', re.ASCII)
"""Of a block: its role, its JSON if it has any, and a line break if texts follow."""
_PLACE = re.compile(r"<([0-9]+)>")


class BlockError(ValueError):
    """A block is malformed; ``at`` is its place in the list, the text says what was expected."""

    def __init__(self, at: int, expected: str) -> None:
        """Say which block, and what was expected."""
        super().__init__(expected)
        self.at = at


def read_blocks(blocks: Sequence[str]) -> list[Any]:
    """The messages of blocks, which are given without their closings.

    Raises:
        BlockError: one of them is malformed.
    """
    messages = together.read(blocks)
    return [_alone(block, at) for at, block in enumerate(blocks)] if messages is None else messages


def _alone(block: str, at: int) -> Any:  # noqa: ANN401 - whatever was stored
    """The message of one block.

    Raises:
        BlockError: it is malformed.
    """
    opening = _OPENING.match(block)
    if opening is None:
        raise BlockError(at, "'<!--MSG role=\"...\"-->'")
    role, skeleton, below = opening.groups()
    text = block[opening.end() :]
    texts = [text] if skeleton is None else text.split(NEXT) if below else []
    if any("<!--" in one for one in texts) or (text and not texts):
        raise BlockError(at, "'<!--/MSG-->' before the next '<!--'")
    if skeleton is not None:
        return _scanned(skeleton, texts, at)
    if role == "?":
        raise BlockError(at, "a line of JSON, since the role is no word")
    return {"role": role, "content": unescape(text)}


def _filled(skeleton: str, words: list[str]) -> str:
    """The JSON with a word in each place: the first in the first, and so on.

    Raises:
        ValueError: there are more or fewer places, or in another order.
    """
    if not words and "<" not in skeleton:
        return skeleton
    if len(words) == 1 and skeleton.count("<") == 1 and "<1>" in skeleton:
        return skeleton.replace("<1>", words[0])
    pieces = _PLACE.split(skeleton)
    if pieces[1::2] != [str(number) for number in range(1, len(words) + 1)]:
        raise ValueError(f"JSON with {len(words)} places for texts, in order")
    pieces[1::2] = words
    return "".join(pieces)


def _scanned(skeleton: str, texts: list[str], at: int) -> Any:  # noqa: ANN401
    """The message of one block, its texts written into the JSON.

    Raises:
        BlockError: that is no JSON.
    """
    try:
        return json.loads(_filled(skeleton, [quoted(unescape(text)) for text in texts]))
    except json.JSONDecodeError as error:
        raise BlockError(at, f"JSON: {error.msg}") from None
    except ValueError as error:
        raise BlockError(at, str(error)) from None
    except RecursionError:
        raise BlockError(at, "JSON that is not nested too deep") from None
