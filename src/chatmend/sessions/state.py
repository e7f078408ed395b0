"""What adapters know of conversations, in files next to the sessions: ``memories/ab/KEY.json``.

A file begins with the digest of its content, so a damaged one is not used. Of two processes that
change a file at once, the second one reads it again.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from chatmend.errors import SessionConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.sessions.storage import Storage

_FOLDER = "memories"
_BEGINNING = b"sha256:"
_MOST_ATTEMPTS = 100
"""How often a file is read again that other processes change."""


class StoredState:
    """A ``chatmend.shared_state.SharedState`` in a storage for sessions."""

    def __init__(self, storage: Storage) -> None:
        """Keep entries below the root of a storage."""
        self._storage = storage

    def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if there is none, or if its file is damaged."""
        return self._read(_path_of(key))[0]

    def update(self, key: str, change: Callable[[bytes | None], bytes]) -> None:
        """Replace the value of a key; ``change`` is called again if another process was faster.

        Raises:
            SessionConflictError: other processes change the entry all the time.
            SessionWriteError: the file could not be written.
        """
        path = _path_of(key)
        for _ in range(_MOST_ATTEMPTS):
            held, version = self._read(path)
            value = change(held)
            data = _BEGINNING + sha256(value).hexdigest().encode() + b"\n" + value
            try:
                if version is None:
                    self._storage.create(path, data)
                else:
                    self._storage.replace(path, data, version)
            except (SessionConflictError, FileExistsError, FileNotFoundError):
                continue
            return
        raise SessionConflictError(f"{path}: other writers change it all the time")

    def _read(self, path: str) -> tuple[bytes | None, str | None]:
        """Return the value in a file and the version of the file; both None if it is missing."""
        try:
            data, version = self._storage.read(path)
        except FileNotFoundError:
            return None, None
        head, _, value = data.partition(b"\n")
        is_whole = head == _BEGINNING + sha256(value).hexdigest().encode()
        return value if is_whole else None, version


def _path_of(key: str) -> str:
    kind, _, name = key.partition(":")
    return f"{_FOLDER}/{name[:2]}/{name}.{kind}.json"
