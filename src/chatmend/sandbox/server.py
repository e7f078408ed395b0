"""A sandbox in a thread of this process, for tests and notebooks."""

from __future__ import annotations

import importlib
import os
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self, TextIO

import uvicorn

from chatmend.sandbox import app
from chatmend.sandbox.guide import imitated
from chatmend.sandbox.ledger import Ledger, Verdict
from chatmend.sandbox.script import Failure, Reply, Script

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_LOOPBACK = "127.0.0.1"
_HOSTS = "CHATMEND_HOSTS"


def _import_now(config: uvicorn.Config) -> None:
    """Import in this thread what uvicorn would import in the server's.

    Ctrl-C in the middle of an import can leave Python's import lock held. A server thread that still has something to
    import would wait for it forever, and ``stop`` for the thread.
    """
    config.load()
    for loop in ("auto", "asyncio", "uvloop"):
        with suppress(ImportError):  # uvloop does not exist for Windows
            importlib.import_module(f"uvicorn.loops.{loop}")


class Sandbox:
    """A real HTTP server on a free port of this machine.

    >>> with Sandbox() as sandbox:
    ...     client = openai.OpenAI(base_url=sandbox.url("openai/v1"), api_key="any")

    It runs in a thread of its own and stops at the end of the block.
    """

    def __init__(
        self,
        host: str = _LOOPBACK,
        port: int = 0,
        *,
        strict_signatures: bool = False,
        log: TextIO | None = None,
        bodies: bool = True,
    ) -> None:
        """Bind to ``host`` and ``port`` (0: any free one). ``log`` gets one line a request."""
        self._script = Script()
        self._ledger = Ledger(log, bodies=bodies)
        self._shared = app.Sandbox(self._ledger, self._script, strict_signatures=strict_signatures)
        self._socket = socket.create_server((host, port))
        self.host, self.port = host, int(self._socket.getsockname()[1])
        config = uvicorn.Config(
            app.build(self._shared), log_level="error", access_log=False, lifespan="off", server_header=False
        )
        _import_now(config)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def start(self) -> Self:
        """Begin to serve. Requests wait from now on; none is lost.

        Says in ``CHATMEND_HOSTS`` whose API is imitated under which path, so that chatmend's adapters keep to the
        provider's rules and not to those of a server that nobody knows.
        """
        self._thread.start()
        os.environ[_HOSTS] = ",".join(filter(None, (os.environ.get(_HOSTS), imitated(self.url()))))
        return self

    def stop(self) -> None:
        """Stop serving, and free the port."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        self._socket.close()
        os.environ[_HOSTS] = os.environ.get(_HOSTS, "").replace(imitated(self.url()), "")

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def url(self, path: str = "") -> str:
        """The URL of a path, or of the server itself."""
        return f"http://{self.host}:{self.port}/{path}".rstrip("/")

    def script(self, lines: Iterable[Reply | Failure]) -> None:
        """Say what is to be answered next, in this order; afterwards the sandbox speaks for itself again."""
        self._script.add(lines)

    @property
    def requests(self) -> list[Verdict]:
        """What became of every request so far."""
        return list(self._ledger)

    @property
    def refusals(self) -> list[Verdict]:
        """The requests that the provider would have refused."""
        return [verdict for verdict in self._ledger if verdict.refused and verdict.note != "scripted"]

    def clear(self) -> None:
        """Forget requests, refusals and what was scripted."""
        self._ledger.clear()
        self._script.clear()

    def write_report(self, path: str | Path) -> None:
        """Write counts and refusals as JSON."""
        self._ledger.write(path)
