"""Converts LangChain messages to dicts in OpenAI's chat format, which the rules examine.

The content is not copied: the dicts hold the blocks of the message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    ToolMessage,
)

from chatmend.dialects.roles import ALIASES
from chatmend.langchain.calls import (
    LangChainCall,
    calls_of,
    content_without_calls,
    malformed_entries,
)
from chatmend.langchain.reasoning import REASONING_KEY, reasoning_of

if TYPE_CHECKING:
    from collections.abc import Callable


SOURCE = "langchain"
"""The key of the number that identifies the message or call a dict was made from.

A number survives JSON.
"""
PROVENANCE = "_provenance"
"""The key under which the core expects the provider that wrote a message."""

_ROLES = {
    "ai": "assistant",
    "human": "user",
    "system": "system",
    "tool": "tool",
    "function": "function",
}
_OTHER_SPELLING = {"user": "human", "assistant": "ai", "system": "developer", "tool": "function"}
"""Alternative names of the roles that a ``ChatMessage`` may have."""


def role_of(message: BaseMessage) -> str:
    """Return the role in OpenAI's spelling; a ``ChatMessage`` stores its role."""
    role = _ROLES.get(message.type)
    if role == "system":
        return str(message.additional_kwargs.get("__openai_role__", role))
    if role is not None:
        return role
    if isinstance(message, ChatMessage):
        return message.role
    # The type of a chunk is not in `_ROLES`: it is "AIMessageChunk".
    return next((_ROLES[cls.type] for cls in _default_types(message) if cls.type in _ROLES), "user")


def _default_types(message: BaseMessage) -> list[Any]:
    """Return the default ``type`` of each message class that a message inherits from."""
    classes = [
        cls
        for cls in type(message).__mro__
        if issubclass(cls, BaseMessage) and cls is not BaseMessage
    ]
    return [_DefaultType(cls) for cls in classes]


class _DefaultType:
    def __init__(self, cls: type[BaseMessage]) -> None:
        self.type = str(cls.model_fields["type"].default)


def fields_of(
    message: BaseMessage, register: Callable[[object], int], *, includes_reasoning: bool = False
) -> dict[str, Any]:
    """Return a message as a dict in OpenAI's format.

    Args:
        message: the message.
        register: returns the number under which an object can be found again.
        includes_reasoning: whether to add the reasoning in ``additional_kwargs``.
    """
    fields: dict[str, Any] = {
        "role": role_of(message),
        "content": message.content,
        SOURCE: register(message),
    }
    if message.name is not None:
        fields["name"] = message.name
    if isinstance(message, ToolMessage):
        fields["tool_call_id"] = message.tool_call_id
    elif isinstance(message, AIMessage):
        _add_assistant_fields(fields, message, register)
        if includes_reasoning and (thought := reasoning_of(message)):
            fields[REASONING_KEY] = thought
    elif isinstance(message, FunctionMessage):
        fields["name"] = message.name
    return fields


def _add_assistant_fields(
    fields: dict[str, Any], message: AIMessage, register: Callable[[object], int]
) -> None:
    fields["content"] = content_without_calls(message)
    calls = calls_of(message)
    malformed = malformed_entries(message)
    if calls or malformed:
        fields["tool_calls"] = [
            *({**_to_openai_call(call), SOURCE: register(call)} for call in calls),
            *malformed,
        ]
    elif isinstance(legacy := message.additional_kwargs.get("function_call"), dict):
        fields["function_call"] = legacy
    if "prefix" in message.additional_kwargs:
        fields["prefix"] = message.additional_kwargs["prefix"]
    if provider := _writer_of(message):
        fields[PROVENANCE] = {"provider": provider}


def _writer_of(message: AIMessage) -> object:
    """Return the provider that wrote a message, if LangChain recorded it."""
    return message.response_metadata.get("model_provider")


def _to_openai_call(call: LangChainCall) -> dict[str, Any]:
    """Convert a call to OpenAI's format."""
    fields: dict[str, Any] = {
        "type": "function",
        "id": call.id,
        "function": {"name": call.name, "arguments": call.arguments},
    }
    if call.signature is not None:
        fields["provider_specific_fields"] = {"thought_signature": call.signature}
    return fields


def is_result_block(block: Any) -> bool:
    """Return whether a content block is a tool result in Anthropic's format."""
    return block.__class__ is dict and block.get("type") == "tool_result"


KNOWN_ROLES = frozenset(ALIASES)
"""Roles of a ``ChatMessage`` for which LangChain has a separate class."""
