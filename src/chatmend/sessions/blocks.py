"""One message as a block of Markdown: its texts as they are, the rest of it as JSON in a comment.

A message that is a role and a text needs no JSON. In any other the texts are taken out, numbered, and stand below::

    <!--MSG role="assistant"-->
    <!--JSON {"role": "assistant", "content": <1>, "tool_calls": [{"id": "call_1", "type": "function", ...}]}-->
    I will look.
    <!--/MSG-->

Inside the JSON ``<`` and ``>`` are written as JSON's own escapes, so that a ``<`` there is always a place for a text.
"""

from __future__ import annotations

import json
import re
from json import encoder
from typing import TYPE_CHECKING, Any

from chatmend.errors import TranscriptError
from chatmend.sessions.escaping import escape, escape_surrogates, unescape

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = frozenset(
    {"content", "data", "output", "parts", "reasoning_content", "refusal", "system", "text", "thinking", "toolResult"}
)
"""Keys whose text a person reads: in messages, in their parts, in parts of their parts."""
_ROLE = re.compile(r"[A-Za-z][\w-]*\Z", re.ASCII)
_PLACE = re.compile(r"<([0-9]+)>")
_NUL = "\\u0000"
"""How JSON writes the sign that stands before the number of a text that was taken out."""
_FIRST = f'"{_NUL}1"'
_NUMBER = re.compile(r'"\\u0000([0-9]+)"')

_JSON = json.JSONEncoder(ensure_ascii=False)
_ASCII_JSON = json.JSONEncoder()
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
quoted: Callable[[str], str] = encoder.encode_basestring  # type: ignore[attr-defined]
"""A text as a JSON string."""


def _fast_encoder() -> Callable[[object], str]:
    """``_JSON.encode`` without the C encoder that it makes anew each time; half of the cost of a short message."""
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return _JSON.encode
    write = make(None, _JSON.default, quoted, None, ": ", ", ", False, False, True)  # noqa: FBT003 - takes no names
    return lambda value: "".join(write(value, 0))


_encode = _fast_encoder()


def block(message: object, tag: str = "MSG") -> bytes:
    """The block of a message, which ends in a line break. Nothing of the message is in no block but its own.

    Raises:
        TranscriptError: it holds something that JSON cannot say, or is nested too deep.
    """
    try:
        return _block(message, tag, _encode).encode()
    except UnicodeEncodeError:
        return escape_surrogates(_block(message, tag, _ASCII_JSON.encode)).encode()
    except (TypeError, ValueError) as error:
        raise TranscriptError(f"a message cannot be stored: {_without_content(error)}") from error
    except RecursionError:
        raise TranscriptError("a message cannot be stored: it is nested too deep") from None


def _without_content(error: Exception) -> str:
    return str(error) if isinstance(error, TypeError) else "JSON cannot say one of its numbers"


def _block(message: object, tag: str, encode: Callable[[object], str]) -> str:
    if tag == "MSG" and type(message) is dict and len(message) == 2 and tuple(message) == ("role", "content"):  # noqa: PLR2004
        role, text = message["role"], message["content"]
        if type(text) is str and type(role) is str and _ROLE.match(role):
            return f'<!--MSG role="{role}"-->\n{escape(text)}\n<!--/MSG-->\n'
    skeleton, texts = _taken_apart(message, encode)
    inner = "\n<!--NEXT-->\n".join(map(escape, texts)) + "\n" if texts else ""
    opening = f'MSG role="{_label(message)}"' if tag == "MSG" else tag
    return f"<!--{opening}-->\n<!--JSON {skeleton}-->\n{inner}<!--/{tag}-->\n"


def _label(message: object) -> str:
    """The role for people; ``?`` where it is no word."""
    role = message.get("role", message.get("type")) if isinstance(message, dict) else None
    return role if isinstance(role, str) and _ROLE.match(role) else "?"


def _taken_apart(message: object, encode: Callable[[object], str]) -> tuple[str, list[str]]:
    """The JSON of a message with places for its texts, and the texts."""
    texts: list[str] = []
    try:
        lifted = _lift(message, texts) if type(message) is dict else message
    except RecursionError:
        lifted, texts = message, []
    skeleton = encode(lifted)
    if skeleton.count(_NUL) != len(texts):  # the message has such a sign itself: it is kept in one piece
        skeleton, texts = encode(message), []
    if "<" in skeleton or ">" in skeleton:
        skeleton = skeleton.replace("<", "\\u003c").replace(">", "\\u003e")
    if len(texts) == 1:
        return skeleton.replace(_FIRST, "<1>", 1), texts
    return _NUMBER.sub(r"<\1>", skeleton) if texts else skeleton, texts


def _lift(value: dict[Any, Any], texts: list[str]) -> dict[Any, Any]:
    """A copy in which the texts are replaced by their numbers."""
    out = value.copy()
    for key in [key for key in value if key in TEXTS]:
        inner = value[key]
        if type(inner) is str:
            texts.append(inner)
            out[key] = f"\0{len(texts)}"
        elif type(inner) is list:
            out[key] = [_lift(item, texts) if type(item) is dict else item for item in inner]
        elif type(inner) is dict:
            out[key] = _lift(inner, texts)
    return out


def message_of(role: str, skeleton: str | None, texts: list[str]) -> Any:  # noqa: ANN401 - whatever was stored
    """The message that a block was made of.

    Raises:
        ValueError: the JSON is broken, or has not just as many places as there are texts.
    """
    if skeleton is None:
        if not _ROLE.match(role):
            raise ValueError("a role that is a word, or a line of JSON")
        return {"role": role, "content": unescape(texts[0])}
    if not texts:
        return _parsed(skeleton)
    pieces = _PLACE.split(skeleton)
    if pieces[1::2] != [str(number) for number in range(1, len(texts) + 1)]:
        raise ValueError(f"JSON with {len(texts)} places for texts, in order")
    for at, text in enumerate(texts):
        pieces[2 * at + 1] = quoted(unescape(text))
    return _parsed("".join(pieces))


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever was stored
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("JSON") from None
    except RecursionError:
        raise ValueError("JSON that is not nested too deep") from None
    if end != len(text):
        raise ValueError("one JSON value")
    return value
