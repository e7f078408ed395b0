"""Explains a provider's error text: the rules it belongs to and the messages that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.manuals import manuals
from chatmend.refusals import search, topics
from chatmend.refusals.errors import read_error
from chatmend.refusals.positions import ids_named, positions_named
from chatmend.sessions.embedded import find_conversation
from chatmend.sessions.stored import messages_of

if TYPE_CHECKING:
    from chatmend.sessions.stored import Conversation

_MOST_POSITIONS = 50


def explain_error(text: str, conversation: Conversation | None) -> dict[str, Any]:
    """Return the pages for an error text, who sends it, and the messages that it names."""
    read = read_error(text).text or text
    refusal = search(text)
    pages = refusal.pages if refusal is not None else ()
    known = manuals()
    messages = _messages(conversation)
    return {
        "text": text[:20_000],
        "known": refusal is not None,
        "by": list(refusal.by) if refusal is not None else [],
        "source": refusal.source if refusal is not None else "",
        "codes": [page for page in pages if page in known],
        "topics": [
            {"title": topic.title, "cause": topic.cause, "does": topic.does}
            for page in pages
            if (topic := topics().get(page)) is not None
        ],
        "positions": positions_named(messages, read)[:_MOST_POSITIONS],
        "ids": [
            {"id": name, "positions": positions[:_MOST_POSITIONS]}
            for name, positions in ids_named(messages, read)
        ][:_MOST_POSITIONS],
    }


def _messages(conversation: Conversation | None) -> list[object]:
    if conversation is None:
        return []
    embedded = find_conversation(conversation)
    inner = conversation if embedded is None else embedded.conversation
    return messages_of(inner) or []
