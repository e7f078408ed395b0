"""``chatmend sandbox``: a local server that refuses what the real providers refuse."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from chatmend.cli.terminal import error_exit, print_line
from chatmend.sandbox.guide import PROVIDERS, exports


def sandbox(
    *,
    host: Annotated[
        str, typer.Option(help="The address to listen on; the default is this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 selects a free port.", min=0, max=65535)] = 8090,
    strict_signatures: Annotated[
        bool,
        typer.Option(
            "--strict-signatures", help="Also refuse signatures that this sandbox did not create."
        ),
    ] = False,
    env: Annotated[
        str,
        typer.Option(
            "--env",
            metavar="PROVIDER",
            help="Only print the environment variables that direct the clients of one provider to "
            'a sandbox on --host and --port: eval "$(chatmend sandbox --env anthropic)".',
        ),
    ] = "",
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write counts and refusals to FILE at the end, as JSON."),
    ] = None,
) -> None:
    """Imitate the APIs of the providers, with their refusals, on this machine.

    It needs no API keys and costs nothing.

    Prints its address and the names of the providers, then one line per request. Ctrl-C ends it.
    --env prints the variables that direct the SDK of a provider, LiteLLM and LangChain to it.

    Exit status: 2 the port is in use or the extra 'sandbox' is not installed.
    """
    if env:
        _print_environment(env, host, port)
        return
    try:
        # Other commands do not need the extra.
        from chatmend.sandbox.serving import serve  # noqa: PLC0415
    except ImportError as error:
        raise error_exit(
            f"the sandbox requires Starlette and uvicorn ({error}): pip install 'chatmend[sandbox]'"
        ) from error
    try:
        serve(host, port, strict_signatures=strict_signatures, report=report)
    except OSError as error:
        raise error_exit(
            f"cannot listen on {host}:{port}: {error.strerror or error}; try --port 0"
        ) from error


def _print_environment(provider: str, host: str, port: int) -> None:
    name = provider.strip().lower()
    if name not in PROVIDERS:
        raise error_exit(f"--env {provider!r}: choose one of {', '.join(PROVIDERS)}")
    typer.echo(exports(f"http://{host}:{port}", name))
    if not _answers(host, port):
        note = f"nothing listens on {host}:{port}; if the sandbox has another port, add --port"
        print_line(Console(stderr=True), note, "yellow")


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
