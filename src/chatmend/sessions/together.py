"""Many blocks at once: the same as one by one, in half of the time.

The JSON of all messages is written and read in one go, and the keys of a thousand messages are then the same few
strings. What is malformed or out of the ordinary is left to ``blocks.py`` and ``block_reader.py``: the answer is None.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from chatmend.sessions.blocks import JSON, NEXT, NUL, OPENING, encode, label, lift, with_places
from chatmend.sessions.escaping import escape, unescape
from chatmend.sessions.markers import KEY, PART

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PLAIN = ("role", "content")
_APART, _BETWEEN = "\0", ', "\\u0000", '
"""What is put between two messages that are encoded, and what the encoder makes of it."""
_END = "-->\n"
_OPENING = re.compile(r'<!--MSG role="([A-Za-z][\w-]*|\?)"\Z', re.ASCII)
_PLACE = re.compile(r"<([0-9]+)>")
_TEXT = "NaN"
"""What is put in the place of a text: a word for which the scanner asks its caller."""
_NO_MORE = object()
_FROM = len(JSON)
"""Where JSON begins behind its delimiter."""


def written(messages: Sequence[Any]) -> tuple[list[bytes], bool] | None:
    """The blocks of messages, and whether one of them may have a cache marker."""
    openings: dict[str, str] = {}
    blocks: list[str] = []
    lifted: list[Any] = []
    texts: list[tuple[int, list[str]]] = []
    try:
        for message in messages:
            role = message.get("role", message.get("type")) if type(message) is dict else None
            if type(role) is not str:
                return None
            opening = openings.get(role) or openings.setdefault(role, f'{OPENING}{label(message)}"{_END}')
            content = message.get("content")
            if type(content) is str and tuple(message) == _PLAIN and "?" not in opening:
                blocks.append(opening + _escaped(content))
                continue
            own: list[str] = []
            texts.append((len(blocks), own))
            lifted += (lift(message, own), _APART)
            blocks.append(opening)
        return _filled(blocks, lifted[:-1], texts)
    except (TypeError, ValueError, RecursionError):
        return None


def _filled(
    blocks: list[str], lifted: list[Any], texts: list[tuple[int, list[str]]]
) -> tuple[list[bytes], bool] | None:
    """The blocks with their JSON and their texts.

    Raises:
        TypeError, ValueError, RecursionError: JSON or UTF-8 cannot say it.
    """
    skeleton = encode(lifted)[1:-1]
    if skeleton.count(NUL) != sum([len(own) for _, own in texts]) + len(lifted) // 2:
        return None  # a message has such a sign itself
    skeleton = with_places(skeleton)
    skeletons = skeleton.split(_BETWEEN) if skeleton else []
    for (at, own), made in zip(texts, skeletons, strict=True):
        below = f"\n{NEXT.join(map(_escaped, own))}" if own else ""
        blocks[at] = f"{blocks[at]}{JSON}{made}-->{below}"
    return [block.encode() for block in blocks], KEY in skeleton or PART in skeleton


def _escaped(text: str) -> str:
    # Most texts have no such sign, and one sign is found much faster than two.
    return escape(text) if "<" in text else text


def read(blocks: Iterable[str]) -> list[Any] | None:
    """The messages of blocks, which are given without their closings."""
    try:
        return _read(blocks)
    except (LookupError, ValueError, RecursionError):
        return None


def _read(blocks: Iterable[str]) -> list[Any]:
    """As `read`.

    Raises:
        LookupError, ValueError, RecursionError: something is malformed, or not an object.
    """
    roles: dict[str, str] = {}
    found: list[Any] = []
    skeletons: list[str] = []
    places: list[int] = []
    texts: list[str] = []
    for block in blocks:
        opening, _, rest = block.partition(_END)
        role = roles.get(opening) or roles.setdefault(opening, _role(opening))
        if not rest.startswith(JSON):
            _require(role != "?")
            found.append({"role": role, "content": _unescaped(rest) if "<" in rest else rest})
            continue
        skeleton, end, text = rest.partition(_END)
        own = text.split(NEXT) if NEXT in text else [text]
        _require(end or skeleton[-3:] == "-->")
        skeletons.append(skeleton if end else skeleton[:-3])
        places.append(len(own) if end else 0)
        texts += own if end else ()
        found.append(None)
    scanned = iter(_scanned(skeletons, places, texts))
    return [next(scanned) if message is None else message for message in found]


def _require(met: object) -> None:
    if not met:
        raise ValueError


def _role(opening: str) -> str:
    match = _OPENING.match(opening)
    _require(match)
    return match[1] if match else ""


def _unescaped(text: str) -> str:
    if "<!" not in text:
        return text
    _require("<!--" not in text)
    return unescape(text)


def _scanned(skeletons: list[str], places: list[int], texts: list[str]) -> list[Any]:
    """The messages of all JSON, with the texts in their places: so many in each.

    Raises:
        LookupError, ValueError, RecursionError: it is no JSON, or not one object each.
    """
    _require(all([one[_FROM] == "{" and one[-1] == "}" for one in skeletons]))  # noqa: C419 - a list is twice as fast
    _require([one.count("<") - 1 for one in skeletons] == places)
    joined = ",".join([one[_FROM:] for one in skeletons])
    _require("\n" not in joined)
    following = iter([*[_unescaped(text) if "<" in text else text for text in texts], _NO_MORE])
    values: list[Any] = json.loads(f"[{_with_words(joined, places)}]", parse_constant=partial(next, following))
    # A message may have such words itself; then the texts were not enough.
    _require(len(values) == len(skeletons) and next(following, None) is _NO_MORE)
    return values


def _with_words(joined: str, places: list[int]) -> str:
    """The JSON with a word for each place, where the places of each message are numbered from 1."""
    if max(places, default=0) <= 1:
        _require(joined.count("<1>") == sum(places))
        return joined.replace("<1>", _TEXT)
    _require(_PLACE.findall(joined) == [str(number) for own in places for number in range(1, own + 1)])
    return _PLACE.sub(_TEXT, joined)
