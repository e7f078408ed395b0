"""The LangChain adapter: ``repair_messages``, a function and a Runnable in one.

    from chatmend.langchain import repair_messages

    model.invoke(repair_messages(history, target="mistral/mistral-large-latest"))
    chain = prompt | repair_messages(target="mistral/mistral-large-latest") | model

Messages that need no change come back as the very objects that went in; only changed ones are rebuilt. LangChain's own
conversion loses invalid tool calls, statuses, artifacts and metadata, and raises on some content: so it is used on one
message at a time, and whatever it loses is taken again from the message that came in.
``CHATMEND_DISABLED=1`` in the environment switches it off.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    InvalidToolCall,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableLambda

from chatmend.errors import ChatmendError
from chatmend.repair import repair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import MessageLikeRepresentation

    from chatmend.policy import Policy

    Messages = Sequence[MessageLikeRepresentation] | PromptValue

__all__ = ["repair_messages"]

_log = logging.getLogger("chatmend.langchain")

_Native = dict[str, Any]

_SOURCE = "langchain_source"
"""The key under which a dict remembers its message; keys that the core does not know travel along."""

_ROLES = {"ai": "assistant", "human": "user"}

_CALL_BLOCKS = frozenset(
    {
        "custom_tool_call",
        "function_call",
        "invalid_tool_call",
        "tool_call",
        "tool_call_chunk",
        "tool_use",
    }
)
"""Content blocks that repeat what stands in ``tool_calls``; both are sent if only one is changed."""

_CALL_KEYS = frozenset({"function_call", "tool_calls"})
"""The same in ``additional_kwargs``."""

_SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Gemini's signatures in ``additional_kwargs``, by call id."""


@overload
def repair_messages(
    messages: None = None, *, target: str, policy: Policy | None = None
) -> Runnable[Messages, list[BaseMessage]]: ...


@overload
def repair_messages(messages: Messages, *, target: str, policy: Policy | None = None) -> list[BaseMessage]: ...


def repair_messages(
    messages: Messages | None = None, *, target: str, policy: Policy | None = None
) -> list[BaseMessage] | Runnable[Messages, list[BaseMessage]]:
    """Repair messages for a target, or make a Runnable that does so when called without messages.

    Args:
        messages: Messages, anything that LangChain turns into messages, or a prompt value.
        target: Where they go, named as LiteLLM names models: ``"anthropic/claude-sonnet-4-5"``.
        policy: Choices between repairs; the default is lossless.

    Returns:
        The same list when nothing was wrong; else a new one, in which untouched messages are the same objects.

    Raises:
        TargetError: The target leads to no table.
    """
    if messages is None:
        return RunnableLambda(partial(_repaired, target=target, policy=policy), name="repair_messages")
    return _repaired(messages, target=target, policy=policy)


def _repaired(messages: Messages, *, target: str, policy: Policy | None) -> list[BaseMessage]:
    came = _as_list(messages)
    if os.environ.get("CHATMEND_DISABLED") == "1":
        return came
    try:
        conversion = _Conversion(came)
        done = repair(conversion.native, target, policy=policy)
        if counts := Counter(change.code for change in done.changes if change.applied):
            # Codes and counts, never content.
            _log.info("chatmend repaired: %s", ", ".join(f"{code} x{n}" for code, n in sorted(counts.items())))
        return came if done.messages is conversion.native else conversion.back(done.messages)
    except ChatmendError:
        raise
    except Exception as error:  # noqa: BLE001 - a fault of ours must not cost the caller the request
        # The type alone: the text of an exception may quote the transcript.
        _log.warning("chatmend failed with %s; the messages stay as they were", type(error).__name__)
        return came


def _as_list(messages: Messages) -> list[BaseMessage]:
    """Return the messages as LangChain's own objects: the same list where it already is one."""
    if isinstance(messages, PromptValue):
        return messages.to_messages()
    if isinstance(messages, list) and all(isinstance(message, BaseMessage) for message in messages):
        return messages
    return convert_to_messages(messages)


