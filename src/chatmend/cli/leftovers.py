"""Temporary files beside those that are rewritten. Each is locked by its writer: without a lock it is a leftover."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from contextlib import suppress
from typing import IO, TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows: nothing tells a leftover there, so all are left, and a file must be closed to be renamed
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LOCKS = fcntl is not None
_PREFIX, _SUFFIX = ".chatmend-", ".tmp"
_OURS = re.compile(r"\.chatmend-[a-z0-9_]{8}\.tmp")
"""As ``tempfile`` names them."""


def temporary(folder: Path) -> IO[bytes]:
    """A new file in a folder, locked until it is closed.

    Raises:
        OSError: the disk or the folder does not take it.
    """
    while True:
        new = tempfile.NamedTemporaryFile(dir=folder, prefix=_PREFIX, suffix=_SUFFIX, delete=False)  # noqa: SIM115
        if not LOCKS or _is_free(new.fileno(), new.name) is not False:
            return new
        new.close()  # another run took it for a leftover before it was locked


def clear(folders: Iterable[Path]) -> int:
    """Remove the leftovers of runs that were killed; how many there were. Whatever else is there stays."""
    return sum(_cleared(folder) for folder in folders) if LOCKS else 0


def _cleared(folder: Path) -> int:
    try:
        with os.scandir(folder) as entries:
            found = [folder / entry.name for entry in entries if _OURS.fullmatch(entry.name)]
    except OSError:
        return 0  # whoever reads or writes there tells why
    return sum(map(_removed, found))


def _removed(path: Path) -> bool:
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            state = os.fstat(file)
            made_by_us = stat.S_ISREG(state.st_mode) and os.geteuid() in (0, state.st_uid)
            if made_by_us and _is_free(file, path):
                path.unlink()
                return True
        finally:
            os.close(file)
    return False


def _is_free(file: int, path: str | Path) -> bool | None:
    """Lock an open file: whether nobody else has and it still has its name; None where files cannot be locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False
