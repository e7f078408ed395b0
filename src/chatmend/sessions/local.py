"""Sessions in a local directory.

Files have mode 0600 in directories of mode 0700. No symbolic link below the root is followed,
because each directory is opened relative to its parent. A turn is written to a temporary file in
the same directory, flushed to disk, and renamed. If two processes continue one session, a lock on
the file and its first bytes, which contain the digest of the rest, reveal the conflict.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from chatmend.errors import SessionConflictError, SessionError, SessionWriteError
from chatmend.sessions.folder import Folder
from chatmend.sessions.storage import split_path

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION_BYTES = 256
"""The number of bytes at the start of a file that identify its version.

They contain the digest of the rest.
"""


class LocalStorage:
    """Files below ``root``, which is created if needed. Threads and processes may share it."""

    def __init__(self, root: str | os.PathLike[str], *, durable: bool = True) -> None:
        """Store files below ``root``.

        With ``durable=False``, writes do not wait for the disk. That is faster, but a power failure
        can lose the last turns. A killed process loses nothing in either case.
        """
        self.root = Path(root)
        self._durable = durable

    def create(self, path: str, data: bytes) -> str:
        """Create a file; see ``Storage``.

        The complete file appears at once: the final name is a hard link, whose creation fails if
        the name is in use.
        """
        with _translated_errors(path), self._folder(path, make=True) as folder:
            temporary = f".{token_hex(8)}.tmp"
            folder.write(temporary, data, durable=self._durable)
            try:
                folder.publish(temporary, folder.name)
            finally:
                folder.remove(temporary)
            folder.sync(durable=self._durable)
        return _version(data)

    def read(self, path: str) -> tuple[bytes, str]:
        """Return the content of a file and its version; see ``Storage``."""
        with self._folder(path) as folder, folder.opened(folder.name) as file:
            data = _read_all(file)
        return data, _version(data)

    def replace(self, path: str, data: bytes, version: str) -> str:
        """Replace a file by a rename, while the old file is locked; see ``Storage``."""
        with (
            _translated_errors(path),
            self._folder(path) as folder,
            folder.locked(folder.name) as old,
        ):
            if _version(os.read(old, _VERSION_BYTES)) != version:
                raise SessionConflictError(
                    f"{path}: another writer has continued this session; load it again"
                )
            # The lock ensures that no other process writes to this temporary file.
            temporary = f".{folder.name}.tmp"
            try:
                folder.write(temporary, data, durable=self._durable)
                folder.rename(temporary, folder.name)
            except OSError:
                folder.remove(temporary)
                raise
            folder.sync(durable=self._durable)
        return _version(data)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; see ``Storage``."""
        try:
            with self._folder(f"{folder}/x") as opened:
                return opened.names()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SessionError(
                f"{folder}: could not be read ({error.strerror}); symbolic links are not followed"
            ) from error

    @contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[Folder]:
        """Open the folder of a file, one directory at a time from the root."""
        *folders, name = split_path(path)
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
    return data[:_VERSION_BYTES].hex()


def _read_all(file: int) -> bytes:
    with os.fdopen(os.dup(file), "rb") as reader:
        return reader.read()


@contextmanager
def _translated_errors(path: str) -> Iterator[None]:
    """Convert ``OSError`` to an error that names the file and the state of its content."""
    try:
        yield
    except (FileExistsError, FileNotFoundError, SessionError):
        raise
    except OSError as error:
        text = f"{path}: not written ({error.strerror}); the previous content is intact"
        raise SessionWriteError(error.errno, text) from error
