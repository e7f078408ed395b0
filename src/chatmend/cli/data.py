"""``chatmend data``: repairs training data and stored corpora of any size."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from chatmend.cli.data_counts import Counts
from chatmend.cli.data_files import FILE_TYPES, Task
from chatmend.cli.data_postgres import is_database, open_database
from chatmend.cli.data_run import (
    QUARANTINE,
    DataFile,
    Outputs,
    repair_file,
    set_worker_task,
)
from chatmend.cli.leftovers import remove_leftovers
from chatmend.cli.options import (
    PolicyName,
    PolicySettings,
    TargetName,
    parse_policy,
    parse_target,
)
from chatmend.cli.terminal import EXIT_ERROR, EXIT_FINDINGS, count, error_exit, print_line
from chatmend.cli.workers import available_processors
from chatmend.data.formats import FORMATS, format_named
from chatmend.data.rows import (
    INCOMPLETE,
    QUARANTINED,
    STATUSES,
    make_settings,
)
from chatmend.errors import LayoutError, PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.cli.data_run import Outputs as _Outputs

_MIN_PARALLEL_BYTES = 8 << 20
"""The size of all files together from which worker processes are started."""
_MAX_REASONS = 10
"""How many reasons for a quarantine the summary lists."""


def data(  # noqa: PLR0913 - a command's options
    *,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="JSONL, JSON, CSV or Parquet files, directories with such files, or the address "
            "of a LiteLLM database (postgresql://...), whose spend logs are read.",
            show_default=False,
        ),
    ],
    target: TargetName = "",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the usable rows to this directory, with the same file names, and the "
            "quarantined rows below DIR/quarantine. Required.",
            show_default=False,
        ),
    ] = None,
    purpose: Annotated[
        str,
        typer.Option(
            metavar="PURPOSE",
            help="train: the last answer stays the end, thinking is kept, images are unchanged. "
            "serve: the conversations are sent to the target.",
        ),
    ] = "train",
    incomplete: Annotated[
        str,
        typer.Option(
            metavar="CHOICE",
            help="Rows with a tool call without a result, or a result without a call: repair them "
            "with a placeholder or as text, or quarantine them.",
        ),
    ] = INCOMPLETE[0],
    column: Annotated[
        str | None,
        typer.Option(help="The column with the messages, if its name is unusual."),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The layout of the rows, if it is not recognised: {', '.join(FORMATS)}.",
        ),
    ] = None,
    policy: PolicyName = None,
    settings: PolicySettings = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", metavar="N", min=0, help="Number of processes; 0: one per processor."
        ),
    ] = 0,
    table: Annotated[
        str,
        typer.Option(help="The table of spend logs in a LiteLLM database."),
    ] = "LiteLLM_SpendLogs",
) -> None:
    """Repair training data or stored conversations; rows that cannot be repaired are set aside.

    Valid rows are unchanged. A file that an earlier run with the same options has completed is
    skipped. Files are replaced atomically.

    Exit status: 0 all rows are usable, 1 some are quarantined, 2 a file could not be read or
    written, its layout is unknown, or an argument is invalid.
    """
    if out is None:
        raise error_exit("--out is missing, for example --out repaired/")
    if out.exists() and not out.is_dir():
        raise error_exit(f"--out requires a directory, but {out} is a file")
    task = _task(target, purpose, incomplete, column, layout, policy, settings)
    sources = _discover(files, out, table)
    report = _Report(Console(), Console(stderr=True))
    report.leftovers = _remove_leftovers(out)
    with _worker_pool(sources, task, jobs) as pool, report.progress(sources):
        for source in sources:
            report.start(source)
            outputs = Outputs(out, source, task)
            _repair(source, outputs, task, pool, report)
    report.print_summary(out)
    raise typer.Exit(report.exit_status)


def _task(  # noqa: PLR0913, PLR0917 - the options of the command
    target: str,
    purpose: str,
    incomplete: str,
    column: str | None,
    layout: str | None,
    policy: str | None,
    settings: list[str] | None,
) -> Task:
    """Return the options that apply to every file.

    Raises:
        typer.Exit: an option is invalid.
    """
    named = policy or ("train" if purpose == "train" else None)
    chosen = parse_policy(named, settings)
    try:
        if layout is not None:
            format_named(layout)
        row_settings = make_settings(
            parse_target(target), purpose=purpose, policy=chosen, incomplete=incomplete
        )
    except (PolicyError, LayoutError) as error:
        raise error_exit(f"--{error}" if isinstance(error, PolicyError) else str(error)) from error
    return Task(row_settings, column, layout)


def _discover(names: list[str], out: Path, table: str) -> list[DataFile]:
    """Return the files of the command.

    Raises:
        typer.Exit: a file does not exist or has an unknown type, or two have the same output.
    """
    found: list[DataFile] = []
    for name in names:
        if is_database(name):
            found.append(open_database(name, table))
        elif (path := Path(name)).is_dir():
            found += [
                DataFile(inner, inner.relative_to(path), FILE_TYPES[inner.suffix.lower()])
                for inner in sorted(path.rglob("*"))
                if inner.suffix.lower() in FILE_TYPES
                and inner.is_file()
                and not any(part.startswith(".") for part in inner.relative_to(path).parts)
                and not inner.resolve().is_relative_to(out.resolve())
            ]
        else:
            found.append(_named_file(path))
    paths = Counter(file.relative_path for file in found)
    if twice := [path for path, number in paths.items() if number > 1]:
        raise error_exit(
            f"two files are named {str(twice[0])!r} and would overwrite each other in {out}; "
            "repair them separately"
        )
    if inner := [path for path in paths if path.parts[0] == QUARANTINE]:
        raise error_exit(f"{inner[0]}: the folder {QUARANTINE!r} is for output; rename it")
    if same := [
        file.path for file in found if (out / file.relative_path).resolve() == file.path.resolve()
    ]:
        raise error_exit(f"{same[0]} is in the output directory; choose another --out")
    if not found:
        raise error_exit(f"no {', '.join(FILE_TYPES)} file found")
    return found


def _named_file(path: Path) -> DataFile:
    if not path.is_file():
        raise error_exit(f"{path}: no such file")
    if path.suffix.lower() not in FILE_TYPES:
        raise error_exit(
            f"{path}: unknown file type {path.suffix!r}; known: {', '.join(FILE_TYPES)}"
        )
    return DataFile(path, Path(path.name), FILE_TYPES[path.suffix.lower()])


def _remove_leftovers(out: Path) -> int:
    folders = [out, *(path for path in out.rglob("*") if path.is_dir())] if out.is_dir() else []
    return remove_leftovers(folders)


@contextmanager
def _worker_pool(
    sources: list[DataFile], task: Task, jobs: int
) -> Iterator[tuple[ProcessPoolExecutor, int] | None]:
    """Start worker processes if there is enough work; enter this before any thread is started."""
    number = jobs or available_processors()
    is_small = all(source.chunks is None for source in sources) and (
        sum(source.size for source in sources) < _MIN_PARALLEL_BYTES
    )
    if number == 1 or is_small:
        yield None
        return
    start = "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"
    with ProcessPoolExecutor(
        number, get_context(start), initializer=set_worker_task, initargs=(task,)
    ) as pool:
        pool.submit(int).result()  # forks all workers, before the progress bar starts a thread
        yield pool, number


def _repair(
    source: DataFile,
    outputs: _Outputs,
    task: Task,
    pool: tuple[ProcessPoolExecutor, int] | None,
    report: _Report,
) -> None:
    """Repair one file, or skip it if an earlier run has completed it."""
    try:
        counts = outputs.read_record()
        if counts is not None:
            report.skipped += 1
            report.advance(1.0)
        else:
            counts = repair_file(source, outputs, task, pool, report.advance)
            report.written += 1
        report.counts.merge(counts)
    except (LayoutError, ModuleNotFoundError) as error:
        report.print_error(f"{source.path}: {error}")
    except OSError as error:
        report.print_error(
            f"{source.path}: could not be read or written: {error.strerror or error}"
        )
    except ValueError as error:  # pyarrow's errors, such as a truncated file
        report.print_error(f"{source.path}: could not be read: {error}")


class _Report:
    """Shows the progress of a run and prints its summary."""

    def __init__(self, console: Console, errors: Console) -> None:
        self.counts = Counts()
        self.written = self.skipped = self.leftovers = self.errors = 0
        self._console, self._error_console = console, errors
        self._progress: Progress | None = None
        self._size = 0

    @contextmanager
    def progress(self, sources: list[DataFile]) -> Iterator[None]:
        """Show a progress bar, if standard error is a terminal."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            DownloadColumn(),
            TimeRemainingColumn(),
        )
        if not self._error_console.is_terminal:
            yield
            return
        with Progress(*columns, console=self._error_console, transient=True) as self._progress:
            self._progress.add_task("", total=sum(source.size for source in sources) or None)
            yield

    def start(self, source: DataFile) -> None:
        """Name the file that is being repaired."""
        self._size = source.size
        if self._progress:
            task = self._progress.task_ids[0]
            self._progress.update(task, description=source.relative_path.name)

    def advance(self, share: float) -> None:
        """Advance the progress bar by a share of the current file."""
        if self._progress:
            self._progress.advance(self._progress.task_ids[0], share * self._size)

    def print_error(self, text: str) -> None:
        """Count and print an error."""
        self.errors += 1
        print_line(self._error_console, text, "red")

    def print_summary(self, out: Path) -> None:
        """Print the number of rows by outcome, rule and reason."""
        counts = self.counts
        for (code, rule, effect), number in sorted(counts.rules.items()):
            print_line(self._console, f"{number:>9,}  {code} {rule} ({effect})")
        if counts.reasons:
            print_line(self._console, f"Quarantined, in {out / QUARANTINE}:", "bold")
        for reason, number in counts.reasons.most_common(_MAX_REASONS):
            print_line(self._console, f"{number:>9,}  {reason}", "yellow")
        rows = ", ".join(f"{counts.rows[status]:,} {status}" for status in STATUSES)
        parts = [
            f"{count(counts.total, 'row')}: {rows}",
            f"{count(self.written, 'file')} written",
            f"{count(self.skipped, 'file')} already complete" if self.skipped else "",
            f"{count(self.leftovers, 'temporary file')} of a killed run removed"
            if self.leftovers
            else "",
            f"{count(self.errors, 'error')}, see above" if self.errors else "",
        ]
        print_line(self._console, "; ".join(filter(None, parts)), "bold")

    @property
    def exit_status(self) -> int:
        """2 after an error, 1 if rows are quarantined, otherwise 0."""
        if self.errors:
            return EXIT_ERROR
        return EXIT_FINDINGS if self.counts.rows[QUARANTINED] else 0
