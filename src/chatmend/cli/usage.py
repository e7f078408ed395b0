"""``chatmend usage``: adds up the tokens and costs of recorded responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend.cli.terminal import EXIT_ERROR, error_exit, print_line
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
            help="Response bodies, SSE dumps, JSONL logs or LiteLLM spend logs.",
            show_default=False,
        ),
    ],
    by: Annotated[
        str, typer.Option(help="One row per 'model', 'provider' or 'provider,model'.")
    ] = "model",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a bar chart, for example usage.png."),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Add up the tokens that responses report.

    Prints one row per model, with cache hits and cost.

    Exit status: 0 all files were read, 2 a file could not be read or contains no usage.
    """
    keys = tuple(key.strip() for key in by.split(","))
    if not _KEYS.issuperset(keys):
        raise error_exit(f"--by {by}: choose 'model', 'provider' or 'provider,model'")
    errors: list[str] = []
    rows = summarise(_read(files, errors), keys)
    if rows:
        typer.echo(
            json.dumps([row.to_dict() for row in rows], indent=2) if as_json else render(rows, keys)
        )
    for error_text in errors:
        print_line(Console(stderr=True), error_text, "red")
    if plot and rows:
        try:
            draw(rows, plot, keys)
        except ImportError as error:
            raise error_exit(
                f"--plot requires matplotlib ({error}): pip install 'chatmend[plot]'"
            ) from error
        except OSError as error:
            raise error_exit(f"{plot}: could not be written: {error.strerror}") from error
    raise typer.Exit(EXIT_ERROR if errors else 0)


def _read(files: list[Path], errors: list[str]) -> Iterator[Usage]:
    """Yield the usage records of all files; add a text to ``errors`` for each unreadable file."""
    for path in files:
        try:
            found = list(usages_in(path.read_text("utf-8-sig")))
        except OSError as error:
            errors.append(f"{path}: could not be read: {error.strerror}")
            continue
        except ValueError as error:
            errors.append(f"{path}: {error}")
            continue
        if not found:
            errors.append(f"{path}: contains no usage of a known provider")
        yield from found
