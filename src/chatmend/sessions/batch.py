"""Reads and writes many blocks at once: the same result as one at a time, in half the time.

The JSON of all messages is encoded and decoded in one call, in which equal keys become the same
string object. If a message is malformed or unusual, the functions return None, and ``blocks.py``
and ``block_reader.py`` process the messages one at a time.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from chatmend.sessions.blocks import (
    JSON,
    NEXT,
    NUL,
    OPENING,
    encode_json,
    extract_texts,
    role_label,
    with_placeholders,
)
from chatmend.sessions.escaping import escape, unescape
from chatmend.sessions.markers import KEY, PART

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SIMPLE_KEYS = ("role", "content")
_SEPARATOR, _ENCODED_SEPARATOR = "\0", ', "\\u0000", '
"""The value between two messages in the list that is encoded, and its form in the JSON."""
_END = "-->\n"
_OPENING = re.compile(r'<!--MSG role="([A-Za-z][\w-]*|\?)"\Z', re.ASCII)
_PLACEHOLDER = re.compile(r"<([0-9]+)>")
_TEXT = "NaN"
"""The constant that replaces a placeholder: the decoder calls ``parse_constant`` for each."""
_NO_MORE = object()
_JSON_START = len(JSON)
"""The index at which JSON begins after its delimiter."""


def try_write(messages: Sequence[Any]) -> tuple[list[bytes], bool] | None:
    """Return the blocks of messages, and whether any of them may contain a cache marker.

    None means that a message is unusual, so that each block must be written separately.
    """
    openings: dict[str, str] = {}
    blocks: list[str] = []
    numbered: list[Any] = []
    texts: list[tuple[int, list[str]]] = []
    try:
        for message in messages:
            role = message.get("role", message.get("type")) if type(message) is dict else None
            if type(role) is not str:
                return None
            opening = openings.get(role) or openings.setdefault(
                role, f'{OPENING}{role_label(message)}"{_END}'
            )
            content = message.get("content")
            if type(content) is str and tuple(message) == _SIMPLE_KEYS and "?" not in opening:
                blocks.append(opening + _escaped(content))
                continue
            own: list[str] = []
            texts.append((len(blocks), own))
            numbered += (extract_texts(message, own), _SEPARATOR)
            blocks.append(opening)
        return _add_json(blocks, numbered[:-1], texts)
    except (TypeError, ValueError, RecursionError):
        return None


def _add_json(
    blocks: list[str], numbered: list[Any], texts: list[tuple[int, list[str]]]
) -> tuple[list[bytes], bool] | None:
    """Return the blocks with their JSON and their texts.

    Raises:
        TypeError, ValueError, RecursionError: JSON or UTF-8 cannot represent a message.
    """
    skeleton = encode_json(numbered)[1:-1]
    if skeleton.count(NUL) != sum([len(own) for _, own in texts]) + len(numbered) // 2:
        return None  # a message contains U+0000
    skeleton = with_placeholders(skeleton)
    skeletons = skeleton.split(_ENCODED_SEPARATOR) if skeleton else []
    for (index, own), made in zip(texts, skeletons, strict=True):
        below = f"\n{NEXT.join(map(_escaped, own))}" if own else ""
        blocks[index] = f"{blocks[index]}{JSON}{made}-->{below}"
    return [block.encode() for block in blocks], KEY in skeleton or PART in skeleton


def _escaped(text: str) -> str:
    # Most texts contain no "<", and searching for one character is much faster than for two.
    return escape(text) if "<" in text else text


def try_read(blocks: Iterable[str]) -> list[Any] | None:
    """Return the messages of blocks, which are passed without their closing delimiters.

    None means that a block is malformed or unusual, so that each must be read separately.
    """
    try:
        return _read(blocks)
    except (LookupError, ValueError, RecursionError):
        return None


def _read(blocks: Iterable[str]) -> list[Any]:
    """Return the messages of blocks.

    Raises:
        LookupError, ValueError, RecursionError: a block is malformed, or is not a JSON object.
    """
    roles: dict[str, str] = {}
    found: list[Any] = []
    skeletons: list[str] = []
    text_counts: list[int] = []
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
        text_counts.append(len(own) if end else 0)
        texts += own if end else ()
        found.append(None)
    decoded = iter(_decode(skeletons, text_counts, texts))
    return [next(decoded) if message is None else message for message in found]


def _require(condition: object) -> None:
    if not condition:
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


def _decode(skeletons: list[str], text_counts: list[int], texts: list[str]) -> list[Any]:
    """Return the messages of all JSON, with their texts.

    Args:
        skeletons: the JSON of each message, after its delimiter.
        text_counts: the number of texts of each message.
        texts: the texts of all messages.

    Raises:
        LookupError, ValueError, RecursionError: a message is malformed or is not a JSON object.
    """
    # A list is twice as fast here as a generator.
    _require(all([one[_JSON_START] == "{" and one[-1] == "}" for one in skeletons]))  # noqa: C419
    _require([one.count("<") - 1 for one in skeletons] == text_counts)
    joined = ",".join([one[_JSON_START:] for one in skeletons])
    _require("\n" not in joined)
    following = iter([*[_unescaped(text) if "<" in text else text for text in texts], _NO_MORE])
    values: list[Any] = json.loads(
        f"[{_with_constants(joined, text_counts)}]", parse_constant=partial(next, following)
    )
    # If a message contains such a constant itself, the number of texts does not match.
    _require(len(values) == len(skeletons) and next(following, None) is _NO_MORE)
    return values


def _with_constants(joined: str, text_counts: list[int]) -> str:
    """Return the JSON with the constant for each placeholder.

    The placeholders of each message must be numbered from 1.
    """
    if max(text_counts, default=0) <= 1:
        _require(joined.count("<1>") == sum(text_counts))
        return joined.replace("<1>", _TEXT)
    _require(
        _PLACEHOLDER.findall(joined)
        == [str(number) for count in text_counts for number in range(1, count + 1)]
    )
    return _PLACEHOLDER.sub(_TEXT, joined)
