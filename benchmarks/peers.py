"""What others do with a broken transcript: each peer takes OpenAI's messages and gives those that it would send.

A peer works on a copy. One that has messages of its own is given them by its own converter where it has one; only
pydantic-ai has none for this direction, so `_as_pydantic` is ours.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import os
from typing import TYPE_CHECKING, Any, TypeAlias

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm
import turnsafe
from langchain_core.messages import convert_to_messages, convert_to_openai_messages, merge_message_runs
from litellm.litellm_core_utils.prompt_templates.common_utils import get_completion_messages
from litellm.litellm_core_utils.prompt_templates.factory import sanitize_messages_for_tool_calling
from pydantic_ai import messages as said
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable

Messages = list[Any]
Peer: TypeAlias = "Callable[[Messages, str], Messages]"
"""Takes messages and a target; only chatmend looks at the target."""
logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)  # one warning a repaired message


def as_it_is(messages: Messages, _target: str) -> Messages:
    """Send what is there."""
    return messages


def litellm_sanitize(messages: Messages, _target: str) -> Messages:
    """LiteLLM with ``modify_params=True``: what it does before it converts."""
    litellm.modify_params = True
    try:
        done: Messages = sanitize_messages_for_tool_calling(copy.deepcopy(messages))
    finally:
        litellm.modify_params = False  # the judges convert with LiteLLM, too
    return done


def litellm_alternating(messages: Messages, target: str) -> Messages:
    """The same, and ``ensure_alternating_roles=True`` on top."""
    done: Messages = get_completion_messages(
        messages=litellm_sanitize(messages, target),
        assistant_continue_message=None,
        user_continue_message=None,
        ensure_alternating_roles=True,
    )
    return done


def langchain(messages: Messages, _target: str) -> Messages:
    """langchain-core: ``merge_message_runs``."""
    merged = merge_message_runs(convert_to_messages(copy.deepcopy(messages)))
    done: Messages = convert_to_openai_messages(merged)
    return done


def turnsafe_repair(messages: Messages, _target: str) -> Messages:
    """turnsafe: ``repair``, which knows OpenAI's format."""
    done: Messages = turnsafe.repair(messages, provider="openai")
    return done


def pydantic_ai(messages: Messages, _target: str) -> Messages:
    """pydantic-ai: ``repair_messages``, which also runs before each of its requests."""
    return _as_openai(said.repair_messages(_as_pydantic(messages)))


def ours(messages: Messages, target: str) -> Messages:
    """chatmend: ``repair``."""
    return chatmend.repair(messages, target, dialect="openai_chat").messages


PEERS: dict[str, Peer] = {
    "as it is": as_it_is,
    "LiteLLM `modify_params`": litellm_sanitize,
    "LiteLLM `modify_params`, `ensure_alternating_roles`": litellm_alternating,
    "langchain-core `merge_message_runs`": langchain,
    "turnsafe `repair`": turnsafe_repair,
    "pydantic-ai `repair_messages`": pydantic_ai,
    "chatmend `repair`": ours,
}
PACKAGES = ("litellm", "langchain-core", "turnsafe", "pydantic-ai-slim")


def _as_pydantic(messages: Messages) -> list[said.ModelMessage]:
    names: dict[str, str] = {}
    return [_message(message, names) for message in messages]


def _message(message: Any, names: dict[str, str]) -> said.ModelMessage:  # noqa: ANN401 - broken on purpose
    role, content = message["role"], message.get("content")
    if message.get("function_call") or (role != "assistant" and message.get("tool_calls")):
        raise ValueError("no place for a call like this")
    if role == "assistant":
        return said.ModelResponse(parts=[*_spoken(content), *_calls(message.get("tool_calls"), names)])
    if role == "tool":
        key = message["tool_call_id"]
        part: Any = said.ToolReturnPart(tool_name=names.get(key, "unknown"), content=_text(content), tool_call_id=key)
    elif role in {"system", "developer"}:
        part = said.SystemPromptPart(content=_text(content))
    elif role == "user":
        part = said.UserPromptPart(content=content if isinstance(content, str) else list(map(_part, content)))
    else:
        raise ValueError(f"no message of role {role!r}")
    return said.ModelRequest(parts=[part])


def _spoken(content: Any) -> list[said.TextPart]:  # noqa: ANN401
    return [said.TextPart(content=_text(content))] if content else []


def _calls(calls: Any, names: dict[str, str]) -> list[said.ToolCallPart]:  # noqa: ANN401
    made = []
    for call in calls or ():
        function = call["function"]
        names[call["id"]] = function["name"]
        made.append(said.ToolCallPart(function["name"], function["arguments"], call["id"]))
    return made


def _text(content: Any) -> str:  # noqa: ANN401
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)


def _part(part: Any) -> Any:  # noqa: ANN401
    if part["type"] == "text":
        return part["text"]
    if part["type"] == "image_url":
        return said.ImageUrl(url=part["image_url"]["url"])
    raise ValueError(f"no part of type {part['type']!r}")


_MODEL = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(api_key="any"))


def _as_openai(history: list[said.ModelMessage]) -> Messages:
    mapped: Any = asyncio.run(_MODEL._map_messages(history, ModelRequestParameters()))  # noqa: SLF001 - no public way
    return list(mapped)
