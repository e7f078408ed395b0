"""Finds the files of a command: those named, and all conversations in the directories named."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from chatmend.cli.advice import empty_file
from chatmend.cli.unpacking import PACKED_SUFFIXES, STANDARD_INPUT
from chatmend.sessions.repairs import is_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from chatmend.cli.processing import BlockOutcome

_LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})
_SUFFIXES = _LINE_SUFFIXES | {".json"}
_STANDARD_INPUT = Path(STANDARD_INPUT)
_SESSION_SUFFIX = ".md"
BUFFER = 1 << 17
"""Bytes per read, large so that long lines need few reads."""
_BLOCK_BYTES = 1 << 20
"""Approximate size of a block; it ends at the next line ending."""
_LINE_CHUNK = 1 << 14


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file with conversations."""

    path: Path
    relative_path: Path
    """The path below the named directory, or the file name if the file itself was named."""
    found: bool
    """Whether the file was found in a directory.

    A found file without a conversation is skipped; for a named file it is an error.
    """
    size: int = 0
    """Size in bytes."""
    content: Path | None = None
    """A plain file with the content, for standard input and compressed files."""
    lines: bool | None = None
    """Whether there is one conversation per line; None: the suffix of the path decides."""
    prefetched: Callable[[os.stat_result], list[tuple[Block, BlockOutcome]] | None] | None = field(
        default=None, compare=False
    )
    """Returns the result of another process, or None if the file has changed since."""

    @property
    def has_lines(self) -> bool:
        """Whether the file contains one conversation per line."""
        return _suffix(self.path) in _LINE_SUFFIXES if self.lines is None else self.lines

    @property
    def is_standard_input(self) -> bool:
        """Whether it is standard input, not a file."""
        return self.path == _STANDARD_INPUT

    @property
    def is_packed(self) -> bool:
        """Whether ``plain`` has to provide the content."""
        return self.is_standard_input or self.path.suffix.lower() in PACKED_SUFFIXES

    @property
    def plain_path(self) -> Path:
        """The file to read: the plain content, or the file itself."""
        return self.content or self.path

    def title(self, line: int) -> str:
        """Return the name of a conversation for reports: the path, and for JSONL the line."""
        return f"{self.path}: line {line}" if self.has_lines else str(self.path)


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files that were found for the arguments of a command."""

    sources: list[InputFile]
    links: int = 0
    """Number of symbolic links in directories, which are not followed."""


def discover(
    names: Iterable[Path], report_error: Callable[[str], None], *, excluded: Path | None = None
) -> Discovery:
    """Return all named files and all conversation files in the named directories.

    In directories these are ``.json``, ``.jsonl`` and ``.ndjson`` files, also with ``.gz`` or
    ``.zst``, and Markdown files that are sessions. Hidden files and directories, symbolic links and
    the directory ``excluded`` are skipped. A file that is named twice is returned once.
    """
    sources: dict[str, InputFile] = {}
    links = 0
    for name in names:
        if name == _STANDARD_INPUT:
            sources.setdefault(STANDARD_INPUT, InputFile(name, name, found=False))
        elif name.is_file() and not _size(name):
            report_error(f"{name}: {empty_file()}")
        elif not name.is_dir():
            sources.setdefault(
                _absolute(name), InputFile(name, Path(name.name), found=False, size=_size(name))
            )
        else:
            faults: list[str] = []
            paths = list(_files_below(name, faults.append, excluded))
            for path in paths:
                if path.is_symlink():
                    links += 1
                else:
                    relative_path = path.relative_to(name)
                    sources.setdefault(
                        _absolute(path),
                        InputFile(path, relative_path, found=True, size=_size(path)),
                    )
            if not paths and not faults:
                faults.append(
                    f"{name}: holds no .json, .jsonl or .ndjson file and no session of chatmend; "
                    "name the files, or the directory that holds them"
                )
            for fault in faults:
                report_error(fault)
    return Discovery([*sources.values()], links)


def _suffix(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of its compression."""
    name = path.with_suffix("") if path.suffix.lower() in PACKED_SUFFIXES else path
    return name.suffix.lower()


def _absolute(path: Path) -> str:
    # `resolve` would access the disk; '..' after a symbolic link cannot be removed without that.
    return str(path.absolute())


def _files_below(
    root: Path, report_error: Callable[[str], None], excluded: Path | None
) -> Iterator[Path]:
    def report(error: OSError) -> None:
        report_error(f"{error.filename}: could not be read: {error.strerror}")

    excluded_path = excluded.resolve() if excluded else None
    for folder, folders, files in os.walk(root, onerror=report):
        here = Path(folder)
        folders[:] = sorted(
            name for name in folders if name[0] != "." and (here / name).resolve() != excluded_path
        )
        for name in sorted(files):
            path = here / name
            if name[0] != "." and (_suffix(path) in _SUFFIXES or _holds_session(path)):
                yield path


def _holds_session(path: Path) -> bool:
    """Whether a Markdown file is a session of chatmend; other Markdown files are ignored."""
    if path.suffix != _SESSION_SUFFIX or path.is_symlink():
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
    """A part of a file that consists of complete lines."""

    start: int
    stop: int
    """Offsets in bytes."""

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.stop - self.start

    def pieces(self, file: IO[bytes], *, lines: bool) -> Iterator[bytes]:
        """Yield the lines of the block with their line endings, or else the whole block."""
        file.seek(self.start)
        left = self.size
        if not lines:
            yield file.read(left)
            return
        while left > 0 and (raw := file.readline(left)):  # only "\n" ends a line, not "\r"
            left -= len(raw)
            yield raw


def blocks(source: InputFile, file: IO[bytes]) -> Iterator[Block]:
    """Yield the blocks of a file: about 1 MiB of complete lines, or the whole file if not JSONL.

    Raises:
        OSError: the file is a pipe or a device, which cannot be read twice.
    """
    state = os.fstat(file.fileno())
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "not a regular file; save its content to a file first")
    at, size = 0, state.st_size
    if not source.has_lines:
        yield Block(0, size)
        return
    while at < size:
        yield Block(at, at := _line_end(file, min(at + _BLOCK_BYTES, size)))


def _line_end(file: IO[bytes], at: int) -> int:
    """Return the end of the line that contains an offset, without keeping the line in memory."""
    file.seek(at)
    while raw := file.read(_LINE_CHUNK):
        if (end := raw.find(b"\n")) >= 0:
            return at + end + 1
        at += len(raw)
    return at
