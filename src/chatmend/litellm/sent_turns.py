"""The requests that attempts have added to session memories, until their result is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatmend.memory_store import MemoryStore
    from chatmend.session_memory import SentTurn

_KEY = "chatmend_turns"
"""The key in LiteLLM's record of a call; the record of a proxy serves all attempts of a request."""


@dataclass(frozen=True, slots=True)
class AddedTurn:
    """A request in the memory of a conversation."""

    tenant: str
    messages: Any
    """The caller's messages, which identify the conversation."""
    turn: SentTurn

    def refuse(self, memories: MemoryStore) -> None:
        """Note that the request has failed."""
        memories.refuse(self.tenant, self.messages, self.turn)


def add_turn(logging_obj: Any, name: str, added: AddedTurn | None) -> None:
    """Store in LiteLLM's record of a call which request its hook has added to a memory.

    ``name`` is the type of the call: a bridged call runs the hook twice, in two wire formats.
    """
    record = getattr(logging_obj, "model_call_details", None)
    if isinstance(record, dict) and added is not None:
        record.setdefault(_KEY, {})[name] = added


def refuse_turns(record: Any, memories: MemoryStore, name: str | None = None) -> None:
    """Note that the attempts have failed whose requests are in a record, or only those of a type.

    If the hook runs again for a record, its earlier attempt has failed: LiteLLM reports only the
    first failure of a record.
    """
    added = record.get(_KEY) if isinstance(record, dict) else None
    for key in [name] if name is not None else list(added or ()):
        if added and (turn := added.pop(key, None)) is not None:
            turn.refuse(memories)


def has_turns(record: Any) -> bool:
    """Return whether a record holds a request that was added to a memory."""
    return isinstance(record, dict) and bool(record.get(_KEY))
