"""``record=SessionStore(...)``: every successful call becomes a turn of a session on disk."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from chatmend.errors import PolicyError
from chatmend.sessions import SessionStore
from chatmend.sessions.recorder import Origin, Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.litellm.exchange import Exchange
    from chatmend.shared_state import SharedState

_LONGEST = 200
"""Maximum length of a session name; clients choose it, and longer names are cut."""
_UNNAMED = "main"


class Recording:
    """Passes exchanges to a recorder, which copies them and writes them in a thread."""

    def __init__(self, recorder: Recorder) -> None:
        """Write to the store of ``recorder``."""
        self.recorder = recorder
        """Its ``lost`` and ``faults`` count what could not be written; ``flush()`` waits."""

    def __call__(self, exchange: Exchange) -> None:
        """Record one exchange.

        Calls without a transcript, such as embeddings, are skipped, and so are answers from
        LiteLLM's own cache, for which no request was sent.
        """
        messages = exchange.messages
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        if exchange.cached or not exchange.dialect or not isinstance(messages, list):
            return
        self.recorder.submit(
            origin_of(exchange),
            messages,
            reply=exchange.reply,
            usage=exchange.usage,
            request_parameters=exchange.request_parameters,
        )


def origin_of(exchange: Exchange) -> Origin:
    """Return the key of the session: the authenticated owner, then the client's session name."""
    session = exchange.session[:_LONGEST] if exchange.session else None
    key = (
        (session or _UNNAMED,) if exchange.owner is None else (exchange.owner, session or _UNNAMED)
    )
    return Origin(key, exchange.target, "litellm", exchange.dialect, named=session is not None)


def as_record_function(record: Any) -> Callable[[Exchange], object] | None:
    """Return the function that is called with every exchange, for any value of ``record=``.

    A store, or the directory of one, gets a recorder; a function is returned unchanged.

    Raises:
        PolicyError: it is of another type.
    """
    if isinstance(record, str | PathLike):
        record = SessionStore(Path(record).expanduser())
    if isinstance(record, SessionStore):
        return Recording(Recorder(record))
    if isinstance(record, Recorder):
        return Recording(record)
    if record is not None and not callable(record):
        expected = "a directory, a SessionStore, a Recorder or a function"
        raise PolicyError(f"record={record!r}: pass {expected}")
    return cast("Callable[[Exchange], object] | None", record)


def state_of(record: Any) -> SharedState | None:
    """Return the store next to the sessions that are recorded; None if none are stored."""
    return record.recorder.store.state if isinstance(record, Recording) else None
