"""Repairs the files of a data set into a directory: atomic, resumable by file, on all processors.

For each file the directory gets three files: the usable rows under the same name, the quarantined
rows below ``quarantine/``, and a record below ``.chatmend/``. The record is written last, so a file
without one is repaired again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from chatmend.cli.data_counts import Counts
from chatmend.cli.data_files import FILE_TYPES, FileType, Outcome, Task
from chatmend.cli.leftovers import open_temporary
from chatmend.data.renamed import Renamed, named
from chatmend.errors import LayoutError
from chatmend.policy import describe_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor, Future

    from chatmend.data.formats import Format

QUARANTINE, RECORDS = "quarantine", ".chatmend"
_MAX_PENDING = 3
"""Submitted chunks per process; this bounds the memory of the main process."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a data set and its path below the output directory."""

    path: Path
    relative_path: Path
    type: FileType
    chunks: Callable[[], Iterator[tuple[Any, float]]] | None = None
    """Yields the chunks of a source that is not a file."""

    @property
    def size(self) -> int:
        """Size in bytes; 0 if it is not known."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


class Outputs:
    """The files that one file of a data set is written to."""

    def __init__(self, out: Path, file: DataFile, task: Task) -> None:
        """Name the files; nothing is written yet."""
        relative = file.relative_path
        self.good = out / relative
        suffix = file.type.quarantine_suffix
        bad = relative if relative.suffix == suffix else f"{relative}{suffix}"
        self.bad = out / QUARANTINE / bad
        self.record = out / RECORDS / f"{relative}.json"
        self._file, self._task = file, task

    def read_record(self) -> Counts | None:
        """Return the counts of an earlier run that wrote the same; None if there is none."""
        try:
            record = json.loads(self.record.read_bytes())
            sizes = {str(path): path.stat().st_size for path in (self.good, self.bad)}
            is_same = record["of"] == self._fingerprint() and [*sizes.values()] == record["sizes"]
            return Counts.from_json(record["counts"]) if is_same else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write_record(self, counts: Counts) -> None:
        """Record that the files are complete."""
        record = {
            "of": self._fingerprint(),
            "sizes": [path.stat().st_size for path in (self.good, self.bad)],
            "counts": counts.to_json(),
        }
        with replacing(self.record) as file:
            file.write(json.dumps(record, indent=1).encode())

    def _fingerprint(self) -> str:
        """Return a digest of everything that the output depends on."""
        if self._file.chunks is not None:
            return "not a file"  # and never complete, because a database changes
        state = self._file.path.stat()
        task, settings = self._task, self._task.settings
        policy = describe_policy(settings.policy)
        options = (settings.target.name, policy, settings.incomplete, task.column, task.layout)
        parts = (state.st_size, state.st_mtime_ns, version("chatmend"), *options)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Provide a new file that replaces ``path`` at the end, but not after an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = open_temporary(path.parent)
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())
        Path(file.name).chmod(0o666 & ~_umask())
        Path(file.name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(file.name).unlink()
        raise
    finally:
        file.close()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def repair_file(
    file: DataFile,
    outputs: Outputs,
    task: Task,
    pool: tuple[Executor, int] | None,
    advance: Callable[[float], None],
) -> Counts:
    """Repair one file into its outputs.

    Args:
        file: the file.
        outputs: where its rows are written.
        task: the options.
        pool: the worker processes and their number; None for one process.
        advance: called with the share of the file that is done.

    Raises:
        LayoutError: the layout of the rows is unknown.
        OSError: a file cannot be read or written.
    """
    counts = Counts()
    with replacing(outputs.bad) as bad, replacing(outputs.good) as good:
        writers = file.type.writers(file.path, good, bad)
        try:
            for outcome, share in _outcomes(file, task, pool):
                counts.merge(outcome.counts)
                for writer, payload in zip(writers, (outcome.good, outcome.bad), strict=True):
                    writer.write(payload)
                advance(share)
        finally:
            for writer in writers:
                writer.finish()
    outputs.write_record(counts)
    return counts


def _outcomes(
    file: DataFile, task: Task, pool: tuple[Executor, int] | None
) -> Iterator[tuple[Outcome, float]]:
    """Yield the outcome of each chunk in order, with its share of the file."""
    layout: Format | None = None
    pending: deque[tuple[Future[Outcome], float]] = deque()
    for chunk, share in file.chunks() if file.chunks else file.type.chunks(file.path):
        if layout is None and (layout := file.type.layout(chunk, task)) is None:
            raise LayoutError("no row to recognise the layout from")
        if pool is None:
            yield file.type.process(chunk, layout, task), share
            continue
        executor, number = pool
        if len(pending) >= number * _MAX_PENDING:
            done, done_share = pending.popleft()
            yield done.result(), done_share
        suffix = file.relative_path.suffix.lower()
        pending.append((executor.submit(_process, suffix, chunk, _reference(layout)), share))
    for done, done_share in pending:
        yield done.result(), done_share


def _reference(layout: Format) -> tuple[str, str | None, str]:
    """Return what identifies a layout in another process."""
    if isinstance(layout, Renamed):
        return layout.NAME, layout.column, layout.usual_name
    return layout.NAME, None, ""


_worker_task: Task | None = None


def set_worker_task(task: Task) -> None:
    """Keep the options in a worker process, where they are needed for every chunk."""
    global _worker_task  # noqa: PLW0603 - a process has no other place for its state
    _worker_task = task


def _process(suffix: str, chunk: Any, reference: tuple[str, str | None, str]) -> Outcome:  # noqa: ANN401
    assert _worker_task is not None  # noqa: S101 - the initializer has set it
    name, column, usual_name = reference
    layout = named(name, None)
    if column is not None:
        layout = Renamed(layout, column, usual_name)
    return FILE_TYPES[suffix].process(chunk, layout, _worker_task)
