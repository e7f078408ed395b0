"""Sessions in a directory of this machine.

Files are 0600 in directories 0700, and no link below the root is followed: each directory is opened from the one above
it. A file is written beside its place, brought to the disk, and renamed. Two processes that go on with one session
are told apart by a lock on the file and by its first bytes, which hold the digest of the rest.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from chatmend.errors import SessionConflictError, SessionError, SessionWriteError
from chatmend.sessions.folder import Folder
from chatmend.sessions.storage import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = 256
"""So many bytes at the front of a file tell one version from another: the digest of the rest is among them."""


class LocalStorage:
    """Files below ``root``, which is made if it is not there. Any number of threads and processes may use it."""

    def __init__(self, root: str | os.PathLike[str], *, durable: bool = True) -> None:
        """With ``durable=False`` the system decides when the disk gets what was written.

        That is faster, and a power cut may cost the last turns. A killed process costs nothing either way.
        """
        self.root = Path(root)
        self._durable = durable

    def create(self, path: str, data: bytes) -> str:
        """See ``Storage``: the whole file appears at once, by a hard link that fails where there is one."""
        with _writing(path), self._folder(path, make=True) as folder:
            temporary = f".{token_hex(8)}.tmp"
            folder.write(temporary, data, durable=self._durable)
            try:
                folder.publish(temporary, folder.name)
            finally:
                folder.remove(temporary)
            folder.sync(durable=self._durable)
        return _version(data)

    def read(self, path: str) -> tuple[bytes, str]:
        """See ``Storage``."""
        with self._folder(path) as folder, folder.opened(folder.name) as file:
            data = _all(file)
        return data, _version(data)

    def replace(self, path: str, data: bytes, version: str) -> str:
        """See ``Storage``: written beside it, then renamed, under a lock on the old file."""
        with _writing(path), self._folder(path) as folder, folder.locked(folder.name) as old:
            if _version(os.read(old, _VERSION)) != version:
                raise SessionConflictError(f"{path}: another writer went on with this session; load it again")
            temporary = f".{folder.name}.tmp"  # the lock is ours: nobody else writes here
            try:
                folder.write(temporary, data, durable=self._durable)
                folder.rename(temporary, folder.name)
            except OSError:
                folder.remove(temporary)
                raise
            folder.sync(durable=self._durable)
        return _version(data)

    def names(self, folder: str) -> list[str]:
        """See ``Storage``."""
        try:
            with self._folder(f"{folder}/x") as opened:
                return opened.names()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SessionError(f"{folder}: could not be read ({error.strerror}); links are not followed") from error

    @contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[Folder]:
        """The folder of a file, reached step by step from the root."""
        *folders, name = steps(path)
        if make:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Folder(self.root, name)
        try:
            for step in folders:
                folder.enter(step, make=make)
            yield folder
        finally:
            folder.close()


def _version(data: bytes) -> str:
    return data[:_VERSION].hex()


def _all(file: int) -> bytes:
    with os.fdopen(os.dup(file), "rb") as reader:
        return reader.read()


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Turn what the disk says into an error that names the file and what became of it."""
    try:
        yield
    except (FileExistsError, FileNotFoundError, SessionError):
        raise
    except OSError as error:
        text = f"{path}: not written ({error.strerror}); what was stored before is still there, whole"
        raise SessionWriteError(error.errno, text) from error
