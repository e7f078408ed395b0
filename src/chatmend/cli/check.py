"""``chatmend check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import Console

from chatmend.cli.account import Account
from chatmend.cli.ahead import ahead
from chatmend.cli.conversation import Order
from chatmend.cli.crew import crew
from chatmend.cli.options import Files, Jobs, PolicyName, PolicySettings, Quiet, TargetName, policy_given, target_named
from chatmend.cli.sources import BUFFER, Source, discover
from chatmend.cli.walk import walk

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
    """Say what a target would refuse and what a repair would do. No file is changed.

    Exit status: 0 nothing found, 1 something found, 2 a file could not be read or the target is unknown.
    """
    order = Order(target_named(target), policy_given(policy, settings), jobs=jobs)
    with Account(Console(), quiet=quiet) as account:
        discovery = discover(files, account.fault)
        with crew(discovery.sources, order) as pool:
            account.begin(discovery)
            for source in ahead(discovery.sources, order, pool):
                _check(source, order, account, pool)
    account.summarise()
    raise typer.Exit(account.status(found=bool(account.codes)))


def _check(source: Source, order: Order, account: Account, pool: Executor | None) -> None:
    try:
        with source.path.open("rb", buffering=BUFFER) as file:
            first = 1
            for block, seen in walk(source, file, order, pool):
                account.tell(source, seen, first)
                account.advance(block.size)
                first += seen.lines
    except OSError as error:
        account.fault(f"{source.path}: could not be read: {error.strerror}")
