"""The session memories of a callback: what its calls have sent, and which of them have failed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.litellm.conversion import target_through_litellm
from chatmend.memory_store import MemoryStore
from chatmend.remembering import remember_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.lessons import Lesson
    from chatmend.litellm.shapes import Shape
    from chatmend.session_memory import SentTurn, SessionMemory

_KEY = "chatmend_turns"
"""The key in LiteLLM's record of a call; the record of a proxy serves all attempts of a request."""


@dataclass(frozen=True, slots=True)
class AddedTurn:
    """A request in the memory of a conversation."""

    tenant: str
    messages: Any
    """The caller's messages, which identify the conversation."""
    turn: SentTurn


class CallMemories(MemoryStore):
    """The session memories of the calls of a callback."""

    def of_call(self, tenant: str, messages: Any, target: str) -> SessionMemory | None:
        """Return the memory of a conversation; None if requests to the target need none.

        Raises:
            TargetError: no table describes the target.
        """
        return self.of(tenant, messages, target_through_litellm(target))

    def add(
        self, tenant: str, messages: Any, memory: SessionMemory | None, base: SessionMemory | None
    ) -> AddedTurn | None:
        """Keep the memory of a conversation, and return the request that it has more than ``base``.

        A repair of an unknown wire format adds none.
        """
        if memory is None or memory is base:
            return None
        self.keep(tenant, messages, memory, base)
        return AddedTurn(tenant, messages, memory.turns[-1])

    def add_unrepaired(
        self,
        tenant: str,
        kwargs: Mapping[str, Any],
        shape: Shape,
        target: str,
        lessons: tuple[Lesson, ...],
    ) -> AddedTurn | None:
        """Add a request that is sent without a repair to the memory of its conversation.

        Later repairs then keep what the provider has accepted. Nothing that fails here may affect
        the request.
        """
        with suppress(Exception):
            messages = kwargs[shape.field]
            if (memory := self.of_call(tenant, messages, target)) is not None:
                after = remember_request(
                    {**kwargs, shape.field: list(messages)}, target_through_litellm(target),
                    memory=memory, lessons=lessons, dialect=shape.dialect,
                )  # fmt: skip
                return self.add(tenant, messages, after, memory)
        return None

    def concern(self, target: str) -> bool:
        """Return whether requests to a target need a memory."""
        # `suppress` would take as long as the question.
        try:
            return self.is_needed(target_through_litellm(target))
        except Exception:  # noqa: BLE001 - an unknown target
            return False

    def refuse_call(self, added: AddedTurn | None) -> None:
        """Note that a request has failed."""
        if added is not None:
            self.refuse(added.tenant, added.messages, added.turn)

    def refuse_attempts(self, record: Any, name: str | None = None) -> None:
        """Note that the attempts have failed whose requests are in LiteLLM's record of a call.

        ``name`` limits them to a type of call. If the hook runs again for a record, its earlier
        attempt has failed: LiteLLM reports only the first failure of a record.
        """
        added = record.get(_KEY) if isinstance(record, dict) else None
        for key in [name] if name is not None else list(added or ()):
            self.refuse_call(added.pop(key, None) if added else None)

    async def refuse_attempts_async(self, record: Any, name: str | None = None) -> None:
        """Do the same, in a thread if a store outside of this process is changed."""
        if self.state is None:
            self.refuse_attempts(record, name)
        elif isinstance(record, dict) and record.get(_KEY):
            await asyncio.to_thread(self.refuse_attempts, record, name)


def note_attempt(logging_obj: Any, name: str, added: AddedTurn | None) -> None:
    """Store in LiteLLM's record of a call which request its hook has added to a memory.

    ``name`` is the type of the call: a bridged call runs the hook twice, in two wire formats.
    """
    record = getattr(logging_obj, "model_call_details", None)
    if isinstance(record, dict) and added is not None:
        record.setdefault(_KEY, {})[name] = added
