"""Repairs the files of a data set into a directory: atomic, resumable by file, on all processors.

For each file the directory gets three files: the usable rows under the same name, the quarantined
rows below ``quarantine/``, and a record below ``.chatmend/``. If changes are recorded, they are
stored next to the record. The record is written last, so a file without one is repaired again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from chatmend.cli.data_changes import ChangeFile, ChangeReader, ChangeWriter
from chatmend.cli.data_counts import Counts
from chatmend.cli.data_examples import Examples
from chatmend.cli.data_files import FILE_TYPES, FileType
from chatmend.cli.data_part import Outcome, Part, Task
from chatmend.cli.leftovers import open_temporary
from chatmend.data.change_table import Origin
from chatmend.data.formats import FORMATS
from chatmend.data.renamed import Renamed, named
from chatmend.errors import ReplayError
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


@dataclass(slots=True)
class Summary:
    """What a run reports about one file."""

    counts: Counts = field(default_factory=Counts)
    examples: Examples = field(default_factory=Examples)


class Outputs:
    """The files that one file of a data set is written to."""

    def __init__(
        self, out: Path, file: DataFile, task: Task, replayed: ChangeFile | None = None
    ) -> None:
        """Name the files; nothing is written yet."""
        relative = file.relative_path
        self.good = out / relative
        suffix = file.type.quarantine_suffix
        bad = relative if relative.suffix == suffix else f"{relative}{suffix}"
        self.bad = out / QUARANTINE / bad
        self.record = out / RECORDS / f"{relative}.json"
        self.changes = out / RECORDS / f"{relative}.changes.parquet"
        self.is_complete = False
        """Whether this run, or an earlier one, has written all of them."""
        self._file, self._task, self._replayed = file, task, replayed

    def read_record(self) -> Summary | None:
        """Return the summary of an earlier run that wrote the same; None if there is none."""
        if self._file.chunks is not None:
            return None  # a database changes
        try:
            record = json.loads(self.record.read_bytes())
            sizes, examples = self._sizes(), Examples.from_json(record["examples"])
            is_same = (
                record["of"] == self._fingerprint()
                and all(record["sizes"].get(name) == size for name, size in sizes.items())
                and self._task.examples in ("", examples.content)
            )
            return Summary(Counts.from_json(record["counts"]), examples) if is_same else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write_record(self, summary: Summary) -> None:
        """Record that the files are complete."""
        record = {
            "of": self._fingerprint(),
            "sizes": self._sizes(),
            "counts": summary.counts.to_json(),
            "examples": summary.examples.to_json(),
        }
        with replacing(self.record) as file:
            file.write(json.dumps(record, indent=1).encode())

    def _sizes(self) -> dict[str, int]:
        """Return the sizes of all files that the options require."""
        paths = {"good": self.good, "bad": self.bad}
        if self._task.records_changes:
            paths["changes"] = self.changes
        return {name: path.stat().st_size for name, path in paths.items()}

    def _fingerprint(self) -> str:
        """Return a digest of everything that the usable and quarantined rows depend on."""
        if self._file.chunks is not None:
            return "not a file"
        parts: list[object] = [version("chatmend"), *_state(self._file.path)]
        if self._replayed is not None:
            parts += ["replay", *_state(self._replayed.path)]
        elif (settings := self._task.settings) is not None:
            policy = describe_policy(settings.policy)
            parts += [settings.target.name, policy, settings.incomplete]
            parts += [self._task.column, self._task.layout]
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


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


@dataclass(frozen=True, slots=True)
class Run:
    """What all files of a run share."""

    task: Task
    pool: tuple[Executor, int] | None
    """The worker processes and their number; None for one process."""
    replayed: ChangeFile | None = None
    """The changes to replay; None for a repair."""


def repair_file(
    file: DataFile, outputs: Outputs, run: Run, advance: Callable[[float], None]
) -> Summary:
    """Repair one file into its outputs.

    Args:
        file: the file.
        outputs: where its rows are written.
        run: the options and the worker processes.
        advance: called with the share of the file that is done.

    Raises:
        LayoutError: the layout of the rows is unknown.
        ReplayError: the changes to replay do not match the rows.
        OSError: a file cannot be read or written.
    """
    summary = Summary(examples=Examples(run.task.examples))
    with ExitStack() as stack:
        bad, good = (stack.enter_context(replacing(path)) for path in (outputs.bad, outputs.good))
        writers = list(file.type.writers(file.path, good, bad))
        if run.task.records_changes:
            writers.append(ChangeWriter(stack.enter_context(replacing(outputs.changes))))
        try:
            for outcome, share in _outcomes(file, run):
                summary.counts.merge(outcome.counts)
                summary.examples.merge(outcome.examples)
                payloads = (outcome.good, outcome.bad, outcome.changes)
                for writer, payload in zip(writers, payloads, strict=False):
                    writer.write(payload)
                advance(share)
        finally:
            for writer in writers:
                writer.finish()
    outputs.write_record(summary)
    return summary


def _outcomes(file: DataFile, run: Run) -> Iterator[tuple[Outcome, float]]:
    """Yield the outcome of each chunk in order, with its share of the file."""
    pending: deque[tuple[Future[Outcome], float]] = deque()
    for part, layout, share in _parts(file, run):
        if run.pool is None:
            yield file.type.process(part, layout, run.task), share
            continue
        executor, number = run.pool
        if len(pending) >= number * _MAX_PENDING:
            done, done_share = pending.popleft()
            yield done.result(), done_share
        suffix = file.relative_path.suffix.lower()
        pending.append((executor.submit(_process, suffix, part, _reference(layout)), share))
    for done, done_share in pending:
        yield done.result(), done_share


def _parts(file: DataFile, run: Run) -> Iterator[tuple[Part, Format, float]]:
    """Yield the chunks of a file with the number of their first row and the layout."""
    name = file.relative_path.as_posix()
    reader = run.replayed.read(name) if run.replayed else None
    layout = None if reader is None else _recorded_layout(reader)
    origin, first = Origin(name), 0
    for chunk, share in file.chunks() if file.chunks else file.type.chunks(file.path):
        if layout is None:
            layout = file.type.layout(chunk, run.task)
            origin = origin if layout is None else _origin(origin, layout, run.task)
        after = first + file.type.count(chunk)
        recorded = None if reader is None else reader.take_until(after)
        # A chunk without a readable row is quarantined, with any layout.
        yield Part(chunk, first, origin, recorded), layout or FORMATS["messages"], share
        first = after
    if reader is not None and (entry := reader.first) is not None:
        raise ReplayError(f"changes of row {entry['row']}, but the file has {first} rows")


def _recorded_layout(reader: ChangeReader) -> Format:
    """Return the layout for a replay; without changes every row is valid and any layout will do."""
    if (entry := reader.first) is None or entry["layout"] is None:
        return FORMATS["messages"]
    return _layout(entry["layout"], entry["column"], entry["read_as"] or "")


def _origin(origin: Origin, layout: Format, task: Task) -> Origin:
    name, column, read_as = _reference(layout)
    settings = task.settings
    target, policy = (
        (settings.target.name, describe_policy(settings.policy)) if settings else (None, None)
    )
    return replace(
        origin, layout=name, column=column, read_as=read_as or None, target=target, policy=policy
    )


def _reference(layout: Format) -> tuple[str, str | None, str]:
    """Return what identifies a layout in another process."""
    if isinstance(layout, Renamed):
        return layout.NAME, layout.column, layout.usual_name
    return layout.NAME, None, ""


def _layout(name: str, column: str | None, usual_name: str) -> Format:
    known = named(name, None)
    return known if column is None else Renamed(known, column, usual_name)


_worker_task: Task | None = None


def set_worker_task(task: Task) -> None:
    """Keep the options in a worker process, where they are needed for every chunk."""
    global _worker_task  # noqa: PLW0603 - a process has no other place for its state
    _worker_task = task


def _process(suffix: str, part: Part, reference: tuple[str, str | None, str]) -> Outcome:
    assert _worker_task is not None  # noqa: S101 - the initializer has set it
    return FILE_TYPES[suffix].process(part, _layout(*reference), _worker_task)
