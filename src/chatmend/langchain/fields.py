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

from chatmend.dialects.blocks import WRAPPER, as_result_block, unwrap
from chatmend.dialects.roles import ALIASES
from chatmend.langchain.calls import (
    LangChainCall,
    as_list,
    calls_of,
    content_without_calls,
    dict_entries,
    id_of,
    is_call,
    malformed_entries,
)
from chatmend.langchain.message_fields import kwargs_of, metadata_of
from chatmend.langchain.reports import ADDED_USER, REPORT, has_code
from chatmend.rules import (
    mirrored_call,
    nested_result,
    unresolved_reference,
    unsendable_key,
    unsendable_part,
)
from chatmend.transcript import ANSWER_KEYS, PROVENANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.targets.converter_limits import ConverterLimits

IS_ERROR = "is_error"
"""Key of the dict of a tool message whose tool failed."""
SOURCE = "langchain"
"""The key of the number that identifies the message or call a dict was made from.

A number survives JSON.
"""
REASONING_KEY = "reasoning_content"
"""The key of an answer's reasoning in ``additional_kwargs``."""
_LITELLM_THINKING, _ORIGIN = "thinking_blocks", "origin"
"""Where langchain-litellm stores thinking, and the key of a block with the endpoint that signed it.

It sends no block without an origin.
"""
STORED_THINKING = (_LITELLM_THINKING, "reasoning_details")
"""Keys of ``additional_kwargs`` under which langchain-litellm and -openrouter store thinking."""
MODEL_PROVIDER = "model_provider"
"""The key of ``response_metadata`` under which LangChain records who wrote an answer."""
OUTPUT_VERSION = "output_version"
"""The key of ``response_metadata`` with the format of an answer's content."""
TOOL_OUTPUTS = "tool_outputs"
"""The key of items of the Responses API in ``additional_kwargs``."""
COMPUTER = "chatmend:computer-output"
"""The key of a tool message that is sent as the output of a computer, not of a function."""
BARE = "chatmend:bare-message"
"""The key of a ``BaseMessage`` that lost its class, as some stores return it; no class sends it."""

OBJECT_KWARGS = frozenset({"audio", "reasoning", "function_call", "executed_tools", TOOL_OUTPUTS})
"""Keys of ``additional_kwargs`` on which a converter may raise if the value is not an object."""
PRIVATE_KEYS = frozenset(
    {SOURCE, PROVENANCE, COMPUTER, BARE, IS_ERROR, nested_result.FOREIGN, *ADDED_USER.values()}
    | {mirrored_call.BLOCKS, mirrored_call.RAW, mirrored_call.LEGACY, mirrored_call.INVALID}
    | {unresolved_reference.REFERRING, unsendable_part.STANDARD}
    | {f"{unsendable_key.PREFIX}{name}" for name in OBJECT_KWARGS}
)
"""Keys of the dicts that no converter sends."""
_COMPUTER_OUTPUT = "computer_call_output"
_THINKING = ("thinking", "redacted_thinking")

ROLES = {
    "ai": "assistant",
    "human": "user",
    "system": "system",
    "tool": "tool",
    "function": "function",
}
"""The role of each type of message, in OpenAI's spelling."""


def role_of(message: BaseMessage) -> str:
    """Return the role in OpenAI's spelling; a ``ChatMessage`` stores its role."""
    role = ROLES.get(message.type)
    if role == "system":
        return str(kwargs_of(message).get("__openai_role__", role))
    if role is not None:
        return role
    if isinstance(message, ChatMessage):
        return message.role
    # The type of a chunk is not in `ROLES`: it is "AIMessageChunk".
    classes = [cls for cls in type(message).__mro__ if issubclass(cls, BaseMessage)][:-1]
    kinds = [str(cls.model_fields["type"].default) for cls in classes]
    return next((ROLES[kind] for kind in kinds if kind in ROLES), "user")


