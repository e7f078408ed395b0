"""``chatmend inspect``: opens the inspector in the browser."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import Annotated

import typer

from chatmend.cli.terminal import error_exit


def inspect(
    *,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A file to open: messages, a request body, a LangChain dump, a HAR file, a curl "
            "command, an error text or usage.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    port: Annotated[int, typer.Option(help="0 selects a free port.", min=0, max=65535)] = 0,
) -> None:
    """Show in the browser what is wrong with a request, where, and what would be sent.

    The page runs on this machine only and sends nothing to the network. Ctrl-C ends it.

    Exit status: 2 the file cannot be read, the port is in use, or the extra 'inspect' is not
    installed.
    """
    if file is not None:
        _check(file)
    try:
        # Other commands do not need the extra.
        from chatmend.inspect.serving import serve  # noqa: PLC0415
    except ImportError as error:
        raise error_exit(
            f"the inspector requires Starlette and uvicorn ({error}): "
            "pip install 'chatmend[inspect]'"
        ) from error

    def report(address: str) -> None:
        typer.echo(f"chatmend inspector: {address}")
        typer.echo("It answers only this machine; nothing leaves it. Ctrl-C ends it.")

    try:
        serve(file, port, browser=browser, report=report)
    except OSError as error:
        raise error_exit(
            f"cannot listen on port {port}: {error.strerror or error}; leave out --port"
        ) from error


def _check(file: Path) -> None:
    """Raise the exit of a command whose file cannot be read."""
    if file.is_dir():
        raise error_exit(f"{file}: is a directory; pass one file")
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise error_exit(f"{file}: could not be read: {error.strerror}") from error
