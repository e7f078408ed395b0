"""An open directory. Its entries are opened relative to it, so that no link can be inserted."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from chatmend.errors import SessionError

try:
    import fcntl
except ImportError:  # Windows: versions are compared without a lock
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HAS_OPENAT = (
    os.open in os.supports_dir_fd
    and os.rename in os.supports_dir_fd
    and os.link in os.supports_dir_fd
)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_FILE_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})
"""The errors of file systems without hard links."""


class Folder:
    """An open directory, with the name of a file in it. Without ``openat`` (Windows), paths."""

    def __init__(self, root: Path, name: str) -> None:
        """Open the root; ``name`` is the file that the caller will use."""
        self.name = name
        self._path = root
        self._fd = (
            os.open(root, os.O_RDONLY | _DIRECTORY | getattr(os, "O_CLOEXEC", 0))
            if _HAS_OPENAT
            else -1
        )

    def _locate(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the path of an entry and the arguments with which ``os`` functions open it."""
        return (name, {"dir_fd": self._fd}) if _HAS_OPENAT else (str(self._path / name), {})

    def enter(self, step: str, *, make: bool) -> None:
        """Change to a subdirectory, creating it first if ``make`` is true.

        Raises:
            SessionError: it is a symbolic link.
            OSError: it cannot be opened; with ``openat``, also if it is a symbolic link.
        """
        path, options = self._locate(step)
        if make:
            with suppress(FileExistsError):
                os.mkdir(path, 0o700, **options)
        if _HAS_OPENAT:
            inner = os.open(path, os.O_RDONLY | _DIRECTORY | _FILE_FLAGS, **options)
            os.close(self._fd)
            self._fd = inner
        elif (self._path / step).is_symlink():
            raise SessionError(f"{self._path / step} is a symbolic link, which is not followed")
        self._path /= step

    def close(self) -> None:
        """Close the directory."""
        if _HAS_OPENAT:
            os.close(self._fd)

    def names(self) -> list[str]:
        """Return the names of its entries."""
        return os.listdir(self._fd if _HAS_OPENAT else self._path)

    def write(self, name: str, data: bytes, *, durable: bool) -> None:
        """Write a temporary file. A file that a killed process left is overwritten."""
        path, options = self._locate(name)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FILE_FLAGS, 0o600, **options)
        try:
            with os.fdopen(os.dup(file), "wb", buffering=0) as writer:
                left = memoryview(data)
                while left:
                    left = left[writer.write(left) :]
            if durable:
                os.fsync(file)
        except OSError:
            self.remove(name)
            raise
        finally:
            os.close(file)

    def publish(self, temporary: str, name: str) -> None:
        """Link a temporary file to its final name.

        Raises:
            FileExistsError: the name is in use.
        """
        (old, options), (new, _) = self._locate(temporary), self._locate(name)
        try:
            if options:
                os.link(old, new, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
            else:
                os.link(old, new)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # Without hard links, an empty file reserves the name and is replaced at once.
            os.close(
                os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o600, **options)
            )
            self.rename(temporary, name)

    def rename(self, old: str, new: str) -> None:
        """Rename a file, replacing any file of the new name."""
        (source, options), (goal, _) = self._locate(old), self._locate(new)
        os.replace(
            source, goal, **({"src_dir_fd": self._fd, "dst_dir_fd": self._fd} if options else {})
        )

    def remove(self, name: str) -> None:
        """Remove a file; errors, such as a missing file, are ignored."""
        path, options = self._locate(name)
        with suppress(OSError):
            os.unlink(path, **options)

    def sync(self, *, durable: bool) -> None:
        """Flush the directory to disk if ``durable`` is true, so that new names persist."""
        if durable and _HAS_OPENAT:
            os.fsync(self._fd)

    @contextmanager
    def opened(self, name: str) -> Iterator[int]:
        """Open a regular file for reading.

        Raises:
            SessionError: it is not a regular file.
            OSError: it cannot be opened, or is a symbolic link.
        """
        path, options = self._locate(name)
        file = os.open(path, os.O_RDONLY | _FILE_FLAGS | getattr(os, "O_NONBLOCK", 0), **options)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise SessionError(f"{self._path / name} is not a regular file")
            yield file
        finally:
            os.close(file)

    @contextmanager
    def locked(self, name: str) -> Iterator[int]:
        """Open and lock the file that has this name now.

        If the file is replaced while this waits for the lock, the new file is opened instead.
        """
        while True:
            with self.opened(name) as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    path, options = self._locate(name)
                    now, then = os.stat(path, follow_symlinks=False, **options), os.fstat(file)
                    if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino):
                        continue
                yield file
                return
