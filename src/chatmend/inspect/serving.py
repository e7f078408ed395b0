"""Runs the inspector on this machine until it is interrupted."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

import uvicorn

from chatmend.inspect.app import build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ADDRESS = "127.0.0.1"


def serve(
    document: Path | None, port: int, *, browser: bool, report: Callable[[str], None]
) -> None:
    """Serve the inspector on the loopback address until interrupted (Ctrl-C).

    Args:
        document: a file that the page opens.
        port: the port; 0 selects a free one.
        browser: whether to open the page in the browser.
        report: called with the address once connections are accepted.

    Raises:
        OSError: the port is in use.
    """
    listening = socket.create_server((_ADDRESS, port))
    token = secrets.token_urlsafe(16)
    address = f"http://{_ADDRESS}:{listening.getsockname()[1]}/{token}/"
    config = uvicorn.Config(
        build(token, document),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
    )
    report(address)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is the usual way to stop
        uvicorn.Server(config).run([listening])
