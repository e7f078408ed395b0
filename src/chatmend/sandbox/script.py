"""Answers and errors that a test prescribes for the next requests."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fnmatch import fnmatchcase
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to give; a request that the provider refuses is still refused."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Tool calls: name and arguments."""
    thought: str = ""
    finish: str | None = None
    """``stop``, ``tool_calls`` or ``length``; by default it follows from the answer."""
    first_token_after: float = 0.0
    """Seconds before the answer begins."""
    cut_after: int | None = None
    """The number of stream events after which the connection is broken."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error to answer in the provider's format, for any request."""

    status: int
    """429, 500, 503, 529, ..."""
    message: str = ""
    """The error text; by default the provider's usual one."""
    retry_after: float | None = None
    """Seconds, sent as ``retry-after``."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Requests to refuse from now on, although the provider's tables accept them."""

    when: Callable[[dict[str, Any]], object]
    """Called with the body of a request that would be accepted.

    A true value refuses it. A string is the position of the fault, such as
    ``"messages.1.content.0"``.
    """
    text: str
    """The error text. ``{at}`` stands for the position."""
    status: int = 400
    model: str = "*"
    """The models that refuse, as a pattern with wildcards."""

    def text_for(self, model: str, body: dict[str, Any]) -> str | None:
        """Return the error text for a request; None if it is accepted."""
        found = self.when(body) if fnmatchcase(model, self.model) else None
        if not found:
            return None
        return self.text.replace("{at}", found if isinstance(found, str) else "")


class Script:
    """A queue of replies and failures, each used once, and lasting refusals. Thread-safe."""

    def __init__(self) -> None:
        """Create an empty script."""
        self._lines: deque[Reply | Failure] = deque()
        self._refusals: list[Refusal] = []
        self._lock = Lock()

    def refuse(self, refusal: Refusal) -> None:
        """Add a lasting refusal."""
        with self._lock:
            self._refusals.append(refusal)

    def refusal(self, model: str, body: dict[str, Any]) -> tuple[int, str] | None:
        """Return status and text of the first refusal of a request; None if there is none."""
        with self._lock:
            refusals = list(self._refusals)
        for one in refusals:
            if (text := one.text_for(model, body)) is not None:
                return one.status, text
        return None

    def add(self, lines: Iterable[Reply | Failure]) -> None:
        """Append replies and failures."""
        with self._lock:
            self._lines.extend(lines)

    def failure(self) -> Failure | None:
        """Remove and return the next entry if it is a failure."""
        with self._lock:
            entry = self._lines[0] if self._lines else None
            if not isinstance(entry, Failure):
                return None
            self._lines.popleft()
            return entry

    def reply(self) -> Reply | None:
        """Remove and return the next entry if it is a reply."""
        with self._lock:
            entry = self._lines[0] if self._lines else None
            if not isinstance(entry, Reply):
                return None
            self._lines.popleft()
            return entry

    def clear(self) -> None:
        """Delete the unused entries and the refusals."""
        with self._lock:
            self._lines.clear()
            self._refusals.clear()
