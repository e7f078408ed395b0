"""Runs the sandbox in the foreground, and tells how to point clients at it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import uvicorn

from chatmend.sandbox import app
from chatmend.sandbox.guide import guide
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

    Prints the base URLs and environment variables, then one line a request. ``report`` names a JSON file that is
    written at the end: counts by provider and rule, and every refusal. ``strict_signatures`` also refuses signatures
    that this sandbox did not make. It binds to this machine only, unless ``host`` says otherwise.

    Raises:
        OSError: if the port is taken.
    """
    ledger = Ledger(sys.stdout)
    shared = app.Sandbox(ledger, Script(), strict_signatures=strict_signatures)
    print(guide(f"http://{host}:{port}"), flush=True)  # noqa: T201 - it is what the caller wants to read
    try:
        uvicorn.run(
            app.build(shared),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
        )
    finally:
        if report is not None:
            ledger.write(report)
