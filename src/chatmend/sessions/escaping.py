"""Escapes texts in Markdown sessions: readable, and never mistaken for a delimiter.

Every delimiter of a session begins with ``<!--``. In texts it is written ``<!\\--``, and existing
sequences of the escaped form get one more backslash. Texts and escaped forms correspond one to
one. A lone surrogate, which UTF-8 cannot encode, is written ``<!\\ud83d>``.
"""

from __future__ import annotations

import re

_COMMENT = re.compile(r"<!(\\*)--")
_ESCAPED_COMMENT = re.compile(r"<!\\(\\*)--")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LOOKS_ESCAPED = re.compile(r"<!(\\+)(?=u[0-9a-f]{4}>)")
_ESCAPED_CODE = re.compile(r"<!\\(\\*)u([0-9a-f]{4})>")


def escape(text: str) -> str:
    """Return the text without ``<!--``.

    Lone surrogates are kept: they are rare, and searching every text for them is slow.
    """
    if "<!" not in text:
        return text
    return _LOOKS_ESCAPED.sub(r"<!\\\1", _COMMENT.sub(r"<!\\\1--", text))


def escape_surrogates(text: str) -> str:
    """Return an escaped text without lone surrogates."""
    return _SURROGATE.sub(_escape_code, text)


def unescape(text: str) -> str:
    """Return the original of an escaped text."""
    if "<!\\" not in text:
        return text
    return _ESCAPED_COMMENT.sub(r"<!\1--", _ESCAPED_CODE.sub(_unescape_code, text))


def _escape_code(match: re.Match[str]) -> str:
    return f"<!\\u{ord(match[0]):04x}>"


def _unescape_code(match: re.Match[str]) -> str:
    return f"<!{match[1]}u{match[2]}>" if match[1] else chr(int(match[2], 16))