def fields_of(
    message: BaseMessage,
    register: Callable[[object], int],
    converter: ConverterLimits,
    *,
    includes_reasoning: bool = False,
    thinking_key: str = "",
) -> dict[str, Any]:
    """Return a message as a dict in OpenAI's format.

    Args:
        message: the message.
        register: returns the number under which an object can be found again.
        converter: which of its fields the partner package sends.
        includes_reasoning: whether to add the reasoning in ``additional_kwargs``.
        thinking_key: the key of ``additional_kwargs`` with thinking to add; empty for none.
    """
    fields: dict[str, Any] = {
        "role": role_of(message),
        "content": message.content,
        SOURCE: register(message),
    }
    if message.name is not None:
        fields["name"] = message.name
    if isinstance(message, ToolMessage | FunctionMessage) and _has_foreign_results(message):
        fields |= {"role": "user", nested_result.FOREIGN: True}
    elif isinstance(message, ToolMessage):
        fields["tool_call_id"] = message.tool_call_id
        if message.status == "error":
            fields[IS_ERROR] = True
        if is_computer_output(message):
            fields[COMPUTER] = True
    elif isinstance(message, AIMessage):
        _add_assistant_fields(fields, message, register, converter)
        if converter.item_ids and (calls := computer_calls_of(message)):
            fields["content"] = [*as_list(fields["content"]), *calls]
        if converter.raw_calls and not _has_raw_calls(message):
            fields[mirrored_call.RAW] = True
        if includes_reasoning and (thought := reasoning_of(message)):
            fields[REASONING_KEY] = thought
        fields |= _thinking_fields(message, thinking_key, fields)
    return fields


def reasoning_of(message: BaseMessage) -> str:
    """Return the reasoning in ``additional_kwargs`` of a message."""
    reasoning = kwargs_of(message).get(REASONING_KEY) if isinstance(message, AIMessage) else None
    return reasoning if isinstance(reasoning, str) else ""


def stored_thinking(message: BaseMessage, key: str) -> list[Any]:
    """Return the thinking under a key of ``additional_kwargs`` that the class may send."""
    found = kwargs_of(message).get(key) if key and isinstance(message, AIMessage) else None
    if not isinstance(found, list):
        return []
    if key != _LITELLM_THINKING:
        return found
    return found if all(isinstance(block, dict) and _ORIGIN in block for block in found) else []


def computer_calls_of(message: AIMessage) -> list[dict[str, Any]]:
    """Return the computer calls in ``additional_kwargs``, where ``output_version="v0"`` has them.

    langchain-openai sends them only with a list as content.
    """
    if not isinstance(message.content, list):
        return []
    items = dict_entries(kwargs_of(message).get(TOOL_OUTPUTS))
    return [item for item in items if item.get("type") == "computer_call"]


def _add_assistant_fields(
    fields: dict[str, Any],
    message: AIMessage,
    register: Callable[[object], int],
    converter: ConverterLimits,
) -> None:
    fields["content"] = content_without_calls(message)
    calls = calls_of(message, reads_raw=converter.spare_raw_calls)
    malformed = malformed_entries(message)
    if calls or malformed:
        fields["tool_calls"] = [
            *({**_to_openai_call(call), SOURCE: register(call)} for call in calls),
            *malformed,
        ]
    elif isinstance(legacy := kwargs_of(message).get("function_call"), dict):
        fields["function_call"] = legacy
    kwargs = kwargs_of(message)
    if "prefix" in kwargs:
        fields["prefix"] = kwargs["prefix"]
    if calls and "function_call" in kwargs:
        fields[mirrored_call.LEGACY] = True
    if not (calls or malformed) and _is_blank(message.content):
        fields |= {key: kwargs[key] for key in ANSWER_KEYS if kwargs.get(key)}
    for name in OBJECT_KWARGS & kwargs.keys():
        if not isinstance(kwargs[name], dict):
            fields[f"{unsendable_key.PREFIX}{name}"] = bool(kwargs[name])
    if message.invalid_tool_calls:
        entries = dict_entries(message.invalid_tool_calls)
        has_object = any(mirrored_call.is_object(entry.get("args")) for entry in entries)
        fields[mirrored_call.INVALID] = has_object
    if message.content.__class__ is list and any(map(is_call, message.content)):
        fields[mirrored_call.BLOCKS] = _describe_call_blocks(message, calls)
    if REPORT in metadata_of(message):
        fields |= answered_continuations(message)
    fields |= _origin_fields(message, converter)


def _origin_fields(message: AIMessage, converter: ConverterLimits) -> dict[str, Any]:
    """Return the fields that describe who wrote an answer, and in which format."""
    fields: dict[str, Any] = {}
    if converter.standard_takes is not None and has_standard_content(message):
        fields[unsendable_part.STANDARD] = True
    if recorded := metadata_of(message).get(MODEL_PROVIDER):
        provider = "bedrock" if recorded == "bedrock_converse" else recorded
        version = metadata_of(message).get(OUTPUT_VERSION)
        fields[PROVENANCE] = {
            "provider": provider, MODEL_PROVIDER: recorded, OUTPUT_VERSION: version
        }  # fmt: skip
    return fields


