"""``chatmend usage``: what recorded responses cost, in tokens and money."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend.cli.terminal import FAULT, say, stop
from chatmend.usage import draw, render, summarise, usages_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.usage import Usage

_KEYS = frozenset({"model", "provider"})


def usage(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Response bodies, SSE dumps, JSONL logs, LiteLLM spend logs.",
            show_default=False,
        ),
    ],
    by: Annotated[str, typer.Option(help="A row for each 'model', 'provider', or 'provider,model'.")] = "model",
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the table as a picture (PNG).")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Add up the tokens that responses report.

    A row per model, with cache hits and cost.

    Exit status: 0 all files were read, 2 one was not, or nothing in it is a usage.
    """
    keys = tuple(key.strip() for key in by.split(","))
    if not _KEYS.issuperset(keys):
        raise stop(f"--by {by}: it takes 'model', 'provider', or 'provider,model'")
    faults: list[str] = []
    rows = summarise(_read(files, faults), keys)
    if rows:
        typer.echo(json.dumps([row.to_dict() for row in rows], indent=2) if as_json else render(rows, keys))
    for fault in faults:
        say(Console(stderr=True), fault, "red")
    if plot and rows:
        try:
            draw(rows, plot, keys)
        except ImportError as error:
            raise stop(f"a picture needs matplotlib ({error}): pip install 'chatmend[plot]'") from error
        except OSError as error:
            raise stop(f"{plot}: could not be written: {error.strerror}") from error
    raise typer.Exit(FAULT if faults else 0)


def _read(files: list[Path], faults: list[str]) -> Iterator[Usage]:
    """Every usage of every file; what cannot be read is noted, and the others go on."""
    for path in files:
        try:
            found = list(usages_in(path.read_text("utf-8-sig")))
        except OSError as error:
            faults.append(f"{path}: could not be read: {error.strerror}")
            continue
        except ValueError as error:
            faults.append(f"{path}: {error}")
            continue
        if not found:
            faults.append(f"{path}: holds no usage of any known provider")
        yield from found
