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
from chatmend.jsontext import is_too_deep
from chatmend.sessions.escaping import escape, escape_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = frozenset(
    {"content", "data", "output", "parts", "reasoning_content", "refusal", "system", "text", "thinking", "toolResult"}
)
"""Keys whose text a person reads: in messages, in their parts, in parts of their parts."""
WORD = re.compile(r"[A-Za-z][\w-]*\Z", re.ASCII)
"""A role that stands as it is."""
OPENING, JSON, NEXT, CLOSING = '<!--MSG role="', "<!--JSON ", "\n<!--NEXT-->\n", "\n<!--/MSG-->\n"
"""The delimiters of a block. ``CLOSING`` ends it, and stands nowhere else."""
DEEPEST = 500
"""How deep a message may be nested: any Python reads that back, wherever it is called."""
NUL = "\\u0000"
"""How JSON writes the sign that stands before the number of a text that was taken out."""
_TOO_DEEP = "a message cannot be stored: it is nested too deep"
_FIRST = f'"{NUL}1"'
_NUMBER = re.compile(r'"\\u0000([0-9]+)"')

_JSON = json.JSONEncoder(ensure_ascii=False)
_ASCII_JSON = json.JSONEncoder()
quoted: Callable[[str], str] = encoder.encode_basestring
"""A text as a JSON string."""


def _fast_encoder() -> Callable[[object], str]:
    """``_JSON.encode`` without the C encoder that it makes anew each time; half of the cost of a short message."""
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return _JSON.encode
    write = make(None, _JSON.default, quoted, None, ": ", ", ", False, False, True)  # noqa: FBT003 - takes no names
    return lambda value: "".join(write(value, 0))


encode = _fast_encoder()
"""A JSON value as text, whatever letters it has."""


def block(message: object, tag: str = "MSG") -> bytes:
    """The block of a message, without its closing.

    Raises:
        TranscriptError: it holds something that JSON cannot say, or is nested too deep.
    """
    try:
        return _block(message, tag, encode).encode()
    except UnicodeEncodeError:
        return escape_surrogates(_block(message, tag, _ASCII_JSON.encode)).encode()
    except (TypeError, ValueError) as error:
        raise TranscriptError(f"a message cannot be stored: {_without_content(error)}") from error
    except RecursionError:
        raise TranscriptError(_TOO_DEEP) from None


def _without_content(error: Exception) -> str:
    return str(error) if isinstance(error, TypeError) else "JSON cannot say one of its numbers"


def _block(message: object, tag: str, encode: Callable[[object], str]) -> str:
    if tag == "MSG" and type(message) is dict and len(message) == 2 and tuple(message) == ("role", "content"):  # noqa: PLR2004
        role, text = message["role"], message["content"]
        if type(text) is str and type(role) is str and WORD.match(role):
            return f'{OPENING}{role}"-->\n{escape(text)}'
    skeleton, texts = _taken_apart(message, encode)
    below = "\n" + NEXT.join(map(escape, texts)) if texts else ""
    opening = f'MSG role="{label(message)}"' if tag == "MSG" else tag
    return f"<!--{opening}-->\n{JSON}{skeleton}-->{below}"


def label(message: object) -> str:
    """The role for people; ``?`` where it is no word."""
    role = message.get("role", message.get("type")) if isinstance(message, dict) else None
    # An enum that is a str as well shows its own name where it is formatted.
    return str.__str__(role) if isinstance(role, str) and WORD.match(role) else "?"


def _taken_apart(message: object, encode: Callable[[object], str]) -> tuple[str, list[str]]:
    """The JSON of a message with places for its texts, and the texts."""
    texts: list[str] = []
    try:
        lifted = lift(message, texts) if type(message) is dict else message
    except RecursionError:
        lifted, texts = message, []
    skeleton = encode(lifted)
    if skeleton.count("[") + skeleton.count("{") > DEEPEST and is_too_deep(message, DEEPEST):
        raise TranscriptError(_TOO_DEEP)
    if skeleton.count(NUL) != len(texts):  # the message has such a sign itself: it is kept in one piece
        return _without_brackets(encode(message)), []
    return with_places(skeleton), texts


def with_places(skeleton: str) -> str:
    """JSON with a ``<1>`` in the place of each text that was taken out, and no other ``<``."""
    skeleton = _without_brackets(skeleton).replace(_FIRST, "<1>")
    return _NUMBER.sub(r"<\1>", skeleton) if NUL in skeleton else skeleton


def _without_brackets(skeleton: str) -> str:
    if "<" in skeleton or ">" in skeleton:
        return skeleton.replace("<", "\\u003c").replace(">", "\\u003e")
    return skeleton


def lift(value: dict[Any, Any], texts: list[str]) -> dict[Any, Any]:
    """A copy in which the texts are replaced by their numbers."""
    out = value.copy()
    for key, inner in value.items():
        if key not in TEXTS:
            continue
        if type(inner) is str:
            texts.append(inner)
            out[key] = f"\0{len(texts)}"
        elif type(inner) is list:
            out[key] = [lift(item, texts) if type(item) is dict else item for item in inner]
        elif type(inner) is dict:
            out[key] = lift(inner, texts)
    return out
