"""``record=SessionStore(...)``: every call that succeeded becomes a turn of a session on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sessions import SessionStore
from chatmend.sessions.recorder import Origin, Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.litellm.exchange import Exchange

_LONGEST = 200
"""Characters of a session's name that count: clients choose it."""
_UNNAMED = "main"


class Recording:
    """Hands exchanges to a recorder: that takes a copy and returns, and a thread writes."""

    def __init__(self, recorder: Recorder) -> None:
        """Write what comes to the recorder's store."""
        self.recorder = recorder
        """``lost`` and ``faults`` tell what could not be written, ``flush()`` waits, ``store`` finds the sessions."""

    def __call__(self, exchange: Exchange) -> None:
        """Take one exchange.

        A call without a transcript, such as an embedding, is none of a session's business, nor is an answer from
        LiteLLM's own cache: nothing was sent.
        """
        messages = exchange.messages
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        if exchange.cached or not exchange.dialect or not isinstance(messages, list):
            return
        self.recorder.submit(
            origin(exchange),
            messages,
            reply=exchange.reply,
            usage=exchange.usage,
            beside=exchange.beside,
        )


def origin(exchange: Exchange) -> Origin:
    """Whose session it is: who was authenticated comes first, then the session that the client names."""
    session = exchange.session[:_LONGEST] if exchange.session else None
    key = (session or _UNNAMED,) if exchange.owner is None else (exchange.owner, session or _UNNAMED)
    return Origin(key, exchange.target, "litellm", exchange.dialect, named=session is not None)


def recording(record: Any) -> Callable[[Exchange], object] | None:
    """What is called with every exchange: a recorder before the store that was given, or the caller's own function."""
    if isinstance(record, SessionStore):
        return Recording(Recorder(record))
    return Recording(record) if isinstance(record, Recorder) else record
