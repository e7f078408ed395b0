"""Reads and changes entries of a shared state without failing the request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from chatmend.failures import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.shared_state import SharedState

_log = logging.getLogger("chatmend")


class SharedEntries:
    """The entries of one kind in a shared state; failures are logged once."""

    def __init__(self, state: SharedState, kind: str) -> None:
        """Store entries under keys that begin with ``kind``."""
        self._state = state
        self._kind = kind
        self._has_warned = False

    def get(self, key: str) -> bytes | None:
        """Return an entry; None if there is none, or if the store fails."""
        try:
            return self._state.get(f"{self._kind}:{key}")
        except Exception as error:  # noqa: BLE001 - a failing store must not fail the request
            self._warn(error)
            return None

    def update(self, key: str, change: Callable[[bytes | None], bytes]) -> None:
        """Change an entry; nothing happens if the store fails."""
        try:
            self._state.update(f"{self._kind}:{key}", change)
        except Exception as error:  # noqa: BLE001 - as above
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "chatmend cannot share what it knows of conversations (%s); this process keeps it"
                " in memory",
                reason_of(error),
            )
