"""``chatmend repair``."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend.cli.account import Account
from chatmend.cli.ahead import ahead
from chatmend.cli.conversation import Order
from chatmend.cli.crew import crew
from chatmend.cli.leftovers import clear
from chatmend.cli.options import (
    Files,
    Jobs,
    PolicyName,
    PolicySettings,
    Quiet,
    TargetName,
    path_named,
    policy_given,
    target_named,
)
from chatmend.cli.rewrite import NotWrittenError, opened_without_links, refuse_read_only, rewriting
from chatmend.cli.sources import Discovery, Source, discover
from chatmend.cli.terminal import say, stop
from chatmend.cli.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from chatmend.cli.conversation import Visit


class _UnreadError(Exception):
    """Some of a file could not be read, so it is not written."""


_COLOURS = {"-": "red", "+": "green", "@": "cyan"}


def repair(  # noqa: PLR0913 - a command's options
    *,
    files: Files,
    target: TargetName = "",
    policy: PolicyName = None,
    settings: PolicySettings = None,
    write: Annotated[bool, typer.Option("--write", "-w", help="Replace each file by its repaired form.")] = False,
    backup: Annotated[bool, typer.Option("--backup", help="With --write: keep the old file as FILE.bak.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=path_named,
            metavar="DIR",
            help="Write the files into this directory, each under its own name; the originals stay.",
            show_default=False,
        ),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", "-d", help="Show what would change; write nothing.")] = False,
    jobs: Jobs = 0,
    quiet: Quiet = False,
) -> None:
    """Repair transcripts for a target, and say what was changed.

    Without --write, --out or --diff one file goes to standard output. What is sound keeps its bytes; a file that needs
    no change is not touched; a file that cannot be read to its end is not written.

    Exit status: 0 all repaired, 1 something was found and left as it is, 2 a file could not be read or written or the
    target is unknown.
    """
    if [write, out is not None, diff].count(True) > 1:
        raise stop("take one of --write, --out and --diff")
    if backup and not write:
        raise stop("--backup goes with --write")
    if out is not None and out.exists() and not out.is_dir():
        raise stop(f"--out names a directory, and {out} is a file")
    order = Order(target_named(target), policy_given(policy, settings), repairs=True, differs=diff, jobs=jobs)
    with Account(Console(stderr=not write and out is None), quiet=quiet) as account:
        discovery = _discovery(files, out, account, alone=not (write or diff or out))
        if write or out:
            account.cleared = clear({_goal(source, out).parent for source in discovery.sources})
        with crew(discovery.sources, order) as pool:
            account.begin(discovery)
            task = _Task(order, account, pool, out, write=write, backup=backup)
            for source in ahead(discovery.sources, order, pool):
                _repair(source, task)
    account.summarise(wrote="written" if write or out else "")
    raise typer.Exit(account.status(found=bool(account.left)))


@dataclass(frozen=True, slots=True)
class _Task:
    """What is asked, who tells of it, who works on it."""

    order: Order
    account: Account
    pool: Executor | None
    out: Path | None
    """The directory that repaired texts go into; else they take the place of the old ones, or go to standard output."""
    write: bool
    backup: bool


def _repair(source: Source, task: _Task) -> None:
    """Repair one file; a fault is named, and leaves it unwritten."""
    account = task.account
    try:
        if task.order.differs:
            _show(source, task)
        elif task.write:
            account.written += _replace(source, task)
        elif task.out:
            account.written += _place(source, _goal(source, task.out), task)
        else:
            _print(source, task)
    except _UnreadError:
        if source.has_lines:
            account.fault(f"{source.path}: not written; mend or take out what could not be read")
    except NotWrittenError as error:
        account.fault(f"{source.path}: {error}")
    except OSError as error:
        account.fault(f"{source.path}: could not be read or written: {error.strerror}{_elsewhere(source, error)}")


def _goal(source: Source, out: Path | None) -> Path:
    """Where the repaired text of a file goes."""
    return out / source.inside if out else source.path


def _elsewhere(source: Source, error: OSError) -> str:
    """The directory that a fault is about, where it is not about the file itself."""
    about = Path(error.filename) if isinstance(error.filename, str) else source.path
    return "" if about == source.path else f" ({about.parent})"


def _discovery(files: list[Path], out: Path | None, account: Account, *, alone: bool) -> Discovery:
    """The files that the command is about.

    Raises:
        typer.Exit: there are several, and they do not fit where they should go.
    """
    if alone and (len(files) > 1 or files[0].is_dir()):
        raise stop(
            "several files do not fit on standard output; replace them with --write, or name a directory for the "
            "repaired ones: --out repaired/ (--diff shows what would change)"
        )
    discovery = discover(files, account.fault, without=out)
    for inside, number in Counter(source.inside for source in discovery.sources if out).items():
        if number > 1:
            raise stop(
                f"two files are named {str(inside)!r} and would overwrite each other in {out}; repair them one at a "
                "time"
            )
    return discovery


def _pieces(source: Source, file: IO[bytes], task: _Task) -> Iterator[tuple[bytes, Visit | None]]:
    """The text of a file line by line, or in one piece, and what was found in each, if anything was.

    Raises:
        _UnreadError: at the end, if some of it could not be read, which was told.
    """
    account = task.account
    faults, first = account.faults, 1
    for block, seen in walk(source, file, task.order, task.pool):
        account.tell(source, seen, first)
        for number, raw in enumerate(block.pieces(file, lines=source.has_lines)):
            yield raw, seen.visits.get(number)
        account.advance(block.size)
        first += seen.lines
    if account.faults > faults:
        raise _UnreadError


def _replace(source: Source, task: _Task) -> bool:
    """Put the repaired file in the place of the old one; whether there was anything to repair."""
    with opened_without_links(source.path) as file, rewriting(file, source.path, in_place=True) as new:
        for raw, visit in _pieces(source, file, task):
            if visit is None or visit.written is None:
                new.keep(raw)
            else:
                refuse_read_only(source.path)
                new.put(visit.written)
        return new.finish(backup=task.backup)


def _place(source: Source, path: Path, task: _Task) -> bool:
    """Put the repaired file elsewhere; whether it holds a conversation at all."""
    conversations = task.account.conversations
    with source.path.open("rb") as file:
        path.parent.mkdir(parents=True, exist_ok=True)
        with rewriting(file, path, in_place=False) as new:
            for raw, visit in _pieces(source, file, task):
                if visit is None or visit.written is None:
                    new.keep(raw)
                else:
                    new.put(visit.written)
            return (not source.found or task.account.conversations > conversations) and new.finish()


def _show(source: Source, task: _Task) -> None:
    """Print what would change, without what a terminal would obey."""
    console = Console()
    with source.path.open("rb") as file:
        for number, (_, visit) in enumerate(_pieces(source, file, task), 1):
            if visit and visit.difference:
                name = source.title(number)
                for text in (f"--- {name}", f"+++ {name} (repaired)", *visit.difference.splitlines()):
                    say(console, text, _COLOURS.get(text[:1], ""))


def _print(source: Source, task: _Task) -> None:
    """Print one file repaired, when all of it is."""
    with source.path.open("rb") as file, tempfile.TemporaryFile() as new:
        for raw, visit in _pieces(source, file, task):
            new.write(raw if visit is None or visit.written is None else visit.written)
        new.seek(0)
        shutil.copyfileobj(new, sys.stdout.buffer)
        sys.stdout.buffer.flush()
