"""A sandbox that runs in a thread of this process, for tests and notebooks."""

from __future__ import annotations

import importlib
import os
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TextIO

import uvicorn

from chatmend.sandbox import app
from chatmend.sandbox.connections import REQUEST_TIMEOUT, server_config
from chatmend.sandbox.guide import hosts_setting
from chatmend.sandbox.ledger import Ledger, Verdict
from chatmend.sandbox.script import (
    BoundThinking,
    Expiry,
    Failure,
    Refusal,
    Reply,
    Script,
    ScriptedChange,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_LOOPBACK = "127.0.0.1"
_HOSTS = "CHATMEND_HOSTS"
_ERROR_STATUSES = range(400, 600)


def _import_now(config: uvicorn.Config) -> None:
    """Import in this thread the modules that uvicorn would import in the server's thread.

    Ctrl-C during an import can leave Python's import lock held. A server thread that still has
    to import a module would then wait forever, and ``stop`` would wait for that thread.
    """
    config.load()
    for loop in ("auto", "asyncio", "uvloop"):
        with suppress(ImportError):  # uvloop does not exist for Windows
            importlib.import_module(f"uvicorn.loops.{loop}")


class Sandbox:
    """An HTTP server on a free port of this machine.

        >>> with Sandbox() as sandbox:
        ...     client = openai.OpenAI(base_url=sandbox.url("openai/v1"), api_key="any")

    It runs in its own thread and stops at the end of the ``with`` block.
    """

    request_timeout = REQUEST_TIMEOUT
    """Seconds in which a client must have sent a request."""

    def __init__(
        self,
        host: str = _LOOPBACK,
        port: int = 0,
        *,
        strict_signatures: bool = False,
        log: TextIO | None = None,
        bodies: bool = True,
    ) -> None:
        """Bind to ``host`` and ``port`` (0: any free port).

        ``log`` receives one line for each request. ``bodies``: keep request bodies.
        """
        self._script = Script()
        self._ledger = Ledger(log, bodies=bodies)
        self._shared = app.SharedState(
            self._ledger,
            self._script,
            strict_signatures=strict_signatures,
            request_timeout=self.request_timeout,
        )
        self._socket = socket.create_server((host, port))
        self.host, self.port = host, int(self._socket.getsockname()[1])
        config = server_config(app.build(self._shared), "error", self.request_timeout)
        _import_now(config)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), daemon=True
        )

    def start(self) -> Self:
        """Start serving; requests that arrive earlier wait.

        Adds the emulated providers to the environment variable ``CHATMEND_HOSTS``, so that
        chatmend's adapters apply the rules of these providers instead of those of an unknown
        server.
        """
        self._thread.start()
        os.environ[_HOSTS] = ",".join(
            filter(None, (os.environ.get(_HOSTS), hosts_setting(self.url())))
        )
        return self

    def stop(self) -> None:
        """Stop serving and close the port."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        self._socket.close()
        os.environ[_HOSTS] = os.environ.get(_HOSTS, "").replace(hosts_setting(self.url()), "")

    def __enter__(self) -> Self:
        """Start the server."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self.stop()

    def url(self, path: str = "") -> str:
        """Return the URL of a path, or of the server."""
        return f"http://{self.host}:{self.port}/{path}".rstrip("/")

    def script(self, lines: Iterable[Reply | Failure]) -> None:
        """Prescribe the next answers, in this order.

        Afterwards the sandbox composes its own answers again.
        """
        self._script.add(lines)

    def refuse(
        self,
        when: Callable[[dict[str, Any]], object],
        text: str,
        *,
        status: int = 400,
        provider: str = "*",
        model: str = "*",
    ) -> ScriptedChange:
        """Refuse requests from now on that the provider's tables accept.

            >>> with sandbox.refuse(lambda body: len(body["messages"]) > 9, "too many messages"):
            ...     agent.run()

        The error has the provider's format. It counts in ``refusals``, with the rule ``scripted``.

        Args:
            when: called with the body of each request that would be accepted. A true value refuses
                it; a string is the position of the fault (``"messages.1.content.0"``). It runs in
                a thread of the server; if it raises an exception, the status is 500.
            text: the error text; ``{at}`` is replaced by the position.
            status: the HTTP status, 400 to 599.
            provider: the providers that refuse, as a pattern with wildcards: ``"anthropic"``.
            model: the models that refuse, as a pattern with wildcards: ``"claude-opus-*"``.

        Returns:
            The change. It stays until ``remove()``, the end of its ``with`` block, or ``clear``.

        Raises:
            ValueError: ``status`` is not that of an error.
        """
        if status not in _ERROR_STATUSES:
            raise ValueError(f"status must be 400 to 599, not {status}")
        return self._shared.changes.add(Refusal(when, text, status, provider, model))

    def bind_thinking(self, model: str) -> ScriptedChange:
        """Treat Claude models from now on as models that bind thinking to what was sent before it.

        They refuse a thinking block of this sandbox if the system prompt, the tools or an earlier
        message was changed, also in conversations that began earlier. This applies to the
        endpoints of Anthropic, Bedrock and Vertex; OpenRouter does not enforce it.

        Args:
            model: the models, as a pattern with wildcards: ``"claude-opus-4-8*"``.

        Returns:
            The change. It stays until ``remove()``, the end of its ``with`` block, or ``clear``.
        """
        return self._shared.changes.add(BoundThinking(model))

    def expire(self, id: str) -> ScriptedChange:  # noqa: A002 - the name that the APIs use
        """Answer from now on that a stored object does not exist.

        Args:
            id: the id of an item, response, conversation or prompt of the Responses API, or of
                a file that was uploaded to OpenAI, Azure, Anthropic or Gemini.

        Returns:
            The change. It stays until ``remove()``, the end of its ``with`` block, or ``clear``.
        """
        return self._shared.changes.add(Expiry(id))

    @property
    def requests(self) -> list[Verdict]:
        """The verdicts of all requests so far."""
        return list(self._ledger)

    @property
    def refusals(self) -> list[Verdict]:
        """The requests that the provider would have refused."""
        return [
            verdict for verdict in self._ledger if verdict.refused and verdict.note != "scripted"
        ]

    def clear(self) -> None:
        """Delete recorded requests, refusals and the script; undo all changes."""
        self._ledger.clear()
        self._script.clear()
        self._shared.changes.clear()

    def write_report(self, path: str | Path) -> None:
        """Write counts and refusals as JSON."""
        self._ledger.write(path)
