"""Replaces files atomically: at every moment a file is the complete old or the complete new one."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from chatmend.cli.leftovers import HAS_LOCKS, open_temporary
from chatmend.cli.unpacking import PACKED_SUFFIXES, pack

if TYPE_CHECKING:
    from collections.abc import Iterator


class NotWrittenError(Exception):
    """A file was not changed; the text gives the reason."""


class Rewrite:
    """Collects the new content of a file; writes nothing as long as it equals the old content.

    ``old`` is the open old file. ``path`` is the path of the new file, the same or another.
    """

    def __init__(
        self, old: IO[bytes], path: Path, *, in_place: bool, state: os.stat_result | None = None
    ) -> None:
        """Start with no content.

        With ``in_place``, the new file replaces the old one. ``state`` is that of the old file, if
        ``old`` is its decompressed content. A new file is compressed as its suffix says.
        """
        self._old = old
        self._path = path
        self._in_place = in_place
        self._unchanged_size = 0
        """Number of bytes at the start that equal those of the old file."""
        self._new: IO[bytes] | None = None
        self._old_state = os.fstat(old.fileno()) if state is None else state

    def keep(self, raw: bytes) -> None:
        """Append bytes that the old file has at the same offset."""
        if self._new is None:
            self._unchanged_size += len(raw)
        else:
            self._new.write(raw)

    def put(self, raw: bytes) -> None:
        """Append new bytes."""
        self._start().write(raw)

    def _start(self) -> IO[bytes]:
        if self._new is None:
            self._new = open_temporary(self._path.parent)
            self._copy_unchanged(self._new)
        return self._new

    def _copy_unchanged(self, new: IO[bytes]) -> None:
        with open(self._old.fileno(), "rb", buffering=0, closefd=False) as old:
            offset, left = old.tell(), self._unchanged_size
            old.seek(0)
            while left > 0 and (raw := old.read(min(left, 1 << 20))):
                new.write(raw)
                left -= len(raw)
            old.seek(offset)  # the reader of the old file continues from here

    def finish(self, *, backup: bool = False) -> bool:
        """Move the new file to its path; return False if the old file needs no change.

        Args:
            backup: keep the old file with the additional suffix ``.bak``.

        Raises:
            NotWrittenError: another program changed the old file, or a backup exists already.
            OSError: the file cannot be written.
        """
        if self._new is None and self._in_place:
            return False
        new = self._start()
        if self._path.suffix.lower() in PACKED_SUFFIXES:
            new = self._pack(new)
        temporary_path = Path(new.name)
        _copy_owner_and_mode(temporary_path, self._old_state)
        new.flush()
        os.fsync(new.fileno())
        if self._in_place:
            self._check_unchanged()
            if backup:
                _back_up(self._path)
        if not HAS_LOCKS:
            new.close()
        temporary_path.replace(self._path)
        new.close()  # not earlier, because a file without a lock is removed as a leftover
        self._new = None
        return True

    def _pack(self, content: IO[bytes]) -> IO[bytes]:
        """Compress the new content into another temporary file, and delete the first one."""
        try:
            content.seek(0)
            self._new = open_temporary(self._path.parent)
            pack(content, self._new, self._path.suffix)
        finally:
            content.close()
            Path(content.name).unlink(missing_ok=True)
        return self._new

    def _check_unchanged(self) -> None:
        now = self._path.lstat()
        if (now.st_ino, now.st_size, now.st_mtime_ns) != (
            self._old_state.st_ino,
            self._old_state.st_size,
            self._old_state.st_mtime_ns,
        ):
            raise NotWrittenError(
                "not written: another program changed the file; run the command again"
            )

    def discard(self) -> None:
        """Delete the new content unless it was finished."""
        if self._new is not None:
            self._new.close()
            Path(self._new.name).unlink(missing_ok=True)
            self._new = None


def _copy_owner_and_mode(path: Path, like: os.stat_result) -> None:
    """Give a file the permissions of another and, if allowed, its owner and group."""
    now = path.stat()
    if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
        # Windows has no `chown`; elsewhere only root may change the owner.
        with suppress(AttributeError, PermissionError):
            os.chown(path, like.st_uid, like.st_gid)
    path.chmod(stat.S_IMODE(like.st_mode))  # last, because a change of owner clears bits


def _back_up(path: Path) -> None:
    """Keep the file under its name plus ``.bak``."""
    name = path.with_name(f"{path.name}.bak")
    try:
        os.link(path, name, follow_symlinks=False)
    except FileExistsError:
        if not name.samefile(path):  # the same file if an earlier run was killed at this point
            raise NotWrittenError(
                f"not written: the backup {name.name} exists already; move it away"
            ) from None
    except OSError:  # the file system has no hard links
        with path.open("rb") as old, name.open("xb") as new:
            shutil.copyfileobj(old, new)
        shutil.copystat(path, name)


@contextmanager
def rewriting(
    old: IO[bytes], path: Path, *, in_place: bool, state: os.stat_result | None = None
) -> Iterator[Rewrite]:
    """Provide a ``Rewrite`` for ``path``; its content is discarded unless it is finished."""
    new = Rewrite(old, path, in_place=in_place, state=state)
    try:
        yield new
    finally:
        new.discard()


def open_without_links(path: Path) -> IO[bytes]:
    """Open a file that will be replaced, for reading.

    Raises:
        NotWrittenError: it is a symbolic link.
        OSError: it cannot be opened.
    """
    if path.is_symlink():
        raise NotWrittenError("not written: symbolic links are not followed")
    return os.fdopen(
        os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)), "rb"
    )


def refuse_read_only(path: Path) -> None:
    """Refuse to replace a read-only file, also if the process could write it, for example as root.

    Raises:
        NotWrittenError: the file is read-only.
    """
    mode = path.stat(follow_symlinks=False).st_mode
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise NotWrittenError("not written: the file is read-only; use --out DIR to write a copy")