def _is_blank(content: Any) -> bool:
    """Return whether a content holds only blank texts, or nothing."""
    blocks = content if isinstance(content, list) else [content or ""]
    texts = [
        block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block
        for block in blocks
    ]
    return all(isinstance(text, str) and not text.strip() for text in texts)


def _thinking_fields(message: AIMessage, key: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that stored thinking adds to those of its message."""
    added: dict[str, Any] = {}
    if thinking := stored_thinking(message, key):
        added[key] = thinking
    if thinking and key == _LITELLM_THINKING and PROVENANCE in fields:
        # The recorded provider is `litellm`; the package itself checks who signed the thinking.
        added[PROVENANCE] = {**fields[PROVENANCE], "provider": None}
    return added


def has_standard_content(message: BaseMessage) -> bool:
    """Return whether the content of a message is a list of LangChain's own blocks (``v1``)."""
    return metadata_of(message).get(OUTPUT_VERSION) == "v1"


def answered_continuations(message: AIMessage) -> dict[str, Any]:
    """Return the keys that record which user message was added to the request of an answer."""
    report = metadata_of(message).get(REPORT)
    return {key: True for code, key in ADDED_USER.items() if has_code(report, code)}


def _describe_call_blocks(message: AIMessage, calls: list[LangChainCall]) -> dict[str, Any]:
    """Return what the rule ``mirrored-call`` needs to know about the calls in the content."""
    only = {id(call.native) for call in calls if call.location == "content"}
    last = message.content[-1]
    is_standard = has_standard_content(message)
    thinking = (*_THINKING, "reasoning") if is_standard else _THINKING
    return {
        "calls": [
            {
                "type": block["type"],
                "id": id_of(block),
                "only": id(block) in only,
                "keys": dict.fromkeys(map(str, block), True),  # keys are part of the structure
                "has_object": isinstance(block.get("input"), dict),
            }
            for block in message.content
            if isinstance(block, dict) and is_call(block)
        ],
        "positions": [_call_at(block) for block in message.content],
        "standard": is_standard,
        "thinking_last": isinstance(last, dict) and last.get("type") in thinking,
    }


def _call_at(block: Any) -> dict[str, Any] | None:
    """Return a call in the content in Anthropic's format; None if a block is no call."""
    if not is_call(block):
        return None
    extras = block.get("extras")
    holder = block if "caller" in block or not isinstance(extras, dict) else extras
    return {"type": "tool_use", "id": id_of(block), "caller": holder.get("caller")}


def _has_raw_calls(message: AIMessage) -> bool:
    """Return whether ``additional_kwargs`` hold every call of a message as a dict."""
    raw = kwargs_of(message).get("tool_calls")
    calls = dict_entries(raw)
    return len(calls) == len(calls_of(message)) == len(as_list(raw))


def _has_foreign_results(message: ToolMessage | FunctionMessage) -> bool:
    """Return whether a message holds only blocks with the results of other calls."""
    content = message.content
    if not content or isinstance(content, str):
        return False
    results = [as_result_block(block) if isinstance(block, dict) else None for block in content]
    if None in results:
        return False
    answered = {result.get("tool_use_id") for result in results if result is not None}
    return not (isinstance(message, ToolMessage) and answered == {message.tool_call_id})


def is_computer_output(message: ToolMessage) -> bool:
    """Return whether langchain-openai sends a tool message as the output of a computer."""
    is_marked = kwargs_of(message).get("type") == _COMPUTER_OUTPUT
    if isinstance(message.content, str):
        return is_marked
    blocks = [block for block in message.content if isinstance(block, dict)]
    has_image = any(block.get("type") == "input_image" for block in blocks)
    wrapped = (unwrap(block) for block in blocks if block.get("type") == WRAPPER)
    return (is_marked and has_image) or any(
        value.get("type") == _COMPUTER_OUTPUT for value in wrapped
    )


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


KNOWN_ROLES = frozenset(ALIASES)
"""Roles of a ``ChatMessage`` for which LangChain has a separate class."""
