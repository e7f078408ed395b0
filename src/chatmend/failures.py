"""Describes internal errors for log lines, without any content of the transcript."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb

from chatmend.errors import PolicyError, TargetError

_PACKAGE = Path(__file__).parent
_LONGEST = 300
"""Characters of an exception's text that are quoted at most."""


def reason_of(error: BaseException) -> str:
    """Return the type of an exception and its cause.

    The cause of ``PolicyError`` and ``TargetError`` is their text. The text of other exceptions may
    quote the transcript, so their cause is the innermost position inside chatmend:
    ``KeyError in rules/late_tool_result.py, line 41``.
    """
    name = type(error).__name__
    if isinstance(error, PolicyError | TargetError):
        text = "".join(letter if letter.isprintable() else "?" for letter in str(error)[:_LONGEST])
        return f"{name}: {text}"
    for frame in reversed(extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            return f"{name} in {path.relative_to(_PACKAGE).as_posix()}, line {frame.lineno}"
    return name
