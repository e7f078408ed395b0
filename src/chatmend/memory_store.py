"""Keeps the session memories of conversations for adapters, separately for each tenant."""

from __future__ import annotations

import json
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from chatmend.errors import PolicyError
from chatmend.lesson_store import key_of_conversation
from chatmend.session_memory import SentTurn, SessionMemory
from chatmend.shared_entries import SharedEntries
from chatmend.shared_state import SessionMemories, SharedState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from chatmend.options import SessionMemoryMode
    from chatmend.targets import Target

MOST_CONVERSATIONS = 1_000
"""Conversations that are kept; the one that was not used for the longest goes."""

_MARKED = 16
"""How many messages at the end of a request are remembered by their ids."""


def _ids_of(messages: Iterable[Any]) -> Iterator[str]:
    """Yield the ids of messages that are objects; dicts have no ids of their own."""
    found = (getattr(message, "id", None) for message in messages)
    return (one for one in found if isinstance(one, str) and one)


class MemoryStore:
    """The session memories of conversations. It can be used by several threads.

    Conversations are recognised as in a ``LessonStore``. Two conversations with the same opening
    share a memory, which tells them apart by their messages. A conversation whose opening was
    replaced, as by a summary, is found by the ids of its messages, if they are objects with ids.
    """

    mode: SessionMemoryMode

    def __init__(
        self,
        mode: SessionMemoryMode | SessionMemories = "bound",
        *,
        most: int = MOST_CONVERSATIONS,
        state: SharedState | None = None,
        default: Callable[[Any], object] | None = None,
        object_hook: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        """Create an empty store for at most ``most`` conversations.

        With ``SessionMemories``, or ``state``, other processes and later ones get what this one
        stores. ``default`` and ``object_hook`` convert messages that are not JSON, as in ``json``.
        """
        if isinstance(mode, SessionMemories):
            state, self.mode = mode.state, mode.mode
        else:
            self.mode = mode
        self.state = None if self.mode == "off" else state
        """Where the memories are kept; None if only in this process."""
        self._shared = None if self.state is None else SharedEntries(self.state, "memory")
        self._codec = default, object_hook
        self._most = most
        self._memories: OrderedDict[str, SessionMemory] = OrderedDict()
        self._keys_by_id: OrderedDict[tuple[str, str], str] = OrderedDict()
        """The keys of conversations by the tenant and the id of a message."""
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of conversations with a memory in this process."""
        return len(self._memories)

    def is_needed(self, target: Target) -> bool:
        """Return whether requests to a target need a memory."""
        return self.mode == "all" or (self.mode == "bound" and target.limits.thinking_bound)

    def of(self, tenant: str, messages: Sequence[Any], target: Target) -> SessionMemory | None:
        """Return the memory of a conversation; None if requests to the target need none."""
        if not self.is_needed(target):
            return None
        key = key_of_conversation(tenant, messages)
        stored = None if self._shared is None else self._load(self._shared.get(key))
        if stored is not None:
            return stored
        with self._lock:
            held = self._memories.get(key) or self._find_by_ids(tenant, messages)
            return held or SessionMemory()

    def _find_by_ids(self, tenant: str, messages: Sequence[Any]) -> SessionMemory | None:
        """Return the memory of the conversation that the latest known message belongs to."""
        ids = _ids_of(reversed(messages))
        keys = (self._keys_by_id.get((tenant, one), "") for one in ids)
        return next(filter(None, map(self._memories.get, keys)), None)

    def keep(
        self,
        tenant: str,
        messages: Sequence[Any],
        memory: SessionMemory | None,
        base: SessionMemory | None = None,
    ) -> None:
        """Keep the memory that a repair has returned for a conversation.

        ``base`` is the memory that the repair got. What another request has added since is kept.
        """
        if memory is None:
            return

        def merged(held: SessionMemory | None) -> SessionMemory:
            return memory if held is None or held == base else held.merged(memory)

        key = key_of_conversation(tenant, messages)
        self._change(key, merged)
        with self._lock:
            for message_id in _ids_of(messages[-_MARKED:]):
                self._keys_by_id[tenant, message_id] = key
                self._keys_by_id.move_to_end((tenant, message_id))
            while len(self._keys_by_id) > self._most * _MARKED:
                self._keys_by_id.popitem(last=False)

    def refuse(self, tenant: str, messages: Sequence[Any], turn: SentTurn) -> None:
        """Note that a request has failed; see ``SessionMemory.refused``."""

        def marked(held: SessionMemory | None) -> SessionMemory:
            return (held or SessionMemory()).refused(turn)

        self._change(key_of_conversation(tenant, messages), marked)

    def _change(self, key: str, change: Callable[[SessionMemory | None], SessionMemory]) -> None:
        with self._lock:
            self._memories[key] = change(self._memories.get(key))
            self._memories.move_to_end(key)
            while len(self._memories) > self._most:
                self._memories.popitem(last=False)
        if self._shared is not None:
            self._shared.update(key, lambda data: self._dump(change(self._load(data))))

    def _dump(self, memory: SessionMemory) -> bytes:
        return json.dumps(memory.to_dict(), default=self._codec[0]).encode()

    def _load(self, data: bytes | None) -> SessionMemory | None:
        """Return a stored memory; None if there is none, or if another version has written it."""
        if data is None:
            return None
        try:
            return SessionMemory.from_dict(json.loads(data, object_hook=self._codec[1]))
        except (ValueError, PolicyError):
            return None
