"""Text in a Markdown session: readable as it is, and never taken for a delimiter.

Every delimiter of a session begins with ``<!--``. Inside text that becomes ``<!\\--``, and what already looks like the
escaped form gets one more backslash, so that each text has one escaped form and each escaped form one text. A lone
surrogate, which UTF-8 cannot say, is written ``<!\\ud83d>``.
"""

from __future__ import annotations

import re

_COMMENT = re.compile(r"<!(\\*)--")
_ESCAPED_COMMENT = re.compile(r"<!\\(\\*)--")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LOOKS_ESCAPED = re.compile(r"<!(\\+)(?=u[0-9a-f]{4}>)")
_ESCAPED_CODE = re.compile(r"<!\\(\\*)u([0-9a-f]{4})>")


def escape(text: str) -> str:
    """The text without ``<!--``. Its lone surrogates are still there: few texts have any, and looking is dear."""
    if "<!" not in text:
        return text
    return _LOOKS_ESCAPED.sub(r"<!\\\1", _COMMENT.sub(r"<!\\\1--", text))


def escape_surrogates(text: str) -> str:
    """The escaped text without lone surrogates."""
    return _SURROGATE.sub(_code, text)


def unescape(text: str) -> str:
    """The text before it was escaped."""
    if "<!\\" not in text:
        return text
    return _ESCAPED_COMMENT.sub(r"<!\1--", _ESCAPED_CODE.sub(_text, text))


def _code(match: re.Match[str]) -> str:
    return f"<!\\u{ord(match[0]):04x}>"


def _text(match: re.Match[str]) -> str:
    return f"<!{match[1]}u{match[2]}>" if match[1] else chr(int(match[2], 16))
