"""Standard input and compressed files as plain files, and the compression of what is written."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from chatmend.jsontext import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.cli.sources import InputFile

STANDARD_INPUT = "-"
PACKED_SUFFIXES = frozenset({".gz", ".zst"})


class UnpackingError(OSError):
    """A file cannot be decompressed; ``strerror`` gives the reason."""

    def __init__(self, reason: str) -> None:
        """Keep the reason as ``strerror``, as errors of the operating system do."""
        super().__init__(0, reason)


@contextmanager
def plain(source: InputFile) -> Iterator[InputFile]:
    """Provide the source with a plain file as its content, which exists during the context.

    Raises:
        UnpackingError: it cannot be decompressed.
        OSError: it cannot be read.
    """
    if not source.is_packed:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="chatmend-") as folder:
        content = Path(folder) / "content"
        with content.open("wb") as new:
            _unpack(source, new)
        lines = _has_lines(content) if source.is_standard_input else None
        yield replace(source, content=content, lines=lines, size=content.stat().st_size)


def _unpack(source: InputFile, new: IO[bytes]) -> None:
    if source.is_standard_input:
        shutil.copyfileobj(sys.stdin.buffer, new)
        return
    kind = source.path.suffix.lower()
    try:
        with source.path.open("rb") as packed, _opened(packed, kind, "rb") as old:
            shutil.copyfileobj(old, new)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnpackingError(f"damaged: {error}") from error
    except Exception as error:
        if isinstance(error, OSError):
            raise
        raise UnpackingError(f"damaged: {error}") from error  # errors of zstd


def pack(old: IO[bytes], new: IO[bytes], suffix: str) -> None:
    """Compress the rest of a file as its suffix says; the same content gives the same bytes."""
    with _opened(new, suffix.lower(), "wb") as packed:
        shutil.copyfileobj(old, packed)


def _opened(file: IO[bytes], suffix: str, mode: str) -> Any:  # noqa: ANN401 - three libraries
    if suffix == ".gz":
        return gzip.GzipFile(filename="", mode=mode, fileobj=file, mtime=0)
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name).ZstdFile(file, mode)
        except ImportError:
            continue
    try:
        return import_module("zstandard").open(file, mode, closefd=False)
    except ImportError:
        raise UnpackingError(
            "zstd needs Python 3.14 or the extra 'zstd': pip install 'chatmend[zstd]'"
        ) from None


def _has_lines(path: Path) -> bool:
    """Whether a text is one conversation per line: its first line is JSON, and others follow."""
    with path.open("rb") as file:
        lines = (line for line in file if line.strip())
        first, second = next(lines, b""), next(lines, b"")
    try:
        if second:
            parse(first.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return bool(second)
