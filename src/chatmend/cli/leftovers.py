"""Temporary files next to the files that are rewritten, and their removal.

Each temporary file is locked by its writer. One without a lock was left by a killed run.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress
from typing import IO, TYPE_CHECKING

try:
    import fcntl
except ImportError:
    # Windows: without locks no leftover can be recognised, so none is removed. There a file must
    # also be closed before it can be renamed.
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HAS_LOCKS = fcntl is not None
_PREFIX, _SUFFIX = ".chatmend-", ".tmp"
_NAME = re.compile(r"\.chatmend-[a-z0-9_]{8}\.tmp")
"""The names of temporary files."""


def open_temporary(folder: Path) -> IO[bytes]:
    """Create a file in a folder, locked until it is closed.

    An interrupt leaves no file, because the name is known before the file exists.

    Raises:
        OSError: the file cannot be created.
    """
    while True:
        path = folder / f"{_PREFIX}{secrets.token_hex(4)}{_SUFFIX}"
        try:
            new = open(path, "xb+", opener=_open_private)  # noqa: SIM115 - the caller closes it
            if not HAS_LOCKS or _try_lock(new.fileno(), path) is not False:
                return new
            new.close()  # another run removed it as a leftover before it was locked
        except FileExistsError:
            continue
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def remove_leftovers(folders: Iterable[Path]) -> int:
    """Remove the temporary files of killed runs and return their number."""
    return sum(_remove_in(folder) for folder in folders) if HAS_LOCKS else 0


def _remove_in(folder: Path) -> int:
    try:
        with os.scandir(folder) as entries:
            found = [folder / entry.name for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return 0  # reported when a file in the folder is read or written
    return sum(map(_remove, found))


def _remove(path: Path) -> bool:
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            state = os.fstat(file)
            made_by_us = stat.S_ISREG(state.st_mode) and os.geteuid() in (0, state.st_uid)
            if made_by_us and _try_lock(file, path):
                path.unlink()
                return True
        finally:
            os.close(file)
    return False


def _try_lock(file: int, path: str | Path) -> bool | None:
    """Lock an open file and return whether it is locked and still has its name.

    Returns None if the file system does not support locks.
    """
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
