"""Messages from their blocks: the way back from ``blocks.py``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from chatmend.sessions.blocks import NEXT, quoted
from chatmend.sessions.escaping import unescape

if TYPE_CHECKING:
    from collections.abc import Iterable

_OPENING = re.compile(r'<!--MSG role="([A-Za-z][\w-]*|\?)"-->\n(?:<!--JSON ([^\n]*)-->(\n|\Z))?', re.ASCII)
"""Of a block: its role, its JSON if it has any, and a line break if texts follow."""
_PLACE = re.compile(r"<([0-9]+)>")
_TEXT, _BETWEEN = "NaN", "-Infinity"
"""What stands in the JSON for a text, and between two messages: words for which the scanner asks its caller."""
_BORDER = object()


class BlockError(ValueError):
    """A block is malformed; ``at`` is its place in the list, the text says what was expected."""

    def __init__(self, at: int, expected: str) -> None:
        """Say which block, and what was expected."""
        super().__init__(expected)
        self.at = at


def read_blocks(blocks: Iterable[str]) -> list[Any]:
    """The messages of blocks, which are given without their closings.

    Raises:
        BlockError: one of them is malformed.
    """
    found: list[Any] = []
    places: list[int] = []
    parts: list[tuple[str, list[str]]] = []
    for block in blocks:
        opening = _OPENING.match(block)
        if opening is None:
            raise BlockError(len(found), "'<!--MSG role=\"...\"-->'")
        role, skeleton, below = opening.groups()
        text = block[opening.end() :]
        if skeleton is not None:
            places.append(len(found))
            parts.append((skeleton, text.split(NEXT) if below else []))
        elif role == "?":
            raise BlockError(len(found), "a line of JSON, since the role is no word")
        if "<!" in text:
            if "<!--" in text and (skeleton is None or any("<!--" in one for one in parts[-1][1])):
                raise BlockError(len(found), "'<!--/MSG-->' before the next '<!--'")
            text = unescape(text)
        found.append({"role": role, "content": text} if skeleton is None else None)
    messages = _together(parts) or [_alone(*part, at) for part, at in zip(parts, places, strict=True)]
    for place, message in zip(places, messages, strict=True):
        found[place] = message
    return found


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


def _together(parts: list[tuple[str, list[str]]]) -> list[Any] | None:
    """The messages of all JSON, scanned in one go; None where one of them cannot be read, or not together.

    It is faster, and the keys of a thousand messages are the same few strings.
    """
    texts = [text for _, own in parts for text in own]
    joined = f",{_BETWEEN},".join([skeleton for skeleton, _ in parts])
    if any([skeleton.count("<") != len(own) for skeleton, own in parts]):  # noqa: C419 - a list is twice as fast
        return None
    if joined.count(_BETWEEN[1:]) != max(0, len(parts) - 1) or _TEXT in joined:
        return None  # a message has such words itself
    if joined.count("<1>") == len(texts) == len([own for _, own in parts if own]):
        joined = joined.replace("<1>", _TEXT)
    elif _PLACE.findall(joined) == [str(number) for _, own in parts for number in range(1, len(own) + 1)]:
        joined = _PLACE.sub(_TEXT, joined)
    following = iter([unescape(text) if "<!" in text else text for text in texts])
    try:
        values = json.loads(f"[{joined}]", parse_constant=lambda word: next(following) if word == _TEXT else _BORDER)
    except (ValueError, RecursionError):
        return None
    apart = len(values) == 2 * len(parts) - 1 and all(border is _BORDER for border in values[1::2])
    return values[::2] if apart else None


def _alone(skeleton: str, texts: list[str], at: int) -> Any:  # noqa: ANN401 - whatever was stored
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
