"""``repair_messages``: a function that is also a Runnable, like LangChain's ``trim_messages``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, overload

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableLambda, RunnableSequence
from langchain_core.runnables.config import run_in_executor

from chatmend.langchain.hooks import has_media
from chatmend.langchain.message_repair import repair_before_model
from chatmend.langchain.model import mend_with_settings
from chatmend.langchain.partners import find_destination_by_name
from chatmend.langchain.salvage import convert_leniently
from chatmend.langchain.settings import RepairSettings, settings_with
from chatmend.options import is_disabled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import MessageLikeRepresentation

    from chatmend.langchain.settings import MendOptions

    Messages = Sequence[MessageLikeRepresentation] | PromptValue | str


@overload
def repair_messages(
    messages: None = None,
    *,
    target: str,
    tools: Sequence[Any] | None = None,
    thinking: object = None,
    **options: Unpack[MendOptions],
) -> Runnable[Messages, list[BaseMessage]]: ...


@overload
def repair_messages(
    messages: Messages,
    *,
    target: str,
    tools: Sequence[Any] | None = None,
    thinking: object = None,
    **options: Unpack[MendOptions],
) -> list[BaseMessage]: ...


def repair_messages(
    messages: Messages | None = None,
    *,
    target: str,
    tools: Sequence[Any] | None = None,
    thinking: object = None,
    **options: Unpack[MendOptions],
) -> list[BaseMessage] | Runnable[Messages, list[BaseMessage]]:
    """Repair messages for a target, or return a Runnable if called without messages.

    ``repair_messages(target=...) | model`` is a chain with the model that ``mend`` returns. In a
    longer chain the Runnable does not know the model: ``prompt | repair_messages(...) | model``.
    It then leaves its report in ``response_metadata["chatmend"]`` of the last message.

    Args:
        messages: any input of a chat model: messages, a prompt value, or the text of a user
            message.
        target: the target, named as LiteLLM names models: ``"anthropic/claude-sonnet-4-5"``.
        tools: the tools that the request will declare. With ``[]``, a history with tool calls is
            converted to text if the provider refuses it without tools.
        thinking: the parameter of the request that enables thinking.
        options: the other options of ``mend``: ``policy``, ``on_error``, ``mode``, ...

    Returns:
        The same list if nothing changes; otherwise a new list, in which unchanged messages are
            the same objects.

    Raises:
        PolicyError: the value of an option does not exist.
        TargetError: no table describes the target.
        TypeError: there is no such option.
    """
    settings = settings_with(target=target, **options)
    find_destination_by_name(target)
    declared = None if tools is None else list(tools)
    if messages is None:
        return _RepairStep(settings, tools=declared, thinking=thinking)
    return _repair(messages, settings, tools=declared, thinking=thinking, is_marked=False)


class _RepairStep(RunnableLambda):  # type: ignore[type-arg] # its types are those of the overload
    """A step of a chain that repairs messages; before a chat model, it wraps the model instead."""

    def __init__(self, settings: RepairSettings, **request: Any) -> None:
        repair = partial(_repair, settings=settings, **request)
        super().__init__(repair, partial(_repair_async, repair), name="repair_messages")
        self._settings = settings

    def __or__(self, other: Any) -> Any:
        try:
            model = mend_with_settings(other, self._settings)
        except TypeError:  # not a chat model
            return super().__or__(other)
        # The model converts its input itself.
        return RunnableSequence(RunnableLambda(_unchanged, name="repair_messages"), model)

    def pipe(self, *others: Any, name: str | None = None) -> Any:
        first, *rest = others
        chain = self | first
        return chain.pipe(*rest, name=name) if rest else chain


def _repair(messages: Messages, settings: RepairSettings, **request: Any) -> list[BaseMessage]:
    converted = _as_list(messages)
    destination = find_destination_by_name(str(settings.target), converted)
    return repair_before_model(converted, destination, settings, **request)


async def _repair_async(repair: Any, messages: Messages) -> list[BaseMessage]:
    converted = _as_list(messages)
    if has_media(converted):
        return await run_in_executor(None, repair, converted)
    return repair(converted)  # type: ignore[no-any-return]


def _unchanged(messages: Messages) -> Messages:
    return messages


def _as_list(messages: Messages) -> list[BaseMessage]:
    """Convert the input to message objects; a list of them is returned as the same list.

    Raises:
        ValueError: a chat model does not take such an input, for example a single message.
    """
    if isinstance(messages, PromptValue):
        return messages.to_messages()
    if isinstance(messages, str):
        return [HumanMessage(messages)]
    if isinstance(messages, dict | BaseMessage):
        text = f"expected a list of messages, a prompt value or a text, not {type(messages)}"
        raise ValueError(text)  # noqa: TRY004 - as LangChain does
    if isinstance(messages, list) and all(isinstance(message, BaseMessage) for message in messages):
        return messages
    try:
        return convert_to_messages(messages)
    except Exception:
        prompt = None if is_disabled() else convert_leniently(messages)
        if prompt is None:
            raise
        return prompt.to_messages()
