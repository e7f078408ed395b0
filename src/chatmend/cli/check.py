"""``chatmend check``: lists the defects in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import Console

from chatmend.cli.body_target import target_for
from chatmend.cli.conversation import RunSettings
from chatmend.cli.options import (
    Files,
    Jobs,
    PolicyName,
    PolicySettings,
    Quiet,
    TargetName,
    parse_policy,
)
from chatmend.cli.prefetch import prefetch
from chatmend.cli.processing import process_file
from chatmend.cli.run_report import RunReport
from chatmend.cli.sources import BUFFER, InputFile, discover
from chatmend.cli.unpacking import plain
from chatmend.cli.workers import worker_pool

if TYPE_CHECKING:
    from concurrent.futures import Executor


def check(  # noqa: PLR0913 - a command's options
    *,
    files: Files,
    target: TargetName = "",
    policy: PolicyName = None,
    settings: PolicySettings = None,
    jobs: Jobs = 0,
    quiet: Quiet = False,
) -> None:
    """List what a target would refuse and what a repair would change. Files are not changed.

    Exit status: 0 no findings, 1 findings, 2 a file could not be read or an argument is invalid.
    """
    run_settings = RunSettings(target_for(target, files), parse_policy(policy, settings), jobs=jobs)
    with RunReport(Console(), quiet=quiet) as report:
        discovery = discover(files, report.report_error)
        with worker_pool(discovery.sources, run_settings) as pool:
            report.start_progress(discovery)
            for source in prefetch(discovery.sources, run_settings, pool):
                _check(source, run_settings, report, pool)
    report.print_summary()
    raise typer.Exit(report.exit_status(found=bool(report.codes)))


def _check(
    source: InputFile, settings: RunSettings, report: RunReport, pool: Executor | None
) -> None:
    try:
        with (
            plain(source) as readable,
            readable.plain_path.open("rb", buffering=BUFFER) as file,
        ):
            first = 1
            for block, outcome in process_file(readable, file, settings, pool):
                report.report_block(readable, outcome, first)
                report.advance(block.size)
                first += outcome.lines
    except OSError as error:
        report.report_error(f"{source.path}: could not be read: {error.strerror}")
