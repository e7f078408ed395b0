"""Keeps the session memories of conversations for adapters, separately for each tenant."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from chatmend.lesson_store import key_of_conversation
from chatmend.session_memory import SessionMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.options import SessionMemoryMode
    from chatmend.targets import Target

MOST_CONVERSATIONS = 1_000
"""Conversations that are kept; the one that was not used for the longest goes."""


class MemoryStore:
    """The session memories of conversations, in this process. It can be used by several threads.

    Conversations are recognised as in a ``LessonStore``. Two conversations with the same opening
    share a memory, which tells them apart by their messages.
    """

    def __init__(
        self, mode: SessionMemoryMode = "bound", *, most: int = MOST_CONVERSATIONS
    ) -> None:
        """Create an empty store for at most ``most`` conversations."""
        self.mode = mode
        self._most = most
        self._memories: OrderedDict[str, SessionMemory] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of conversations with a memory."""
        return len(self._memories)

    def of(self, tenant: str, messages: Sequence[Any], target: Target) -> SessionMemory | None:
        """Return the memory of a conversation; None if requests to the target need none."""
        if self.mode == "off" or (self.mode == "bound" and not target.limits.thinking_bound):
            return None
        key = key_of_conversation(tenant, messages)
        with self._lock:
            return self._memories.get(key, SessionMemory())

    def keep(self, tenant: str, messages: Sequence[Any], memory: SessionMemory | None) -> None:
        """Replace the memory of a conversation by the one that a repair has returned."""
        if memory is None:
            return
        key = key_of_conversation(tenant, messages)
        with self._lock:
            self._memories[key] = memory
            self._memories.move_to_end(key)
            while len(self._memories) > self._most:
                self._memories.popitem(last=False)
