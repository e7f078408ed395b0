"""A LangChain message shown as a dict in the shape of OpenAI's chat messages, which is what rules look at.

Nothing of the content is copied: blocks are the message's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, FunctionMessage, ToolMessage

from chatmend.dialects.roles import ALIASES
from chatmend.langchain.calls import Call, calls_of, odd_of, without_mirrors
from chatmend.langchain.reasoning import KEY, reasoning_of

if TYPE_CHECKING:
    from collections.abc import Callable


SOURCE = "langchain"
"""The key under which a dict says which message it shows, and a call which call: a number, so that it survives JSON."""
PROVENANCE = "_provenance"
"""The key under which the core looks for the provider that wrote a message."""

_ROLES = {"ai": "assistant", "human": "user", "system": "system", "tool": "tool", "function": "function"}
_OTHER_SPELLING = {"user": "human", "assistant": "ai", "system": "developer", "tool": "function"}
"""Spellings that a scan does not take as plain, for roles of a ``ChatMessage`` that the partner cannot send."""


def role_of(message: BaseMessage) -> str:
    """The role as OpenAI spells it; a ``ChatMessage`` has one of its own."""
    role = _ROLES.get(message.type)
    if role == "system":
        return str(message.additional_kwargs.get("__openai_role__", role))
    if role is not None:
        return role
    if isinstance(message, ChatMessage):
        return message.role
    # chunks call themselves AIMessageChunk
    return next((_ROLES[cls.type] for cls in _classes(message) if cls.type in _ROLES), "user")


def _classes(message: BaseMessage) -> list[Any]:
    """What a message is, by the default types of its classes."""
    classes = [cls for cls in type(message).__mro__ if issubclass(cls, BaseMessage) and cls is not BaseMessage]
    return [_Typed(cls) for cls in classes]


class _Typed:
    def __init__(self, cls: type[BaseMessage]) -> None:
        self.type = str(cls.model_fields["type"].default)


def fields(message: BaseMessage, number: Callable[[object], int], *, reasoning: bool = False) -> dict[str, Any]:
    """The message as a dict; ``number`` gives each object the number under which it can be found again.

    ``reasoning``: what a message keeps of it beside its content is sent.
    """
    shown: dict[str, Any] = {"role": role_of(message), "content": message.content, SOURCE: number(message)}
    if message.name is not None:
        shown["name"] = message.name
    if isinstance(message, ToolMessage):
        shown["tool_call_id"] = message.tool_call_id
    elif isinstance(message, AIMessage):
        _show_answer(shown, message, number)
        if reasoning and (thought := reasoning_of(message)):
            shown[KEY] = thought
    elif isinstance(message, FunctionMessage):
        shown["name"] = message.name
    return shown


def _show_answer(shown: dict[str, Any], message: AIMessage, number: Callable[[object], int]) -> None:
    shown["content"] = without_mirrors(message)
    calls = calls_of(message)
    odd = odd_of(message)
    if calls or odd:
        shown["tool_calls"] = [*({**_open(call), SOURCE: number(call)} for call in calls), *odd]
    elif isinstance(legacy := message.additional_kwargs.get("function_call"), dict):
        shown["function_call"] = legacy
    if "prefix" in message.additional_kwargs:
        shown["prefix"] = message.additional_kwargs["prefix"]
    if provider := _origin(message):
        shown[PROVENANCE] = {"provider": provider}


def _origin(message: AIMessage) -> object:
    """The provider that wrote a message, where LangChain says it."""
    return message.response_metadata.get("model_provider")


def _open(call: Call) -> dict[str, Any]:
    """A call as OpenAI writes it."""
    shown: dict[str, Any] = {
        "type": "function",
        "id": call.id,
        "function": {"name": call.name, "arguments": call.arguments},
    }
    if call.signature is not None:
        shown["provider_specific_fields"] = {"thought_signature": call.signature}
    return shown


def is_result_block(block: Any) -> bool:
    """Whether a content block is a tool result, as Anthropic writes them."""
    return block.__class__ is dict and block.get("type") == "tool_result"


KNOWN_ROLES = frozenset(ALIASES)
"""Roles of a ``ChatMessage`` that a class of its own exists for."""
