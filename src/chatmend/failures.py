"""Describes internal errors for log lines, without any content of the transcript."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from chatmend.errors import PolicyError, TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from logging import Logger

NOT_REMEMBERED = "what was sent is not remembered"
"""What follows from a failure of the session memories, in place of an unchanged request."""
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


@contextmanager
def guard_memory(on_error: str, log: Logger) -> Iterator[None]:
    """Log a failure to keep what was sent, which must not discard a repair or an answer.

    Raises:
        Exception: the failure, with ``on_error="raise"``.
    """
    try:
        yield
    except Exception as error:
        if on_error == "raise":
            raise
        log.warning("chatmend failed with %s; %s", reason_of(error), NOT_REMEMBERED)
