"""Transcripts on disk that are sent again byte for byte.

    store = SessionStore(".")
    session = store.latest("main") or store.start("main", target="anthropic/claude-sonnet-4-5")
    done = session.extend([{"role": "user", "content": "And tomorrow?"}])
    response = client.messages.create(**session.request_parameters, messages=done.messages)
    session.record(done.messages, reply=..., usage=response)

The stored messages are exactly those that were sent, and the next request begins with them. The
provider's prompt cache therefore still matches.
"""

from chatmend.sessions.local import LocalStorage
from chatmend.sessions.session import Session
from chatmend.sessions.storage import Storage
from chatmend.sessions.store import SessionStore

__all__ = ["LocalStorage", "Session", "SessionStore", "Storage"]
