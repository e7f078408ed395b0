"""Repairs the messages of agents of pydantic-ai for the model that receives them.

    from chatmend.integrations.pydantic_ai import RepairHistory

    agent = Agent("anthropic:claude-sonnet-4-6", capabilities=[RepairHistory()])

The stored history stays unchanged; only the messages of each request are repaired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage  # noqa: TC002 - pydantic-ai reads the annotations
from pydantic_ai.tools import RunContext  # noqa: TC002

from chatmend.integrations.pydantic_ai_messages import ChatMessages
from chatmend.integrations.transcript_repair import TranscriptRepair

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from pydantic_ai.models import AbstractModel, ModelRequestContext

    from chatmend.integrations.transcript_repair import IntegrationOptions

_PROVIDERS = {"google": "gemini", "google-gla": "gemini", "google-vertex": "vertex_ai"}
"""The names of providers that differ from chatmend's."""


class RepairHistory(AbstractCapability[Any]):
    """A capability that repairs the messages of every request of an agent."""

    def __init__(self, **options: Unpack[IntegrationOptions]) -> None:
        """Check the options: ``policy``, ``target``, ``mode``, ``on_error``, ``on_changes``.

        Raises:
            PolicyError: an option has no such value.
            TargetError: no table describes ``target``.
        """
        self.id, self.description, self.defer_loading = None, None, False
        self._repair = TranscriptRepair(**options)

    async def prepare_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the signature of pydantic-ai
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Repair the messages of one attempt, after all other hooks, for its model."""
        messages = list(request_context.messages)
        request_context.messages = _repaired(self._repair, messages, request_context.model)
        return request_context


def history_processor(
    **options: Unpack[IntegrationOptions],
) -> Callable[[RunContext[Any], list[ModelMessage]], list[ModelMessage]]:
    """Return a function for ``capabilities=[ProcessHistory(...)]``.

    The agent then stores the repaired history. With ``RepairHistory`` it keeps the original.

    Args:
        options: as in ``RepairHistory``.
    """
    repair = TranscriptRepair(**options)

    def process(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        return _repaired(repair, messages, ctx.model)

    return process


def _repaired(
    repair: TranscriptRepair, messages: list[ModelMessage], model: AbstractModel
) -> list[ModelMessage]:
    provider = _PROVIDERS.get(model.system, model.system)
    chat = ChatMessages(messages)
    done = repair.repair(
        chat.messages,
        f"{provider}/{model.model_name}",
        model.base_url,
        dialect="openai_chat",
    )
    return chat.restore(done.messages, done.changes)
