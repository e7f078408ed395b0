"""Writes a file anew so that at every moment it is the old one or the new one, whole."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from chatmend.cli.leftovers import LOCKS, temporary

if TYPE_CHECKING:
    from collections.abc import Iterator


class NotWrittenError(Exception):
    """A file was left as it is; the text says why."""


class Rewrite:
    """The new text of a file, as far as it is known. As long as all of it is the old text, nothing is written.

    ``old`` is open at the old file, ``path`` is where the new one goes: the same place, or another.
    """

    def __init__(self, old: IO[bytes], path: Path, *, in_place: bool) -> None:
        """Begin at the front of ``old``; nothing is known to differ yet."""
        self._old = old
        self._path = path
        self._in_place = in_place
        self._same = 0
        """So many bytes at the front are those of the old file."""
        self._new: IO[bytes] | None = None
        self._was = os.fstat(old.fileno())

    def keep(self, raw: bytes) -> None:
        """Add bytes that stand in the old file at this place, too."""
        if self._new is None:
            self._same += len(raw)
        else:
            self._new.write(raw)

    def put(self, raw: bytes) -> None:
        """Add bytes that are new."""
        self._begin().write(raw)

    def _begin(self) -> IO[bytes]:
        if self._new is None:
            self._new = temporary(self._path.parent)
            self._copy_the_same(self._new)
        return self._new

    def _copy_the_same(self, new: IO[bytes]) -> None:
        with open(self._old.fileno(), "rb", buffering=0, closefd=False) as old:
            place, left = old.tell(), self._same
            old.seek(0)
            while left > 0 and (raw := old.read(min(left, 1 << 20))):
                new.write(raw)
                left -= len(raw)
            old.seek(place)  # where the reader of the old file goes on

    def finish(self, *, backup: bool = False) -> bool:
        """Put the new file in its place; whether there is one.

        Raises:
            NotWrittenError: the old file is not the one that was read any more, or its backup would overwrite another.
            OSError: the disk or the directory does not take it.
        """
        if self._new is None and self._in_place:
            return False
        new = self._begin()
        made = Path(new.name)
        _give(made, self._was)
        new.flush()
        os.fsync(new.fileno())
        if self._in_place:
            self._compare()
            if backup:
                _back_up(self._path)
        if not LOCKS:
            new.close()
        made.replace(self._path)
        new.close()  # only now: without its lock it would be taken for a leftover
        self._new = None
        return True

    def _compare(self) -> None:
        now = self._path.lstat()
        if (now.st_ino, now.st_size, now.st_mtime_ns) != (self._was.st_ino, self._was.st_size, self._was.st_mtime_ns):
            raise NotWrittenError("it was changed by another program in the meantime; not written")

    def discard(self) -> None:
        """Forget what was not put in its place."""
        if self._new is not None:
            self._new.close()
            Path(self._new.name).unlink(missing_ok=True)
            self._new = None


def _give(path: Path, like: os.stat_result) -> None:
    """Give a file the permissions of another and, as far as we may, its owner and group."""
    now = path.stat()
    if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
        with suppress(AttributeError, PermissionError):  # no owners here; not ours to give away
            os.chown(path, like.st_uid, like.st_gid)
    path.chmod(stat.S_IMODE(like.st_mode))  # last: a change of owner takes bits away


def _back_up(path: Path) -> None:
    """Keep the file under its name with ``.bak`` behind it."""
    name = path.with_name(f"{path.name}.bak")
    try:
        os.link(path, name, follow_symlinks=False)
    except FileExistsError:
        if not name.samefile(path):  # the same where an earlier run was cut off right here
            raise NotWrittenError(f"{name.name} exists already; move it away; not written") from None
    except OSError:  # a file system without hard links
        with path.open("rb") as old, name.open("xb") as new:
            shutil.copyfileobj(old, new)
        shutil.copystat(path, name)


@contextmanager
def rewriting(old: IO[bytes], path: Path, *, in_place: bool) -> Iterator[Rewrite]:
    """A new text for the place ``path``, forgotten unless it is finished."""
    new = Rewrite(old, path, in_place=in_place)
    try:
        yield new
    finally:
        new.discard()


def opened_without_links(path: Path) -> IO[bytes]:
    """A file open for reading that may be replaced afterwards.

    Raises:
        NotWrittenError: it is a symbolic link.
        OSError: it cannot be opened.
    """
    if path.is_symlink():
        raise NotWrittenError("a symbolic link is not followed; not written")
    return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)), "rb")


def refuse_read_only(path: Path) -> None:
    """Leave a file alone that was made read-only, also when we could write it all the same.

    Raises:
        NotWrittenError: it is read-only.
    """
    mode = path.stat(follow_symlinks=False).st_mode
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise NotWrittenError("it is read-only; not written (--out puts repaired files elsewhere)")
