"""Answers and errors that a test prescribes for the next requests, and lasting changes.

Replies and failures are used once. Changes let a provider refuse what it accepted before, until
they are removed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fnmatch import fnmatchcase
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

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


class Script:
    """A queue of replies and failures, each used once. Thread-safe."""

    def __init__(self) -> None:
        """Create an empty script."""
        self._lines: deque[Reply | Failure] = deque()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of entries that wait."""
        return len(self._lines)

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
        """Delete the unused entries."""
        with self._lock:
            self._lines.clear()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Requests to refuse from now on, although the provider's tables accept them."""

    when: Callable[[dict[str, Any]], object]
    """Called with the body of a request that would be accepted.

    A true value refuses it. A string is the position of the fault, such as
    ``"messages.1.content.0"``.
    """
    text: str
    """The error text. ``{at}`` is replaced by the position."""
    status: int = 400
    provider: str = "*"
    """The providers that refuse, as a pattern with wildcards."""
    model: str = "*"
    """The models that refuse, as a pattern with wildcards."""

    def text_for(self, provider: str, model: str, body: dict[str, Any]) -> str | None:
        """Return the error text for a request; None if it is accepted."""
        if not (fnmatchcase(provider, self.provider) and fnmatchcase(model, self.model)):
            return None
        found = self.when(body)
        if not found:
            return None
        return self.text.replace("{at}", found if isinstance(found, str) else "")


@dataclass(frozen=True, slots=True)
class BoundThinking:
    """Claude models that bind thinking to the conversation before it."""

    model: str
    """The models, as a pattern with wildcards."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """A stored object that the provider does not find any more."""

    id: str


class ScriptedChange:
    """A change that stays until ``remove()`` or the end of a ``with`` block."""

    def __init__(self, what: Refusal | BoundThinking | Expiry, changes: ScriptedChanges) -> None:
        """Create a change; ``ScriptedChanges.add`` also applies it."""
        self.what = what
        self._changes = changes

    def remove(self) -> None:
        """Undo the change. Calling it again has no effect."""
        self._changes.remove(self)

    def __enter__(self) -> Self:
        """Return the change, which is already applied."""
        return self

    def __exit__(self, *_: object) -> None:
        """Undo the change."""
        self.remove()


class ScriptedChanges:
    """The changes that are applied at present. Thread-safe."""

    def __init__(self) -> None:
        """Start without changes."""
        self._applied: tuple[ScriptedChange, ...] = ()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of changes."""
        return len(self._applied)

    def add(self, what: Refusal | BoundThinking | Expiry) -> ScriptedChange:
        """Apply a change."""
        change = ScriptedChange(what, self)
        with self._lock:
            self._applied = (*self._applied, change)
        return change

    def remove(self, change: ScriptedChange) -> None:
        """Undo a change; no effect if it is not applied."""
        with self._lock:
            self._applied = tuple(other for other in self._applied if other is not change)

    def clear(self) -> None:
        """Undo all changes."""
        with self._lock:
            self._applied = ()

    def refusal(
        self, provider: str, model: str, body: dict[str, Any]
    ) -> tuple[Refusal, str] | None:
        """Return the first refusal that applies to a request, and its error text."""
        for change in self._applied:
            if isinstance(change.what, Refusal):
                text = change.what.text_for(provider, model, body)
                if text is not None:
                    return change.what, text
        return None

    def binds_thinking(self, model: str) -> bool:
        """Return whether a model binds thinking because of a change."""
        found = (change.what for change in self._applied)
        return any(
            isinstance(what, BoundThinking) and fnmatchcase(model, what.model) for what in found
        )

    @property
    def expired(self) -> frozenset[str]:
        """The ids of the objects that are not found any more."""
        found = (change.what for change in self._applied)
        return frozenset(what.id for what in found if isinstance(what, Expiry))
