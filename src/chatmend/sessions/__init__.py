"""Transcripts on disk that are sent again byte for byte.

    store = SessionStore(".")
    session = store.latest("main") or store.start("main", target="anthropic/claude-sonnet-4-5")
    done = session.extend([{"role": "user", "content": "And tomorrow?"}])
    response = client.messages.create(**session.request_parameters, messages=done.messages)
    session.record(done.messages, reply=..., usage=response)

The stored messages are exactly those that were sent, and the next request begins with them. The
provider's prompt cache therefore still matches.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.sessions.local import LocalStorage
    from chatmend.sessions.session import Session
    from chatmend.sessions.storage import Storage
    from chatmend.sessions.store import SessionStore

__all__ = ["LocalStorage", "Session", "SessionStore", "Storage"]

# Imported on first access: Pyodide has no hard links, which the storage needs.
_HOMES = {
    "LocalStorage": "local",
    "Session": "session",
    "SessionStore": "store",
    "Storage": "storage",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'chatmend.sessions' has no attribute {name!r}")
    value: object = getattr(import_module(f"chatmend.sessions.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
