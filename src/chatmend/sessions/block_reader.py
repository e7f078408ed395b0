"""Reads messages from the blocks that ``blocks.py`` writes."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from chatmend.sessions import batch
from chatmend.sessions.blocks import NEXT, quote
from chatmend.sessions.escaping import unescape

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPENING = re.compile(
    r'<!--MSG role="([A-Za-z][\w-]*|\?)"-->\n(?:<!--JSON ([^\n]*)-->(\n|\Z))?', re.ASCII
)
"""The start of a block: its role, its JSON if it has any, and a line break if texts follow."""
_PLACEHOLDER = re.compile(r"<([0-9]+)>")
_BYTES = re.compile(r"<bytes:([A-Za-z0-9+/=]*)>")


class BlockError(ValueError):
    """A malformed block; the text states what was expected, ``index`` is the block's position."""

    def __init__(self, index: int, expected: str) -> None:
        """Keep the position of the block and what was expected."""
        super().__init__(expected)
        self.index = index


def read_blocks(blocks: Sequence[str]) -> list[Any]:
    """Return the messages of blocks, which are passed without their closing delimiters.

    Raises:
        BlockError: a block is malformed.
    """
    messages = batch.try_read(blocks)
    return (
        [_read_block(block, index) for index, block in enumerate(blocks)]
        if messages is None
        else messages
    )


def _read_block(block: str, index: int) -> Any:  # noqa: ANN401 - any JSON value
    """Return the message of one block.

    Raises:
        BlockError: the block is malformed.
    """
    opening = _OPENING.match(block)
    if opening is None:
        raise BlockError(index, "'<!--MSG role=\"...\"-->'")
    role, skeleton, has_texts = opening.groups()
    text = block[opening.end() :]
    texts = [text] if skeleton is None else text.split(NEXT) if has_texts else []
    if any("<!--" in one for one in texts) or (text and not texts):
        raise BlockError(index, "'<!--/MSG-->' before the next '<!--'")
    if skeleton is not None:
        return _parse_message(skeleton, texts, index)
    if role == "?":
        raise BlockError(index, "a line of JSON, because the role is '?'")
    return {"role": role, "content": unescape(text)}


def _fill_placeholders(skeleton: str, texts: list[str]) -> str:
    """Replace the placeholders ``<1>``, ``<2>``, ... in JSON with the texts, in this order.

    Raises:
        ValueError: the number of placeholders or their order is wrong.
    """
    if not texts and "<" not in skeleton:
        return skeleton
    if len(texts) == 1 and skeleton.count("<") == 1 and "<1>" in skeleton:
        return skeleton.replace("<1>", texts[0])
    pieces = _PLACEHOLDER.split(skeleton)
    if pieces[1::2] != [str(number) for number in range(1, len(texts) + 1)]:
        raise ValueError(f"JSON with {len(texts)} placeholders for texts, numbered in order")
    pieces[1::2] = texts
    return "".join(pieces)


def _parse_message(skeleton: str, texts: list[str], index: int) -> Any:  # noqa: ANN401
    """Return the message of one block, from its JSON and its texts.

    Raises:
        BlockError: the JSON is malformed.
    """
    try:
        blobs = [b64decode(found, validate=True) for found in _BYTES.findall(skeleton)]
        plain = _BYTES.sub("NaN", skeleton) if blobs else skeleton
        whole = _fill_placeholders(plain, [quote(unescape(text)) for text in texts])
        # The decoder calls ``parse_constant`` for each NaN, in order.
        following = iter(blobs)
        return json.loads(
            whole, parse_constant=(lambda _: next(following, None)) if blobs else None
        )
    except json.JSONDecodeError as error:
        raise BlockError(index, f"JSON: {error.msg}") from None
    except ValueError as error:
        raise BlockError(index, str(error)) from None
    except RecursionError:
        raise BlockError(index, "JSON that is less deeply nested") from None
