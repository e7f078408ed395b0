"""``chatmend sandbox``: a local server that refuses what the real providers refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chatmend.cli.terminal import stop


def sandbox(
    *,
    host: Annotated[str, typer.Option(help="Where it listens: by default on this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: any free one.", min=0, max=65535)] = 8090,
    strict_signatures: Annotated[
        bool, typer.Option("--strict-signatures", help="Refuse signatures that this sandbox did not make, too.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write counts and refusals there at the end, as JSON.")
    ] = None,
) -> None:
    """Serve the providers' APIs on this machine.

    No keys, no cost, the providers' own refusals.

    Prints, per provider, the base URL and the environment variables for its SDK, LiteLLM and LangChain; then one line a
    request. Ctrl-C ends it. Exit status 2: the port is taken, or the extra is missing.
    """
    try:
        from chatmend.sandbox.serving import serve  # noqa: PLC0415 - other commands do not need the extra
    except ImportError as error:
        raise stop(f"the sandbox needs Starlette and uvicorn ({error}): pip install 'chatmend[sandbox]'") from error
    try:
        serve(host, port, strict_signatures=strict_signatures, report=report)
    except OSError as error:
        raise stop(f"cannot listen on {host}:{port}: {error.strerror or error}; try --port 0") from error
