"""Where adapters keep what they know of conversations, so that it outlives a process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable


@runtime_checkable
class SharedState(Protocol):
    """A store of bytes by key that processes share. Its methods can be called by several threads.

    An exception that a method raises does not fail the request: the adapter logs it once and uses
    what it has in memory.
    """

    def get(self, key: str) -> bytes | None:
        """Return the value that was stored last under a key, or None."""

    def update(self, key: str, change: Callable[[bytes | None], bytes]) -> None:
        """Replace the value of a key by what ``change`` returns for the current value, or None.

        If another process has replaced it meanwhile, ``change`` is called again. A store that
        cannot detect this loses one of the two changes, and a later request less thinking.
        """


@dataclass(frozen=True, slots=True)
class SessionMemories:
    """A value for ``session_memory``: keep memories and lessons in a store, not in the process."""

    state: SharedState
    mode: Literal["bound", "all"] = "bound"
    """For which requests; the same as ``session_memory`` without a store."""