class _Conversion:
    """The way there and back for one list of messages."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        """Read the messages; ``native`` is what the core gets."""
        self.messages = messages
        self.groups = [_read(message, index) for index, message in enumerate(messages)]
        self.native = [native for group in self.groups for native in group]

    def back(self, repaired: Sequence[Any]) -> list[BaseMessage]:
        """Return LangChain messages for the dicts that the core gave back."""
        result: list[BaseMessage] = []
        at = 0
        taken: set[int] = set()
        while at < len(repaired):
            native = dict(repaired[at])
            source = native.pop(_SOURCE, None)
            group = self.groups[source] if source is not None else []
            span = repaired[at : at + len(group)]
            if group and list(map(id, span)) == list(map(id, group)):
                result.append(self.messages[source])
                at += len(group)
            else:
                original = self.messages[source] if source is not None else None
                result.append(_write(native, original, group, keep_id=source not in taken))
                at += 1
            if source is not None:
                taken.add(source)
        return result


def _read(message: BaseMessage, index: int) -> list[_Native]:
    """Return one message as dicts; an Anthropic message with tool results becomes several."""
    try:
        group = [dict(native) for native in convert_to_openai_messages([message])]
    except Exception:  # noqa: BLE001 - it raises many things for content that it does not know: then it goes as it is
        group = [_verbatim(message)]
    if len(group) > 1 and _is_result(message.content[0]):
        # LangChain puts the words first; in the message the results are.
        group.sort(key=lambda native: native["role"] != "tool")
    broken = message.invalid_tool_calls if isinstance(message, AIMessage) else []
    if broken:
        group[0]["tool_calls"] = [*group[0].get("tool_calls", []), *map(_open_call, broken)]
    for native in group:
        native[_SOURCE] = index
    return group


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _verbatim(message: BaseMessage) -> _Native:
    """Return a message with its content blocks as they are."""
    native: _Native = {"role": _ROLES.get(message.type, message.type), "content": message.content}
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = [{**call, "args": json.dumps(call["args"], ensure_ascii=False)} for call in message.tool_calls]
        native["tool_calls"] = [_open_call(call) for call in calls]
    if isinstance(message, ToolMessage):
        native["tool_call_id"] = message.tool_call_id
    return native


def _open_call(call: Any) -> _Native:
    """Return a call as OpenAI writes it, its arguments as the text that they are."""
    return {
        "type": "function",
        "id": call.get("id"),
        "function": {"name": call.get("name"), "arguments": call.get("args") or ""},
    }


def _write(native: _Native, original: BaseMessage | None, group: list[_Native], *, keep_id: bool) -> BaseMessage:
    """Return a changed dict as a message, with what the way there lost."""
    calls = native.pop("tool_calls", None) or []
    native["content"] = "" if native.get("content") is None else native["content"]
    message = convert_to_messages([native])[0]
    if isinstance(message, AIMessage):
        parsed = [_closed_call(call) for call in calls]
        message.tool_calls = [call for call in parsed if call["type"] == "tool_call"]
        message.invalid_tool_calls = [call for call in parsed if call["type"] == "invalid_tool_call"]
    if original is not None and original.type == message.type:
        alone = len(group) == 1
        _restore(message, original, content_kept=alone and native["content"] is group[0].get("content"))
        message.id = original.id if keep_id else None
    return message


def _closed_call(call: Any) -> Any:
    """Return a call as LangChain writes it: an invalid one where the arguments are no JSON object."""
    function = call.get("function") or {}
    name, raw = function.get("name"), function.get("arguments")
    try:
        args = json.loads(raw, strict=False) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        args = None
    if isinstance(args, dict) and isinstance(name, str):
        return {"name": name, "args": args, "id": call.get("id"), "type": "tool_call"}
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return InvalidToolCall(type="invalid_tool_call", id=call.get("id"), name=name, args=text, error=None)


def _restore(message: BaseMessage, original: BaseMessage, *, content_kept: bool) -> None:
    """Give a rebuilt message what LangChain's conversion does not carry."""
    message.response_metadata = original.response_metadata
    kept = {key: value for key, value in original.additional_kwargs.items() if key not in _CALL_KEYS}
    message.additional_kwargs = {**kept, **message.additional_kwargs}
    if isinstance(message, ToolMessage) and isinstance(original, ToolMessage):
        message.status, message.artifact = original.status, original.artifact
    if isinstance(message, AIMessage) and isinstance(original, AIMessage):
        message.usage_metadata = original.usage_metadata
        _rename_signatures(message, original)
    if content_kept:
        message.content = _without_calls(original.content)


def _without_calls(content: Any) -> Any:
    """Return content without the blocks that repeat tool calls; LangChain writes those from ``tool_calls``."""
    if not isinstance(content, list):
        return content
    return [block for block in content if not (isinstance(block, dict) and block.get("type") in _CALL_BLOCKS)]


def _rename_signatures(message: AIMessage, original: AIMessage) -> None:
    """Let Gemini's signatures follow their calls to new ids."""
    signatures = original.additional_kwargs.get(_SIGNATURES)
    if isinstance(signatures, dict) and len(message.tool_calls) == len(original.tool_calls):
        pairs = zip(original.tool_calls, message.tool_calls, strict=True)
        message.additional_kwargs[_SIGNATURES] = {
            new["id"]: signatures[old["id"]] for old, new in pairs if old["id"] in signatures
        }
