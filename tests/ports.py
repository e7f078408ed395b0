"""Ports for servers that start later in another process."""

from __future__ import annotations

import random
import socket

_PORTS = range(20_000, 32_000)
"""Outgoing connections have higher ports, so none takes one of these before the server does."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody uses.

    Raises:
        OSError: none was found.
    """
    for port in random.SystemRandom().sample(_PORTS, 100):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    text = "no free port was found"
    raise OSError(text)
