"""``repair_messages``: a function that is also a Runnable, like LangChain's ``trim_messages``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, overload

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.config import run_in_executor

from chatmend.langchain.hooks import has_media
from chatmend.langchain.message_repair import RepairSettings, is_disabled, repair_unless_disabled
from chatmend.langchain.partners import find_destination_by_name
from chatmend.langchain.salvage import convert_leniently
from chatmend.options import policy_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import MessageLikeRepresentation

    from chatmend.options import OnError
    from chatmend.policy import Policy

    Messages = Sequence[MessageLikeRepresentation] | PromptValue


@overload
def repair_messages(
    messages: None = None,
    *,
    target: str,
    policy: Policy | str | None = None,
    on_error: OnError = "pass",
) -> Runnable[Messages, list[BaseMessage]]: ...


@overload
def repair_messages(
    messages: Messages,
    *,
    target: str,
    policy: Policy | str | None = None,
    on_error: OnError = "pass",
) -> list[BaseMessage]: ...


def repair_messages(
    messages: Messages | None = None,
    *,
    target: str,
    policy: Policy | str | None = None,
    on_error: OnError = "pass",
) -> list[BaseMessage] | Runnable[Messages, list[BaseMessage]]:
    """Repair messages for a target, or return a Runnable if called without messages.

    Args:
        messages: Messages, a prompt value, or any input that LangChain converts to messages.
        target: The target, named as LiteLLM names models: ``"anthropic/claude-sonnet-4-5"``.
        policy: Choices between repairs, or the name of a policy; the default discards nothing.
        on_error: If chatmend itself fails, ``pass`` the messages on unchanged, or ``raise``.

    Returns:
        The same list if nothing changes; otherwise a new list, in which unchanged messages are
            the same objects.

    Raises:
        PolicyError: A value of ``policy`` or ``on_error`` does not exist.
        TargetError: No table describes the target.
    """
    settings = RepairSettings(policy_of(policy), target, on_error)
    find_destination_by_name(target)
    if messages is None:
        return RunnableLambda(
            partial(_repair, settings=settings),
            partial(_repair_async, settings=settings),
            name="repair_messages",
        )
    return _repair(messages, settings)


def _repair(messages: Messages, settings: RepairSettings) -> list[BaseMessage]:
    converted = _as_list(messages)
    destination = find_destination_by_name(str(settings.target), converted)
    return repair_unless_disabled(converted, destination, settings).messages


async def _repair_async(messages: Messages, settings: RepairSettings) -> list[BaseMessage]:
    converted = _as_list(messages)
    if has_media(converted):
        return await run_in_executor(None, _repair, converted, settings)
    return _repair(converted, settings)


def _as_list(messages: Messages) -> list[BaseMessage]:
    """Convert the input to message objects; a list of them is returned as the same list."""
    if isinstance(messages, PromptValue):
        return messages.to_messages()
    if isinstance(messages, list) and all(isinstance(message, BaseMessage) for message in messages):
        return messages
    try:
        return convert_to_messages(messages)
    except Exception:
        prompt = None if is_disabled() else convert_leniently(messages)
        if prompt is None:
            raise
        return prompt.to_messages()
