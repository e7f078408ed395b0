"""A LangChain message history that is a session on disk.

    store = SessionStore(".")
    chain = RunnableWithMessageHistory(model, lambda name: ChatMendHistory.of(store, name))

Messages are stored as ``messages_to_dict`` writes them, so nothing of them is lost: ids, metadata, artifacts, usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.sessions import Session, SessionStore


class ChatMendHistory(BaseChatMessageHistory):
    """The messages of one session. Every call that adds some has them on the disk when it returns."""

    def __init__(self, session: Session) -> None:
        """Go on with a session that holds LangChain messages, or none yet."""
        self.session = session

    @classmethod
    def of(cls, store: SessionStore, name: str, *, target: str = "") -> ChatMendHistory:
        """The history of that name: the newest session of it, of whatever day, or a new one.

        Raises:
            SessionFormatError: its file is malformed, cut or edited.
        """
        session = store.latest(name, days=None)
        return cls(session or store.start(name, target=target, dispatcher="langchain"))

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # a plain attribute there
        """The messages as they were added."""
        return messages_from_dict(self.session.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages.

        Raises:
            SessionConflictError: another process went on with the session.
            SessionWriteError: the disk or the bucket did not take them.
            TranscriptError: one holds something that JSON cannot say.
        """
        self.session.append(*messages_to_dict(messages))

    def follow(self, messages: Sequence[BaseMessage]) -> None:
        """Store a whole conversation as it stands now, such as the state of a graph: what is new is added.

        One whose past was changed, trimmed or summarised since goes on in a new session.

        Raises:
            SessionConflictError, SessionWriteError, TranscriptError: see ``add_messages``.
        """
        known = self.messages
        if list(messages[: len(known)]) != known:
            self.clear()
            known = []
        if new := messages[len(known) :]:
            self.add_messages(new)

    def clear(self) -> None:
        """Begin anew, in a session of the same name; what was said stays in the old file."""
        self.session = self.session.go_on()
