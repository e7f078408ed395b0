"""Runs the sandbox in the foreground."""

from __future__ import annotations

import signal
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn

from chatmend.sandbox import app
from chatmend.sandbox.connections import REQUEST_TIMEOUT, server_config
from chatmend.sandbox.guide import banner
from chatmend.sandbox.ledger import Ledger
from chatmend.sandbox.script import Script

if TYPE_CHECKING:
    from pathlib import Path


def serve(
    host: str = "127.0.0.1",
    port: int = 8090,
    *,
    strict_signatures: bool = False,
    report: str | Path | None = None,
) -> None:
    """Serve until interrupted (Ctrl-C).

    Prints how to direct clients to it, then one line for each request.

    Args:
        host: the address to bind to; by default only this machine can connect.
        port: the port; 0 selects a free one.
        strict_signatures: also refuse signatures that this sandbox did not create.
        report: a JSON file that is written at the end: counts by provider and rule, and all
            refusals.

    Raises:
        OSError: the port is in use.
    """
    ledger = Ledger(sys.stdout)
    shared = app.SharedState(ledger, Script(), strict_signatures=strict_signatures)
    listening = socket.create_server((host, port))
    address = f"http://{host}:{listening.getsockname()[1]}"
    print(banner(address), flush=True)  # noqa: T201 - the output of the command
    # Without this handler, SIGTERM would end the process before the report is written.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    config = server_config(app.build(shared), "warning", REQUEST_TIMEOUT)
    try:
        uvicorn.Server(config).run([listening])
    except KeyboardInterrupt:
        pass  # Ctrl-C is the usual way to stop
    finally:
        if report is not None:
            ledger.write(report)
