"""``chatmend repair``: repairs the conversations in files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend.cli.body_target import target_for
from chatmend.cli.conversation import RunSettings
from chatmend.cli.leftovers import remove_leftovers
from chatmend.cli.options import (
    Files,
    Jobs,
    PolicyName,
    PolicySettings,
    Quiet,
    TargetName,
    parse_path,
    parse_policy,
)
from chatmend.cli.prefetch import prefetch
from chatmend.cli.processing import process_file
from chatmend.cli.rewrite import NotWrittenError, open_without_links, refuse_read_only, rewriting
from chatmend.cli.run_report import RunReport
from chatmend.cli.sources import Discovery, InputFile, discover
from chatmend.cli.terminal import error_exit, print_line
from chatmend.cli.unpacking import STANDARD_INPUT, plain
from chatmend.cli.workers import worker_pool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from chatmend.cli.conversation import ConversationOutcome


class _IncompleteError(Exception):
    """A part of a file could not be read, so the file is not written."""


_COLOURS = {"-": "red", "+": "green", "@": "cyan"}


_Write = Annotated[
    bool, typer.Option("--write", "-w", help="Replace each file by its repaired form.")
]
_Backup = Annotated[
    bool, typer.Option("--backup", help="With --write: keep the old file as FILE.bak.")
]
_Out = Annotated[
    Path | None,
    typer.Option(
        parser=parse_path,
        metavar="DIR",
        help="Write the repaired files to this directory, with the same names; the originals "
        "are not changed.",
        show_default=False,
    ),
]
_Diff = Annotated[bool, typer.Option("--diff", "-d", help="Show the changes; write nothing.")]


def repair(  # noqa: PLR0913 - a command's options
    *,
    files: Files,
    target: TargetName = "",
    policy: PolicyName = None,
    settings: PolicySettings = None,
    write: _Write = False,
    backup: _Backup = False,
    out: _Out = None,
    diff: _Diff = False,
    jobs: Jobs = 0,
    quiet: Quiet = False,
) -> None:
    """Repair transcripts for a target and list the changes.

    Without --write, --out or --diff, one file, or standard input (-), is printed to standard
    output. Messages that need no repair keep their bytes. Files that end with .gz or .zst are
    decompressed, and compressed again if they are written. --write does not touch files that need
    no repair. A file that cannot be read completely is not written.

    Exit status: 0 everything is repaired, 1 findings are left unchanged, 2 a file could not be read
    or written or an argument is invalid.
    """
    if [write, out is not None, diff].count(True) > 1:
        raise error_exit("--write, --out and --diff exclude each other; choose one")
    if backup and not write:
        raise error_exit("--backup requires --write")
    if out is not None and out.exists() and not out.is_dir():
        raise error_exit(f"--out requires a directory, but {out} is a file")
    if (write or out is not None) and Path(STANDARD_INPUT) in files:
        raise error_exit("-: standard input is repaired to standard output; use '> FILE'")
    run_settings = RunSettings(
        target_for(target, files),
        parse_policy(policy, settings),
        wants_repair=True,
        wants_diff=diff,
        jobs=jobs,
    )
    with RunReport(Console(stderr=not write and out is None), quiet=quiet) as report:
        discovery = _discover(files, out, report, alone=not (write or diff or out))
        if write or out:
            report.leftovers = remove_leftovers(
                {_output_path(source, out).parent for source in discovery.sources}
            )
        with worker_pool(discovery.sources, run_settings) as pool:
            report.start_progress(discovery)
            task = _Task(run_settings, report, pool, out, write=write, backup=backup)
            for source in prefetch(discovery.sources, run_settings, pool):
                _repair(source, task)
    report.print_summary(wrote="written" if write or out else "")
    raise typer.Exit(report.exit_status(found=bool(report.unrepaired)))


@dataclass(frozen=True, slots=True)
class _Task:
    """The settings, the report and the workers of a run."""

    settings: RunSettings
    report: RunReport
    pool: Executor | None
    out: Path | None
    """The directory for repaired files; None if they replace the originals or are printed."""
    write: bool
    backup: bool


def _repair(source: InputFile, task: _Task) -> None:
    """Repair one file; on an error, report it and leave the file unchanged."""
    report = task.report
    try:
        if task.settings.wants_diff:
            _print_diff(source, task)
        elif task.write:
            report.written += _replace(source, task)
        elif task.out:
            report.written += _write_copy(source, _output_path(source, task.out), task)
        else:
            _print_repaired(source, task)
    except _IncompleteError:
        if source.has_lines:
            report.report_error(
                f"{source.path}: not written; correct or remove the lines that could not be read"
            )
    except NotWrittenError as error:
        report.report_error(f"{source.path}: {error}")
    except BrokenPipeError:
        raise  # the reader of standard output has ended, so the command ends
    except OSError as error:
        report.report_error(
            f"{source.path}: could not be read or written: "
            f"{error.strerror}{_other_directory(source, error)}"
        )


def _output_path(source: InputFile, out: Path | None) -> Path:
    """Return the path of the repaired file."""
    return out / source.relative_path if out else source.path


def _other_directory(source: InputFile, error: OSError) -> str:
    """Return the directory of an error in parentheses if it concerns another file."""
    failed = Path(error.filename) if isinstance(error.filename, str) else source.path
    return "" if failed == source.path else f" ({failed.parent})"


def _discover(files: list[Path], out: Path | None, report: RunReport, *, alone: bool) -> Discovery:
    """Find the files of the command.

    Args:
        files: the arguments.
        out: the directory for repaired files.
        report: receives the errors.
        alone: whether only one file is allowed, because it is printed to standard output.

    Raises:
        typer.Exit: there are several files where one is allowed, or two with the same output path.
    """
    if alone and (len(files) > 1 or files[0].is_dir()):
        raise error_exit(
            "only one file can be printed to standard output; replace the files with --write, or "
            "write repaired copies with --out repaired/ (--diff shows the changes)"
        )
    discovery = discover(files, report.report_error, excluded=out)
    for path, number in Counter(
        source.relative_path for source in discovery.sources if out
    ).items():
        if number > 1:
            raise error_exit(
                f"two files are named {str(path)!r} and would overwrite each other in {out}; "
                "repair them separately"
            )
    return discovery


def _process_pieces(
    source: InputFile, file: IO[bytes], task: _Task
) -> Iterator[tuple[bytes, ConversationOutcome | None]]:
    """Yield the lines of a file, or the whole text, each with its outcome if it has findings.

    Raises:
        _IncompleteError: at the end, if a part could not be read. The error is already reported.
    """
    report = task.report
    errors, first = report.errors, 1
    for block, outcome in process_file(source, file, task.settings, task.pool):
        report.report_block(source, outcome, first)
        for number, raw in enumerate(block.pieces(file, lines=source.has_lines)):
            yield raw, outcome.outcomes.get(number)
        report.advance(block.size)
        first += outcome.lines
    if report.errors > errors:
        raise _IncompleteError


def _replace(source: InputFile, task: _Task) -> bool:
    """Replace a file by its repaired form; return whether it needed a repair."""
    with ExitStack() as stack:
        file = stack.enter_context(open_without_links(source.path))
        state = os.fstat(file.fileno())
        readable = stack.enter_context(plain(source))
        if readable.content:
            file = stack.enter_context(readable.content.open("rb"))
        new = stack.enter_context(rewriting(file, source.path, in_place=True, state=state))
        for raw, outcome in _process_pieces(readable, file, task):
            if outcome is None or outcome.repaired is None:
                new.keep(raw)
            else:
                refuse_read_only(source.path)
                new.put(outcome.repaired)
        return new.finish(backup=task.backup)


def _write_copy(source: InputFile, path: Path, task: _Task) -> bool:
    """Write the repaired file to ``path``; return whether it contains a conversation."""
    conversations = task.report.conversations
    with plain(source) as readable, readable.plain_path.open("rb") as file:
        path.parent.mkdir(parents=True, exist_ok=True)
        state = source.path.stat()
        with rewriting(file, path, in_place=False, state=state) as new:
            for raw, outcome in _process_pieces(readable, file, task):
                if outcome is None or outcome.repaired is None:
                    new.keep(raw)
                else:
                    new.put(outcome.repaired)
            return (not source.found or task.report.conversations > conversations) and new.finish()


def _print_diff(source: InputFile, task: _Task) -> None:
    """Print the changes without characters that a terminal would interpret."""
    console = Console()
    with plain(source) as readable, readable.plain_path.open("rb") as file:
        for number, (_, outcome) in enumerate(_process_pieces(readable, file, task), 1):
            if outcome and outcome.difference:
                name = readable.title(number)
                for text in (
                    f"--- {name}",
                    f"+++ {name} (repaired)",
                    *outcome.difference.splitlines(),
                ):
                    print_line(console, text, _COLOURS.get(text[:1], ""))


def _print_repaired(source: InputFile, task: _Task) -> None:
    """Print a repaired file to standard output, but only if it could be read completely."""
    with (
        plain(source) as readable,
        readable.plain_path.open("rb") as file,
        tempfile.TemporaryFile() as new,
    ):
        for raw, outcome in _process_pieces(readable, file, task):
            new.write(raw if outcome is None or outcome.repaired is None else outcome.repaired)
        new.seek(0)
        shutil.copyfileobj(new, sys.stdout.buffer)
        sys.stdout.buffer.flush()
