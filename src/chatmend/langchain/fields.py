"""A LangChain message shown as a dict in the shape of OpenAI's chat messages, which is what rules look at.

Nothing of the content is copied: blocks are the message's own. Two forms: ``fields`` for rules, with everything that
they may ask for; ``sketch`` for the scan of clean windows, with what can show a symptom and no more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, FunctionMessage, ToolMessage

from chatmend import jsontext
from chatmend.dialects.roles import ALIASES
from chatmend.langchain.calls import Call, calls_of, entries, odd_of, without_mirrors
from chatmend.langchain.reasoning import KEY, reasoning_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.targets.limits import Limits

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


def sketcher(limits: Limits, *, chat_messages: bool) -> Callable[[Any], Any]:
    """A function that shows a message to the scan. ``chat_messages``: the partner can send a ``ChatMessage``."""
    named = re.compile(limits.tool_name_pattern).fullmatch if limits.tool_name_pattern else None
    names_matter = limits.message_name is not None or limits.message_name_pattern is not None
    signed, owners = limits.thought_signatures != "any", limits.signature_owners
    thinks = limits.reasoning_content == "required"

    def sketch(message: Any) -> Any:
        if not isinstance(message, BaseMessage):
            return message
        role = role_of(message)
        if not chat_messages and message.type == "chat":
            role = _OTHER_SPELLING.get(role, role)
        shown: dict[str, Any] = {"role": role, "content": message.content}
        if message.name is not None and _is_odd(message.name, role, named, names_matter=names_matter):
            shown["name"] = message.name
        if role == "tool":
            shown["tool_call_id"] = getattr(message, "tool_call_id", None)
        elif role == "assistant" and isinstance(message, AIMessage):
            _sketch_answer(shown, message, signed=signed)
            if thinks and (thought := reasoning_of(message)):
                shown[KEY] = thought
            if owners and message.content.__class__ is list and (origin := _origin(message)) not in {*owners, None}:
                shown[PROVENANCE] = {"provider": origin}
        return shown

    return sketch


def _is_odd(name: str, role: str, named: Callable[[str], object] | None, *, names_matter: bool) -> bool:
    """Whether a name can be a symptom; a tool's name, which most results carry, hardly ever is one."""
    if role in ("tool", "function"):
        return role == "function" or (named is not None and not named(name)) or not jsontext.is_sound(name)
    return names_matter or not jsontext.is_sound(name)


def _sketch_answer(shown: dict[str, Any], message: AIMessage, *, signed: bool) -> None:
    if message.content.__class__ is list:
        shown["content"] = without_mirrors(message)
    if not message.additional_kwargs and not message.invalid_tool_calls and shown["content"] is message.content:
        if message.tool_calls:
            held = entries(message.tool_calls)
            shown["tool_calls"] = [_brief(call) if call.__class__ is dict else call for call in held]
        return
    calls, odd = calls_of(message), odd_of(message)
    if calls or odd:
        told = [_open(call) if signed or not call.is_plain else _brief(call.native) for call in calls]
        shown["tool_calls"] = [*told, *odd]
    elif "function_call" in message.additional_kwargs:
        shown["function_call"] = message.additional_kwargs["function_call"]
    if "prefix" in message.additional_kwargs:
        shown["prefix"] = message.additional_kwargs["prefix"]


def _brief(call: Any) -> dict[str, Any]:
    """A call whose arguments are an object already: their text is made only where it could show something."""
    args = call.get("args")
    text = "{}" if args.__class__ is dict and is_plain_object(args) else jsontext.dumps(args)
    return {"type": "function", "id": call.get("id"), "function": {"name": call.get("name"), "arguments": text}}


def is_plain_object(args: object) -> bool:
    """Whether arguments can hide neither half a character, which ``repr`` escapes, nor too deep a nest."""
    try:
        text = repr(args)
    except Exception:  # noqa: BLE001 - too deep, or an object of somebody else's
        return False
    finite = ("nan" not in text and "inf" not in text) or not _NO_NUMBER.search(text)
    return finite and "\\ud" not in text and text.count("[") + text.count("{") < jsontext.DEEPEST


_NO_NUMBER = re.compile(r"[\[{(:,] ?-?(?:nan|inf)[\]}),:]")
"""A number that JSON does not have, as ``repr`` shows it among others; words that begin so are none."""


def is_result_block(block: Any) -> bool:
    """Whether a content block is a tool result, as Anthropic writes them."""
    return block.__class__ is dict and block.get("type") == "tool_result"


KNOWN_ROLES = frozenset(ALIASES)
"""Roles of a ``ChatMessage`` that a class of its own exists for."""
