"""Reads and changes entries of a shared state without failing the request."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeVar

from chatmend.failures import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.shared_state import SharedState

_T = TypeVar("_T")
_log = logging.getLogger("chatmend")

_SLOW = 1.0
"""Seconds. An access that takes longer counts as a failure: the store may be unreachable."""
_PAUSE = 30.0
"""Seconds for which a store is not used after a failure, so that requests do not wait for it."""


class SharedEntries:
    """The entries of one kind in a shared state; failures are logged once.

    After a failure the store is not used for half a minute.
    """

    def __init__(self, state: SharedState, kind: str) -> None:
        """Store entries under keys that begin with ``kind``."""
        self._state = state
        self._kind = kind
        self._has_warned = False
        self._resumes_at = 0.0

    def get(self, key: str) -> bytes | None:
        """Return an entry; None if there is none, or if the store fails."""
        return self._access(lambda: self._state.get(f"{self._kind}:{key}"))

    def update(self, key: str, change: Callable[[bytes | None], bytes]) -> None:
        """Change an entry; nothing happens if the store fails."""
        self._access(lambda: self._state.update(f"{self._kind}:{key}", change))

    def _access(self, access: Callable[[], _T]) -> _T | None:
        """Return the result of an access; None if it fails or the store is not used now."""
        started = time.monotonic()
        if started < self._resumes_at:
            return None
        try:
            result = access()
        except Exception as error:  # noqa: BLE001 - a failing store must not fail the request
            self._pause(reason_of(error))
            return None
        if time.monotonic() - started > _SLOW:
            self._pause(f"an access took more than {_SLOW:g} s")
        return result

    def _pause(self, reason: str) -> None:
        self._resumes_at = time.monotonic() + _PAUSE
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "chatmend cannot share what it knows of conversations (%s); this process keeps it"
                " in memory and tries again every %g s",
                reason,
                _PAUSE,
            )
