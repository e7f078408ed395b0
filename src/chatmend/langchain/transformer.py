"""``repair_messages``: a function and a Runnable in one, as ``trim_messages`` and its kin are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, overload

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.config import run_in_executor

from chatmend.langchain.hooks import has_media
from chatmend.langchain.mending import Settings, is_disabled, mended
from chatmend.langchain.partners import place_named
from chatmend.langchain.salvage import salvaged
from chatmend.options import policy_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import MessageLikeRepresentation

    from chatmend.options import OnError
    from chatmend.policy import Policy

    Messages = Sequence[MessageLikeRepresentation] | PromptValue


@overload
def repair_messages(
    messages: None = None, *, target: str, policy: Policy | str | None = None, on_error: OnError = "pass"
) -> Runnable[Messages, list[BaseMessage]]: ...


@overload
def repair_messages(
    messages: Messages, *, target: str, policy: Policy | str | None = None, on_error: OnError = "pass"
) -> list[BaseMessage]: ...


def repair_messages(
    messages: Messages | None = None, *, target: str, policy: Policy | str | None = None, on_error: OnError = "pass"
) -> list[BaseMessage] | Runnable[Messages, list[BaseMessage]]:
    """Repair messages for a target, or make a Runnable that does so when called without messages.

    Args:
        messages: Messages, anything that LangChain turns into messages, or a prompt value.
        target: Where they go, named as LiteLLM names models: ``"anthropic/claude-sonnet-4-5"``.
        policy: Choices between repairs, or the name of a policy; the default is lossless.
        on_error: If chatmend itself fails, ``pass`` the messages on unchanged, or ``raise``.

    Returns:
        The same list when nothing was wrong; else a new one, in which untouched messages are the same objects.

    Raises:
        PolicyError: A value of ``policy`` or ``on_error`` does not exist.
        TargetError: No table describes the target.
    """
    settings = Settings(policy_of(policy), target, on_error)
    place_named(target)
    if messages is None:
        return RunnableLambda(
            partial(_repaired, settings=settings), partial(_arepaired, settings=settings), name="repair_messages"
        )
    return _repaired(messages, settings)


def _repaired(messages: Messages, settings: Settings) -> list[BaseMessage]:
    return mended(_as_list(messages), place_named(str(settings.target)), settings).messages


async def _arepaired(messages: Messages, settings: Settings) -> list[BaseMessage]:
    came = _as_list(messages)
    if has_media(came):
        return await run_in_executor(None, _repaired, came, settings)
    return _repaired(came, settings)


def _as_list(messages: Messages) -> list[BaseMessage]:
    """The messages as LangChain's own objects: the same list where it already is one."""
    if isinstance(messages, PromptValue):
        return messages.to_messages()
    if isinstance(messages, list) and all(isinstance(message, BaseMessage) for message in messages):
        return messages
    try:
        return convert_to_messages(messages)
    except Exception:
        found = None if is_disabled() else salvaged(messages)
        if found is None:
            raise
        return found.to_messages()
