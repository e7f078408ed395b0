"""A LangChain message history that is stored as a session on disk.

    store = SessionStore(".")
    chain = RunnableWithMessageHistory(model, lambda name: ChatMendHistory.of(store, name))

Messages are stored as ``messages_to_dict`` writes them, so ids, metadata, artifacts and usage
are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.sessions import Session, SessionStore


class ChatMendHistory(BaseChatMessageHistory):
    """The messages of one session; methods that add messages return after they are on disk."""

    def __init__(self, session: Session) -> None:
        """Continue a session that is empty or holds LangChain messages."""
        self.session = session

    @classmethod
    def of(cls, store: SessionStore, name: str, *, target: str = "") -> ChatMendHistory:
        """Return the history with this name: its newest session of any day, or a new session.

        Raises:
            SessionFormatError: the session file is malformed, truncated or edited.
        """
        session = store.latest(name, days=None)
        return cls(session or store.start(name, target=target, dispatcher="langchain"))

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # an attribute in the base
        """The stored messages."""
        return messages_from_dict(self.session.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages.

        Raises:
            SessionConflictError: another process appended to the session.
            SessionWriteError: the disk or the bucket refused the write.
            TranscriptError: a message contains a value that JSON cannot represent.
        """
        self.session.append(*messages_to_dict(messages))

    def follow(self, messages: Sequence[BaseMessage]) -> None:
        """Store the current state of a conversation, such as the state of a graph.

        New messages are appended. If earlier messages were changed, trimmed or summarised, the
        whole conversation is stored in a new session.

        Raises:
            SessionConflictError, SessionWriteError, TranscriptError: see ``add_messages``.
        """
        stored = self.messages
        if list(messages[: len(stored)]) != stored:
            self.clear()
            stored = []
        if new := messages[len(stored) :]:
            self.add_messages(new)

    def clear(self) -> None:
        """Start an empty session of the same name; the old file keeps its messages."""
        self.session = self.session.go_on()
