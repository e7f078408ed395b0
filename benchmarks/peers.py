"""Other libraries that repair transcripts, with one interface (``Peer``).

Each takes messages in OpenAI's format and returns the messages that it would send. It works on a
copy. A library with its own message classes converts with its own function. pydantic-ai has none
for this direction; ``_as_pydantic`` is written for this benchmark.
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
from langchain_core.messages import (
    convert_to_messages,
    convert_to_openai_messages,
    merge_message_runs,
)
from litellm.litellm_core_utils.prompt_templates.common_utils import get_completion_messages
from litellm.litellm_core_utils.prompt_templates.factory import sanitize_messages_for_tool_calling
from pydantic_ai import messages as pydantic
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable

Messages = list[Any]
Peer: TypeAlias = "Callable[[Messages, str], Messages]"
"""Repairs messages for a target; only chatmend uses the target."""
logging.getLogger("LiteLLM").setLevel(
    logging.CRITICAL
)  # it logs a warning for each repaired message


def unrepaired(messages: Messages, _target: str) -> Messages:
    """Return the messages unchanged."""
    return messages


def litellm_sanitize(messages: Messages, _target: str) -> Messages:
    """Repair with LiteLLM's ``modify_params=True``, which runs before its conversion."""
    litellm.modify_params = True
    try:
        done: Messages = sanitize_messages_for_tool_calling(copy.deepcopy(messages))
    finally:
        litellm.modify_params = False  # the judges call LiteLLM, too
    return done


def litellm_alternating(messages: Messages, target: str) -> Messages:
    """Repair with LiteLLM's ``modify_params=True`` and ``ensure_alternating_roles=True``."""
    done: Messages = get_completion_messages(
        messages=litellm_sanitize(messages, target),
        assistant_continue_message=None,
        user_continue_message=None,
        ensure_alternating_roles=True,
    )
    return done


def langchain(messages: Messages, _target: str) -> Messages:
    """Repair with langchain-core's ``merge_message_runs``."""
    merged = merge_message_runs(convert_to_messages(copy.deepcopy(messages)))
    done: Messages = convert_to_openai_messages(merged)
    return done


def turnsafe_repair(messages: Messages, _target: str) -> Messages:
    """Repair with turnsafe's ``repair``, which supports OpenAI's format."""
    done: Messages = turnsafe.repair(messages, provider="openai")
    return done


def pydantic_ai(messages: Messages, _target: str) -> Messages:
    """Repair with pydantic-ai's ``repair_messages``, which it runs before each of its requests."""
    return _as_openai(pydantic.repair_messages(_as_pydantic(messages)))


def chatmend_repair(messages: Messages, target: str) -> Messages:
    """Repair with chatmend's ``repair``."""
    return chatmend.repair(messages, target, dialect="openai_chat").messages


PEERS: dict[str, Peer] = {
    "unrepaired": unrepaired,
    "LiteLLM `modify_params`": litellm_sanitize,
    "LiteLLM `modify_params`, `ensure_alternating_roles`": litellm_alternating,
    "langchain-core `merge_message_runs`": langchain,
    "turnsafe `repair`": turnsafe_repair,
    "pydantic-ai `repair_messages`": pydantic_ai,
    "chatmend `repair`": chatmend_repair,
}
PACKAGES = ("litellm", "langchain-core", "turnsafe", "pydantic-ai-slim")


def _as_pydantic(messages: Messages) -> list[pydantic.ModelMessage]:
    names: dict[str, str] = {}
    return [_message(message, names) for message in messages]


def _message(message: Any, names: dict[str, str]) -> pydantic.ModelMessage:  # noqa: ANN401
    role, content = message["role"], message.get("content")
    if message.get("function_call") or (role != "assistant" and message.get("tool_calls")):
        raise ValueError("pydantic-ai has no message for this kind of call")
    if role == "assistant":
        return pydantic.ModelResponse(
            parts=[*_text_parts(content), *_calls(message.get("tool_calls"), names)]
        )
    if role == "tool":
        key = message["tool_call_id"]
        part: Any = pydantic.ToolReturnPart(
            tool_name=names.get(key, "unknown"), content=_text(content), tool_call_id=key
        )
    elif role in {"system", "developer"}:
        part = pydantic.SystemPromptPart(content=_text(content))
    elif role == "user":
        part = pydantic.UserPromptPart(
            content=content if isinstance(content, str) else list(map(_part, content))
        )
    else:
        raise ValueError(f"pydantic-ai has no message for the role {role!r}")
    return pydantic.ModelRequest(parts=[part])


def _text_parts(content: Any) -> list[pydantic.TextPart]:  # noqa: ANN401
    return [pydantic.TextPart(content=_text(content))] if content else []


def _calls(calls: Any, names: dict[str, str]) -> list[pydantic.ToolCallPart]:  # noqa: ANN401
    made = []
    for call in calls or ():
        function = call["function"]
        names[call["id"]] = function["name"]
        made.append(pydantic.ToolCallPart(function["name"], function["arguments"], call["id"]))
    return made


def _text(content: Any) -> str:  # noqa: ANN401
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)


def _part(part: Any) -> Any:  # noqa: ANN401
    if part["type"] == "text":
        return part["text"]
    if part["type"] == "image_url":
        return pydantic.ImageUrl(url=part["image_url"]["url"])
    raise ValueError(f"pydantic-ai has no part for the type {part['type']!r}")


_MODEL = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(api_key="any"))


def _as_openai(history: list[pydantic.ModelMessage]) -> Messages:
    mapped: Any = asyncio.run(
        _MODEL._map_messages(history, ModelRequestParameters())  # noqa: SLF001 - not public
    )
    return list(mapped)
