"""Transcripts on disk that resume byte for byte.

    store = SessionStore(".")
    session = store.latest("main") or store.start("main", target="anthropic/claude-sonnet-4-5")
    done = session.extend([{"role": "user", "content": "And tomorrow?"}])
    response = client.messages.create(**session.beside, messages=done.messages)
    session.record(done.messages, reply=..., usage=response)

What was sent is what is stored, and what is stored is what is sent again: so a provider's cache still knows it.
"""

from chatmend.sessions.local import LocalStorage
from chatmend.sessions.session import Session
from chatmend.sessions.storage import Storage
from chatmend.sessions.store import SessionStore

__all__ = ["LocalStorage", "Session", "SessionStore", "Storage"]
