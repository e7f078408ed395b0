"""What a test tells the sandbox to answer next, instead of what it would say by itself."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to give. The request is still judged first: what the provider refuses stays refused."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Tool calls: name and arguments."""
    thought: str = ""
    finish: str | None = None
    """``stop``, ``tool_calls`` or ``length``; what fits the answer, if not given."""
    first_token_after: float = 0.0
    """Seconds before the answer begins."""
    cut_after: int | None = None
    """Break the connection after this many events of a stream."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error to answer, in the provider's own shape, whatever was asked."""

    status: int
    """429, 500, 503, 529, ..."""
    message: str = ""
    """The provider's usual text, if not given."""
    retry_after: float | None = None
    """Seconds, sent as ``retry-after``."""


class Script:
    """A queue of replies and failures; each is used once. Safe to share between threads."""

    def __init__(self) -> None:
        """Begin with nothing to say."""
        self._lines: deque[Reply | Failure] = deque()
        self._lock = Lock()

    def add(self, lines: Iterable[Reply | Failure]) -> None:
        """Append lines."""
        with self._lock:
            self._lines.extend(lines)

    def next(self) -> Reply | Failure | None:
        """Take the next line, if there is one."""
        with self._lock:
            return self._lines.popleft() if self._lines else None

    def peek(self) -> Reply | Failure | None:
        """Look at the next line, and leave it."""
        with self._lock:
            return self._lines[0] if self._lines else None

    def clear(self) -> None:
        """Forget what was not used."""
        with self._lock:
            self._lines.clear()
