"""An open directory: everything in it is reached from it, so that nobody can put a link in between."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from chatmend.errors import SessionError

try:
    import fcntl
except ImportError:  # Windows: the version is compared all the same, but without a lock around it
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_AT = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd and os.link in os.supports_dir_fd
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_ONE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})
"""What a file system without hard links answers."""


class Folder:
    """An open directory, and the name in it that one is after. Without ``openat`` (Windows) its path stands for it."""

    def __init__(self, root: Path, name: str) -> None:
        """Open the root."""
        self.name = name
        self._path = root
        self._fd = os.open(root, os.O_RDONLY | _DIRECTORY | getattr(os, "O_CLOEXEC", 0)) if _AT else -1

    def _at(self, name: str) -> tuple[str, dict[str, Any]]:
        return (name, {"dir_fd": self._fd}) if _AT else (str(self._path / name), {})

    def enter(self, step: str, *, make: bool) -> None:
        """Go into a directory below, which may be made first; a link is not followed."""
        place, at = self._at(step)
        if make:
            with suppress(FileExistsError):
                os.mkdir(place, 0o700, **at)
        if _AT:
            inner = os.open(place, os.O_RDONLY | _DIRECTORY | _ONE, **at)
            os.close(self._fd)
            self._fd = inner
        elif (self._path / step).is_symlink():
            raise SessionError(f"{self._path / step} is a link, which is not followed")
        self._path /= step

    def close(self) -> None:
        """Let go of the directory."""
        if _AT:
            os.close(self._fd)

    def names(self) -> list[str]:
        """What is in it."""
        return os.listdir(self._fd if _AT else self._path)

    def write(self, name: str, data: bytes, *, durable: bool) -> None:
        """Write a file that only we know of; one that a killed process left is overwritten."""
        place, at = self._at(name)
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _ONE, 0o600, **at)
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
        """Give a file its name, which must be free."""
        (old, at), (new, _) = self._at(temporary), self._at(name)
        try:
            if at:
                os.link(old, new, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
            else:
                os.link(old, new)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # The name is taken first, empty, and gets its content at once.
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ONE, 0o600, **at))
            self.rename(temporary, name)

    def rename(self, old: str, new: str) -> None:
        """Put a file in the place of another."""
        (source, at), (goal, _) = self._at(old), self._at(new)
        os.replace(source, goal, **({"src_dir_fd": self._fd, "dst_dir_fd": self._fd} if at else {}))

    def remove(self, name: str) -> None:
        """Take a file away, if it is there and if we may."""
        place, at = self._at(name)
        with suppress(OSError):
            os.unlink(place, **at)

    def sync(self, *, durable: bool) -> None:
        """Bring the names to the disk, too."""
        if durable and _AT:
            os.fsync(self._fd)

    @contextmanager
    def opened(self, name: str) -> Iterator[int]:
        """A file, open for reading: no link, no device, no pipe."""
        place, at = self._at(name)
        file = os.open(place, os.O_RDONLY | _ONE | getattr(os, "O_NONBLOCK", 0), **at)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise SessionError(f"{self._path / name} is no regular file")
            yield file
        finally:
            os.close(file)

    @contextmanager
    def locked(self, name: str) -> Iterator[int]:
        """The file that has this name now, locked: one that was replaced while we waited is let go."""
        while True:
            with self.opened(name) as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    place, at = self._at(name)
                    now, then = os.stat(place, follow_symlinks=False, **at), os.fstat(file)
                    if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino):
                        continue
                yield file
                return
