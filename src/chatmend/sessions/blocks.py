"""One message as a block of Markdown: its texts unchanged, all other data as JSON in a comment.

A message that consists of a role and a text needs no JSON. In other messages, the JSON contains
numbered placeholders, and the texts follow it::

    <!--MSG role="assistant"-->
    <!--JSON {"role": "assistant", "content": <1>, "tool_calls": [{"id": "call_1", ...}]}-->
    I will look.
    <!--/MSG-->

Inside the JSON, ``<`` and ``>`` are written as JSON escapes, so that every ``<`` begins a
placeholder. Bytes, as boto3 and google-genai have them, are written as ``<bytes:...>`` with their
base64.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from json import encoder
from typing import TYPE_CHECKING, Any

from chatmend.errors import TranscriptError
from chatmend.jsontext import is_too_deep
from chatmend.sessions.escaping import escape, escape_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TEXT_KEYS = frozenset(
    {
        "content",
        "data",
        "output",
        "parts",
        "reasoning_content",
        "refusal",
        "system",
        "text",
        "thinking",
        "toolResult",
    }
)
"""Keys of readable text in messages, and of the containers in which it is nested."""
ROLE_WORD = re.compile(r"[A-Za-z][\w-]*\Z", re.ASCII)
"""A role that can be written into a delimiter without escaping."""
OPENING, JSON, NEXT, CLOSING = '<!--MSG role="', "<!--JSON ", "\n<!--NEXT-->\n", "\n<!--/MSG-->\n"
"""The delimiters of a block. ``CLOSING`` occurs only at its end."""
MAX_DEPTH = 500
"""Maximum nesting of a message; low enough to be read back from any depth of the call stack."""
NUL = "\\u0000"
"""The JSON escape of the character that precedes the number of an extracted text."""
_TOO_DEEP = "a message cannot be stored: it is nested too deep"
_FIRST = f'"{NUL}1"'
_NUMBER = re.compile(r'"\\u0000([0-9]+)"')
_BLOB = re.compile(r'"\\u0000b([0-9]+)"')
"""Matches the string that represents bytes while a message is encoded."""

_JSON = json.JSONEncoder(ensure_ascii=False)
_ASCII_JSON = json.JSONEncoder()
quote: Callable[[str], str] = encoder.encode_basestring
"""Return a text as a JSON string."""


def _fast_encoder() -> Callable[[object], str]:
    """Return a faster ``_JSON.encode``, which reuses one C encoder for all calls.

    Creating it for each call takes half the time of a short message.
    """
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return _JSON.encode
    # c_make_encoder takes no keyword arguments.
    write = make(None, _JSON.default, quote, None, ": ", ", ", False, False, True)  # noqa: FBT003
    return lambda value: "".join(write(value, 0))


encode_json = _fast_encoder()
"""Return a value as JSON in which only the characters that JSON requires are escaped."""


def render_block(message: object, tag: str = "MSG") -> bytes:
    """Return the block of a message, without its closing delimiter.

    Raises:
        TranscriptError: the message contains a value that JSON cannot represent, or is nested too
            deep.
    """
    try:
        return _render_without_surrogates(message, tag)
    except TypeError as error:
        if (block := _render_with_bytes(message, tag)) is not None:
            return block
        raise TranscriptError(f"a message cannot be stored: {error}") from error
    except ValueError as error:
        text = "a message cannot be stored: JSON cannot represent one of its numbers"
        raise TranscriptError(text) from error
    except RecursionError:
        raise TranscriptError(_TOO_DEEP) from None


def _render_without_surrogates(message: object, tag: str) -> bytes:
    try:
        return _render_block(message, tag, encode_json).encode()
    except UnicodeEncodeError:
        return escape_surrogates(_render_block(message, tag, _ASCII_JSON.encode)).encode()


def _render_with_bytes(message: object, tag: str) -> bytes | None:
    """Return the block of a message that contains bytes; None if it contains other objects, too.

    Raises:
        TranscriptError: it contains U+0000 or a number like NaN besides the bytes.
    """
    blobs: list[bytes] = []

    def number_blob(value: object) -> str:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise TypeError
        blobs.append(bytes(value))
        return f"\0b{len(blobs)}"

    try:
        text = _render_block(message, tag, json.JSONEncoder(default=number_blob).encode, blobs)
    except TranscriptError:
        raise
    except (TypeError, RecursionError):
        return None
    return escape_surrogates(text).encode()


def _refuse_constant(name: str) -> object:
    raise TranscriptError(f"a message cannot be stored: it contains bytes and {name}")


def _render_block(
    message: object, tag: str, encode: Callable[[object], str], blobs: Sequence[bytes] = ()
) -> str:
    if (
        tag == "MSG"
        and type(message) is dict
        and len(message) == 2  # noqa: PLR2004
        and tuple(message) == ("role", "content")
    ):
        role, text = message["role"], message["content"]
        if type(text) is str and type(role) is str and ROLE_WORD.match(role):
            return f'{OPENING}{role}"-->\n{escape(text)}'
    skeleton, texts = _split_texts(message, encode, blobs)
    below = "\n" + NEXT.join(map(escape, texts)) if texts else ""
    opening = f'MSG role="{role_label(message)}"' if tag == "MSG" else tag
    return f"<!--{opening}-->\n{JSON}{skeleton}-->{below}"


def role_label(message: object) -> str:
    """Return the role for the opening delimiter; ``?`` if it is not a word."""
    role = message.get("role", message.get("type")) if isinstance(message, dict) else None
    # For members of a str enum, plain formatting would return the name of the member.
    return str.__str__(role) if isinstance(role, str) and ROLE_WORD.match(role) else "?"


def _split_texts(
    message: object, encode: Callable[[object], str], blobs: Sequence[bytes]
) -> tuple[str, list[str]]:
    """Return the JSON of a message with placeholders, and the texts that belong there.

    ``blobs`` are the bytes that ``encode`` found in the message.
    """
    texts: list[str] = []
    try:
        numbered = extract_texts(message, texts) if type(message) is dict else message
    except RecursionError:
        numbered, texts = message, []
    skeleton = encode(numbered)
    if skeleton.count("[") + skeleton.count("{") > MAX_DEPTH and is_too_deep(message, MAX_DEPTH):
        raise TranscriptError(_TOO_DEEP)
    if blobs:
        json.loads(skeleton, parse_constant=_refuse_constant)
    # A message that contains U+0000, or its JSON escape as a text, is stored as JSON only.
    if not blobs and skeleton.count(NUL) != len(texts):
        return _escape_brackets(encode(message)), []
    # JSON alone has no place for bytes. Where a text spells the escape, its backslash is doubled.
    if blobs and skeleton.replace("\\\\", "").count(NUL) != len(texts) + len(blobs):
        raise TranscriptError("a message cannot be stored: it contains bytes and U+0000")
    return _with_bytes(with_placeholders(skeleton), blobs), texts


def _with_bytes(skeleton: str, blobs: Sequence[bytes]) -> str:
    """Return JSON with ``<bytes:...>`` for the numbers of the bytes."""
    if not blobs:
        return skeleton
    placeholders = [f"<bytes:{b64encode(blob).decode()}>" for blob in blobs]
    return _BLOB.sub(lambda found: placeholders[int(found[1]) - 1], skeleton)


def with_placeholders(skeleton: str) -> str:
    """Return JSON with ``<1>``, ``<2>``, ... for the extracted texts, and no other ``<``."""
    skeleton = _escape_brackets(skeleton).replace(_FIRST, "<1>")
    return _NUMBER.sub(r"<\1>", skeleton) if NUL in skeleton else skeleton


def _escape_brackets(skeleton: str) -> str:
    if "<" in skeleton or ">" in skeleton:
        return skeleton.replace("<", "\\u003c").replace(">", "\\u003e")
    return skeleton


def extract_texts(value: dict[Any, Any], texts: list[str]) -> dict[Any, Any]:
    """Return a copy in which numbers replace the texts, and append the texts to ``texts``."""
    out = value.copy()
    for key, inner in value.items():
        if key not in TEXT_KEYS:
            continue
        if type(inner) is str:
            texts.append(inner)
            out[key] = f"\0{len(texts)}"
        elif type(inner) is list:
            out[key] = [
                extract_texts(item, texts) if type(item) is dict else item for item in inner
            ]
        elif type(inner) is dict:
            out[key] = extract_texts(inner, texts)
    return out
