"""Repairs the input of models of the OpenAI Agents SDK, for every provider.

    from chatmend.integrations.openai_agents import RepairedModel

    agent = Agent(name="Weather", model=RepairedModel("gpt-5"))

The SDK holds a conversation as items of the Responses API, also for models that it calls with Chat
Completions or through LiteLLM. The wrapper repairs these items before each call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.models.interface import Model
from agents.models.multi_provider import MultiProvider

from chatmend.integrations.transcript_repair import TranscriptRepair

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Unpack

    from agents.agent_output import AgentOutputSchemaBase
    from agents.handoffs import Handoff
    from agents.items import ModelResponse, TResponseInputItem, TResponseStreamEvent
    from agents.model_settings import ModelSettings
    from agents.models.interface import ModelTracing
    from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest
    from agents.tool import Tool
    from openai.types.responses.response_prompt_param import ResponsePromptParam

    from chatmend.integrations.transcript_repair import IntegrationOptions


# Where the SDK is not installed, its class is untyped for mypy.
class RepairedModel(Model):  # type: ignore[misc, unused-ignore]
    """A model that repairs its input and then calls another model."""

    def __init__(self, model: Model | str, **options: Unpack[IntegrationOptions]) -> None:
        """Wrap a model.

        Args:
            model: a model of the SDK, or its name, as for ``Agent(model=...)``.
            options: ``policy``, ``target``, ``mode``, ``on_error``, ``on_changes``; see
                ``TranscriptRepair``.

        Raises:
            PolicyError: an option has no such value.
            TargetError: no table describes ``target``.
        """
        self.wrapped = MultiProvider().get_model(model) if isinstance(model, str) else model
        """The model that is called."""
        self._repair = TranscriptRepair(**options)

    async def get_response(  # noqa: PLR0913, PLR0917 - the signature of the SDK
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        """Repair the input and call the model."""
        is_continued = bool(previous_response_id or conversation_id)
        return await self.wrapped.get_response(
            system_instructions,
            self._repaired(input, model_settings, is_continued=is_continued),
            model_settings,
            tools,
            output_schema,
            handoffs,
            tracing,
            previous_response_id=previous_response_id,
            conversation_id=conversation_id,
            prompt=prompt,
        )

    def stream_response(  # noqa: PLR0913, PLR0917 - the signature of the SDK
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Repair the input and call the model for a stream."""
        is_continued = bool(previous_response_id or conversation_id)
        events: AsyncIterator[TResponseStreamEvent] = self.wrapped.stream_response(
            system_instructions,
            self._repaired(input, model_settings, is_continued=is_continued),
            model_settings,
            tools,
            output_schema,
            handoffs,
            tracing,
            previous_response_id=previous_response_id,
            conversation_id=conversation_id,
            prompt=prompt,
        )
        return events

    async def close(self) -> None:
        """Close the wrapped model."""
        await self.wrapped.close()

    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        """Return the advice of the wrapped model."""
        return self.wrapped.get_retry_advice(request)

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self.wrapped._cleanup_on_run_end(owner)  # noqa: SLF001 - the SDK calls it on any model

    def _repaired(
        self,
        items: str | list[TResponseInputItem],
        settings: ModelSettings,
        *,
        is_continued: bool,
    ) -> str | list[TResponseInputItem]:
        if isinstance(items, str):
            return items
        done = self._repair.repair(
            items,
            _target_of(self.wrapped),
            _address_of(self.wrapped),
            dialect="openai_responses",
            continues=is_continued,
            store=settings.store,
            thinking=settings.reasoning,
        )
        return done.messages


def _target_of(model: Any) -> str:  # noqa: ANN401 - models have no common attribute
    """Return ``provider/model``; the SDK's models for LiteLLM name the provider themselves."""
    name = str(getattr(model, "model", ""))
    return name if "/" in name else f"openai/{name}"


def _address_of(model: Any) -> str | None:  # noqa: ANN401
    """Return the base URL of a model that uses a client of OpenAI's SDK."""
    address = getattr(getattr(model, "_client", None), "base_url", None)
    return None if address is None else str(address)
