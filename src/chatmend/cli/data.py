"""``chatmend data``: repairs training data and stored corpora of any size."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend.cli.data_changes import ChangeFile, join_changes
from chatmend.cli.data_page import page
from chatmend.cli.data_part import Task
from chatmend.cli.data_report import DataReport
from chatmend.cli.data_run import DataFile, Outputs, Run, repair_file, replacing, set_worker_task
from chatmend.cli.data_sources import discover
from chatmend.cli.leftovers import remove_leftovers
from chatmend.cli.options import (
    PolicyName,
    PolicySettings,
    TargetName,
    parse_policy,
    parse_target,
)
from chatmend.cli.terminal import error_exit
from chatmend.cli.workers import available_processors
from chatmend.data.formats import FORMATS, format_named
from chatmend.data.rows import INCOMPLETE, RowSettings, make_settings
from chatmend.errors import LayoutError, PolicyError, ReplayError
from chatmend.policy import describe_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

_MIN_PARALLEL_BYTES = 8 << 20
"""The size of all files together from which worker processes are started."""
_REPORTS = ("html",)
"""The values of ``--report``."""

_Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="JSONL, JSON, CSV or Parquet files, directories with such files, or the address "
        "of a LiteLLM database (postgresql://...), whose spend logs are read.",
        show_default=False,
    ),
]
_Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Write the usable rows to this directory, with the same file names, and the "
        "quarantined rows below DIR/quarantine. Required.",
        show_default=False,
    ),
]
_Purpose = Annotated[
    str,
    typer.Option(
        metavar="PURPOSE",
        help="train: the last answer stays the end, thinking is kept, images are unchanged. "
        "serve: the conversations are sent to the target.",
    ),
]
_Incomplete = Annotated[
    str,
    typer.Option(
        metavar="CHOICE",
        help="Rows with a tool call without a result, or a result without a call: repair them "
        "with a placeholder or as text, or quarantine them.",
    ),
]
_Column = Annotated[
    str | None,
    typer.Option(help="The column with the messages, if its name is unusual."),
]
_Layout = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"The layout of the rows, if it is not recognised: {', '.join(FORMATS)}.",
    ),
]
_Report = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help="html: also write DIR/report.html with statistics and examples.",
        show_default=False,
    ),
]
_Texts = Annotated[
    bool,
    typer.Option(help="Show shortened texts in the examples of the report, or only lengths."),
]
_Changes = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also record every change in this Parquet file, which --replay can repeat.",
        show_default=False,
    ),
]
_Replay = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Repeat the changes that --changes has recorded, instead of a repair. The output "
        "has the same bytes. Needs no --target.",
        show_default=False,
    ),
]
_Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", metavar="N", min=0, help="Number of processes; 0: one per processor."
    ),
]
_Table = Annotated[
    str,
    typer.Option(help="The table of spend logs in a LiteLLM database."),
]


def data(  # noqa: PLR0913 - a command's options
    *,
    files: _Files,
    target: TargetName = "",
    out: _Out = None,
    purpose: _Purpose = "train",
    incomplete: _Incomplete = INCOMPLETE[0],
    column: _Column = None,
    layout: _Layout = None,
    policy: PolicyName = None,
    settings: PolicySettings = None,
    report: _Report = None,
    texts: _Texts = True,
    changes: _Changes = None,
    replay: _Replay = None,
    jobs: _Jobs = 0,
    table: _Table = "LiteLLM_SpendLogs",
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
    if report not in (None, *_REPORTS):
        raise error_exit(f"--report {report}: choose one of {', '.join(_REPORTS)}")
    if replay is None:
        chosen = _settings(target, purpose, incomplete, layout, policy, settings)
    elif target or policy or settings or column or layout or changes:
        raise error_exit("--replay repeats a repair: omit --target, --changes and other choices")
    else:
        chosen = None
    examples = ("texts" if texts else "lengths") if report else ""
    task = Task(chosen, column, layout, records_changes=changes is not None, examples=examples)
    replayed = None if replay is None else _open_changes(replay)
    sources = discover(files, out, table, changes)
    shown = DataReport(Console(), Console(stderr=True), examples)
    shown.leftovers = _remove_leftovers(out)
    outputs = [Outputs(out, source, task, replayed) for source in sources]
    with _worker_pool(sources, task, jobs) as pool, shown.progress(sources):
        run = Run(task, pool, replayed)
        for source, output in zip(sources, outputs, strict=True):
            shown.start(source)
            _repair(source, output, run, shown)
    if changes is not None:
        parts = [output.changes for output in outputs if output.is_complete]
        _join(parts, changes, shown)
    if report is not None:
        shown.report = out / "report.html"
        with replacing(shown.report) as file:
            file.write(page(shown, _described(chosen, replay)).encode())
    shown.print_summary(out)
    raise typer.Exit(shown.exit_status)


def _settings(  # noqa: PLR0913, PLR0917 - the options of the command
    target: str,
    purpose: str,
    incomplete: str,
    layout: str | None,
    policy: str | None,
    settings: list[str] | None,
) -> RowSettings:
    """Return the options that apply to every row.

    Raises:
        typer.Exit: an option is invalid.
    """
    named = policy or ("train" if purpose == "train" else None)
    chosen = parse_policy(named, settings)
    try:
        if layout is not None:
            format_named(layout)
        return make_settings(
            parse_target(target), purpose=purpose, policy=chosen, incomplete=incomplete
        )
    except (PolicyError, LayoutError) as error:
        raise error_exit(f"--{error}" if isinstance(error, PolicyError) else str(error)) from error


def _described(settings: RowSettings | None, replay: Path | None) -> dict[str, str]:
    """Return the options of the run for the report."""
    if settings is None:
        return {"replayed": str(replay)}
    return {
        "target": settings.target.name,
        "purpose": settings.policy.purpose,
        "policy": describe_policy(settings.policy),
        "incomplete tool exchanges": settings.incomplete,
    }


def _open_changes(path: Path) -> ChangeFile:
    """Open a file of changes.

    Raises:
        typer.Exit: it cannot be read.
    """
    try:
        return ChangeFile(path)
    except OSError as error:
        raise error_exit(f"{path}: could not be read: {error.strerror or error}") from error
    except (ReplayError, ModuleNotFoundError, ValueError) as error:
        raise error_exit(str(error)) from error


def _join(parts: list[Path], changes: Path, report: DataReport) -> None:
    """Write the changes of all complete files to one file."""
    try:
        with replacing(changes) as file:
            join_changes(parts, file)
    except (OSError, ModuleNotFoundError) as error:
        report.print_error(f"{changes}: could not be written: {error}")


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


def _repair(source: DataFile, outputs: Outputs, run: Run, report: DataReport) -> None:
    """Repair one file, or skip it if an earlier run has completed it."""
    try:
        summary = outputs.read_record()
        if summary is not None:
            report.skipped += 1
            report.advance(1.0)
        else:
            summary = repair_file(source, outputs, run, report.advance)
            report.written += 1
        outputs.is_complete = True
        report.add(source, summary)
    except (LayoutError, ReplayError, ModuleNotFoundError) as error:
        report.print_error(f"{source.path}: {error}")
    except OSError as error:
        report.print_error(
            f"{source.path}: could not be read or written: {error.strerror or error}"
        )
    except ValueError as error:  # pyarrow's errors, such as a truncated file
        report.print_error(f"{source.path}: could not be read: {error}")
