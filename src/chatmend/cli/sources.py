"""The files that a command is about: those named, and all conversations in the directories named."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from chatmend.sessions.repairs import is_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from chatmend.cli.walk import Seen

_LINES = frozenset({".jsonl", ".ndjson"})
_KNOWN = _LINES | {".json"}
_SESSION = ".md"
BUFFER = 1 << 17
"""Bytes to read at a time: long lines are put together from few pieces."""
_BLOCK = 1 << 20
_LOOK = 1 << 14


@dataclass(frozen=True, slots=True)
class Source:
    """A file with conversations."""

    path: Path
    inside: Path
    """Where it lies inside the directory that was named; of a file that was named itself its name."""
    found: bool
    """Whether it was found in a directory. What holds no conversation is passed over there, and a fault if named."""
    size: int = 0
    """Bytes."""
    ahead: Callable[[os.stat_result], list[tuple[Block, Seen]] | None] | None = field(default=None, compare=False)
    """What another process has seen in it already, if it is still the file that it was."""

    @property
    def has_lines(self) -> bool:
        """Whether it holds one conversation a line."""
        return self.path.suffix.lower() in _LINES

    def title(self, line: int) -> str:
        """How the conversation that begins in a line is called."""
        return f"{self.path}: line {line}" if self.has_lines else str(self.path)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found under the names that a command was given."""

    sources: list[Source]
    links: int = 0
    """Symbolic links in directories, which are not followed."""


def discover(names: Iterable[Path], fault: Callable[[str], None], *, without: Path | None = None) -> Discovery:
    """Every file that is named, and every ``.json``, ``.jsonl`` and ``.ndjson`` file below a directory that is named.

    So is every Markdown file there that is a session. Hidden files and directories, symbolic links in directories, and
    the directory ``without`` are passed over.
    """
    sources: dict[str, Source] = {}
    # By their whole names: a file that is named twice, or in a directory that is named, too, is one.
    links = 0
    for name in names:
        if str(name) == "-":
            fault("-: standard input is not read; put it into a file and name that")
        elif not name.is_dir():
            sources.setdefault(_whole(name), Source(name, Path(name.name), found=False, size=_size(name)))
        else:
            for path in _below(name, fault, without):
                if path.is_symlink():
                    links += 1
                else:
                    inside = path.relative_to(name)
                    sources.setdefault(_whole(path), Source(path, inside, found=True, size=_size(path)))
    return Discovery([*sources.values()], links)


def _whole(path: Path) -> str:
    return str(path.absolute())  # without a look at the disk; '..' behind a link is not what it seems


def _below(root: Path, fault: Callable[[str], None], without: Path | None) -> Iterator[Path]:
    def name_it(error: OSError) -> None:
        fault(f"{error.filename}: could not be read: {error.strerror}")

    apart = without.resolve() if without else None
    for folder, folders, files in os.walk(root, onerror=name_it):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if name[0] != "." and (here / name).resolve() != apart)
        for name in sorted(files):
            path = here / name
            if name[0] != "." and (path.suffix.lower() in _KNOWN or _holds_session(path)):
                yield path


def _holds_session(path: Path) -> bool:
    """Whether a Markdown file is a session of ours; others are not about us."""
    if path.suffix != _SESSION or path.is_symlink():
        return False
    try:
        with path.open("rb") as file:
            return is_session(file.read(64))
    except OSError:
        return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a file that begins and ends with whole lines."""

    start: int
    stop: int
    """Offsets in bytes."""

    @property
    def size(self) -> int:
        """Bytes."""
        return self.stop - self.start

    def pieces(self, file: IO[bytes], *, lines: bool) -> Iterator[bytes]:
        """The lines of the block, each with its end and held one at a time; or else all of it."""
        file.seek(self.start)
        left = self.size
        if not lines:
            yield file.read(left)
            return
        while left > 0 and (raw := file.readline(left)):  # a carriage return alone ends no line
            left -= len(raw)
            yield raw


def blocks(source: Source, file: IO[bytes]) -> Iterator[Block]:
    """The blocks of a file: some lines of JSONL at a time, or else all of it.

    Raises:
        OSError: it is a pipe or a device, in which one cannot go back.
    """
    state = os.fstat(file.fileno())
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "not a regular file; redirect it into one first")
    at, size = 0, state.st_size
    if not source.has_lines:
        yield Block(0, size)
        return
    while at < size:
        yield Block(at, at := _line_end(file, min(at + _BLOCK, size)))


def _line_end(file: IO[bytes], at: int) -> int:
    """Where the line ends that an offset is in; a line of any length is looked through without being held."""
    file.seek(at)
    while raw := file.read(_LOOK):
        if (end := raw.find(b"\n")) >= 0:
            return at + end + 1
        at += len(raw)
    return at
