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
    from collections.abc import AsyncIterator, Mapping
    from typing import Unpack

    from agents.items import ModelResponse, TResponseInputItem, TResponseStreamEvent
    from agents.model_settings import ModelSettings
    from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest

    from chatmend.integrations.transcript_repair import IntegrationOptions


_STORED_UNDER = ("previous_response_id", "conversation_id")
"""The parameters that name earlier items which the provider stores."""


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

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002 - the name in the SDK
        model_settings: ModelSettings,
        *arguments: Any,
        **parameters: Any,
    ) -> ModelResponse:
        """Repair the input and call the model."""
        items = self._repaired(input, model_settings, parameters)
        return await self.wrapped.get_response(
            system_instructions, items, model_settings, *arguments, **parameters
        )

    def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002 - the name in the SDK
        model_settings: ModelSettings,
        *arguments: Any,
        **parameters: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Repair the input and call the model for a stream."""
        items = self._repaired(input, model_settings, parameters)
        events: AsyncIterator[TResponseStreamEvent] = self.wrapped.stream_response(
            system_instructions, items, model_settings, *arguments, **parameters
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
        parameters: Mapping[str, Any],
    ) -> str | list[TResponseInputItem]:
        if isinstance(items, str):
            return items
        done = self._repair.repair(
            items,
            _target_of(self.wrapped),
            _address_of(self.wrapped),
            dialect="openai_responses",
            continues=any(parameters.get(name) for name in _STORED_UNDER),
            store=settings.store,
            thinking=settings.reasoning,
        )
        return done.messages


def _target_of(model: Any) -> str:
    """Return ``provider/model``; the SDK's models for LiteLLM name the provider themselves."""
    name = str(getattr(model, "model", ""))
    return name if "/" in name else f"openai/{name}"


def _address_of(model: Any) -> str | None:
    """Return the base URL of a model that uses a client of OpenAI's SDK."""
    address = getattr(getattr(model, "_client", None), "base_url", None)
    return None if address is None else str(address)
