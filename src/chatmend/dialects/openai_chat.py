"""OpenAI Chat Completions as LiteLLM accepts it.

Each message is one dict; calls and thinking are under separate keys.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.dialects import server_tools
from chatmend.dialects.content import (
    original_if_same,
    read_content,
    read_parts_key,
    signature_of,
    write_content,
)
from chatmend.dialects.roles import role_of
from chatmend.dialects.traits import (
    Traits,
    fill_content,
    kind_of,
    remember,
    set_limits,
    with_system,
)
from chatmend.transcript import (
    ANSWERED,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.sketch import Sketch
    from chatmend.transcript import Native, Part

NAME = "openai_chat"
TRAITS = Traits(
    tools_keys=("tools", "functions"),
    thinking_keys=("thinking", "reasoning_effort", "reasoning", "extra_body.reasoning"),
    has_calls_key=True,
    typed_calls=True,
    signs_calls=True,
    signs_ids=True,
    reasoning_keys=True,
    drops_blank_texts=True,
)
__all__ = [
    "NAME",
    "TRAITS",
    "cache_key",
    "fill_content",
    "kind_of",
    "read",
    "remember",
    "set_limits",
    "sketch",
    "translate_foreign",
    "with_system",
    "write",
]  # fmt: skip


_THINKING_KEYS = frozenset({"thinking_blocks", "reasoning_content"})
_PART_KEYS = _THINKING_KEYS | {"tool_calls", "function_call"}
"""The keys of a message that hold parts, in addition to ``content``."""
_CALL_KEYS = frozenset({"id", "type", "function", "name", "arguments"})
"""The keys of a call that are read into a ``ToolCall`` and written from it."""

_FLAT_ARGUMENTS = ("arguments", "input", "args")
"""Keys of the arguments of a call without ``function``; ``args`` is that of LangChain."""
_KEYS_WITHOUT_CONTENT = frozenset(
    {"index", "provider_specific_fields", "extra_content", "cache_control", "parsed_arguments"}
)
"""Keys that add no content to a call: its position in a stream, its signature, a cache marker.

``parsed_arguments`` repeats the arguments (OpenAI's SDK).
"""

_ROLE_AND_CONTENT = _NAME_AND_ARGUMENTS = 2
_RESULT_OR_CALLS = _ID_TYPE_FUNCTION = 3
"""Numbers of keys of common messages, calls and functions."""


def cache_key() -> str:
    """Return the name of the dialect: all transcripts share the cache of known structures."""
    return NAME


def sketch(native: Native, checker: Sketch) -> object:
    """Return a value shared by messages of one common structure; None for any other.

    Common are a list of text parts, a tool result, an assistant message with calls, and each of
    them with thinking blocks.
    """
    if not isinstance(native, dict):
        return None
    if "thinking_blocks" not in native:
        return _form_of_keys(native, len(native), checker)
    thinking = checker.form_of_thinking(native["thinking_blocks"])
    form = None if thinking is None else _form_of_keys(native, len(native) - 1, checker)
    return None if form is None else (form, thinking)


def _form_of_keys(native: dict[str, object], size: int, checker: Sketch) -> object:
    """Return the form of a message without its thinking blocks, which has ``size`` keys."""
    if size == _ROLE_AND_CONTENT:
        return _form_of_role_and_content(native, checker)
    if size != _RESULT_OR_CALLS:
        return None
    if "tool_calls" in native:
        return _form_of_calls(native, checker)
    return _form_of_result(native, checker) if "tool_call_id" in native else None


def _form_of_role_and_content(native: dict[str, object], checker: Sketch) -> object:
    role, content = native.get("role"), checker.form_of_content(native.get("content", ()))
    return None if content is False or role.__class__ is not str else (role, content)


def _form_of_result(native: dict[str, object], checker: Sketch) -> object:
    if native.get("role") != "tool" or not checker.is_id(native["tool_call_id"]):
        return None
    content = checker.form_of_content(native.get("content", ()))
    return None if content is False else ("tool", content, None)


def _form_of_calls(native: dict[str, object], checker: Sketch) -> object:
    calls, content = native["tool_calls"], checker.form_of_content(native.get("content", ()))
    if not isinstance(calls, list) or native.get("role") != "assistant" or content is False:
        return None
    for call in calls:
        if not _is_usual_call(call, checker):
            return None
    return "assistant", content, len(calls)


def _is_usual_call(call: Native, checker: Sketch) -> bool:
    if (
        call.__class__ is not dict
        or len(call) != _ID_TYPE_FUNCTION
        or call.get("type") != "function"
    ):
        return False
    function = call.get("function")
    if (
        function.__class__ is not dict
        or len(function) != _NAME_AND_ARGUMENTS
        or not checker.is_id(call.get("id"))
    ):
        return False
    return checker.is_name(function.get("name")) and checker.is_arguments(function.get("arguments"))


def read(native: Native) -> Message:
    """Read one message. Never raises."""
    if not isinstance(native, dict):
        text = (Text(native),) if isinstance(native, str) else (Opaque(native),)
        return Message(Role.USER, text, native)
    role, spelling, value = role_of(native), native.get("role"), native.get("content")
    content = (Text(value, value),) if value.__class__ is str and value else read_content(value)
    if role is Role.TOOL:
        legacy = spelling == "function"
        result = ToolResult(native.get("tool_call_id"), content, native.get("name"), legacy, native)
        return Message(role, (result,), native, spelling)
    if not _PART_KEYS.isdisjoint(native):
        thinking = _read_thinking(native) if role is Role.ASSISTANT else ()
        content = (*thinking, *content, *_read_calls(native))
    return Message(role, content, native, spelling)


def _read_thinking(native: dict[str, object]) -> list[Part]:
    parts: list[Part] = []
    blocks = native.get("thinking_blocks")
    if blocks is not None and not isinstance(blocks, list):
        parts.append(Thinking("", location="thinking_blocks", native=blocks))
    for block in blocks if isinstance(blocks, list) else ():
        (part,) = read_content([block])
        parts.append(
            Thinking(part.text, part.signature, part.redacted, "thinking_blocks", block)
            if isinstance(part, Thinking)
            else Thinking("", None, redacted=False, location="thinking_blocks", native=block)
        )
    reasoning = native.get("reasoning_content")
    if reasoning is not None:
        text = reasoning if isinstance(reasoning, str) else ""
        parts.append(Thinking(text, location="reasoning_content", native=reasoning))
    return parts


def _read_calls(native: dict[str, object]) -> list[ToolCall]:
    listed = native.get("tool_calls")
    calls = [_read_call(call) for call in listed] if isinstance(listed, list) else []
    if "provider_specific_fields" in native:
        results = server_tools.results_in_fields(native)
        calls = [_as_answered(call, results) for call in calls]
    legacy = native.get("function_call")
    if isinstance(legacy, dict):
        calls.append(
            ToolCall(None, legacy.get("name"), legacy.get("arguments"), legacy=True, native=legacy)
        )
    return calls


def _as_answered(call: ToolCall, results: dict[str, dict[str, Any]]) -> ToolCall:
    """Return a call as answered if its result is in the same message."""
    is_answered = isinstance(call.id, str) and call.id in results
    return replace(call, kind=ANSWERED) if is_answered else call


def _read_call(native: Native) -> ToolCall:
    if not isinstance(native, dict):
        return ToolCall(None, None, native, native=native)
    function, kind = native.get("function"), "function"
    if not isinstance(function, dict):
        custom, kind = native.get("custom"), "custom" if "custom" in native else "function"
        function = {**custom, "arguments": custom.get("input")} if isinstance(custom, dict) else {}
    name, arguments = function.get("name"), function.get("arguments")
    return ToolCall(
        native.get("id"), name, arguments, signature_of(native), native=native, kind=kind
    )


def flat_name_and_arguments(native: dict[str, object]) -> tuple[object, object]:
    """Return the name and arguments in the top-level keys of a call without a function object.

    If it has no ``name``, its ``function`` may be the name.
    """
    function = native.get("function")
    name = native.get("name") or (function if isinstance(function, str) else None)
    return name, native.get(_flat_arguments_key(native))


def _flat_arguments_key(native: dict[str, object]) -> str:
    """Return the key of the arguments of a call without ``function``."""
    return next((key for key in _FLAT_ARGUMENTS if key in native), "arguments")


def other_call_keys(native: dict[str, object]) -> dict[str, object]:
    """Return the keys with content that are not read into a call, and their values."""
    read = _CALL_KEYS | _KEYS_WITHOUT_CONTENT | {"custom"}
    function = native.get("function")
    held = native if not isinstance(function, dict) else {**native, **function}
    if not isinstance(function, dict):
        read |= {_flat_arguments_key(native)}
    return {key: value for key, value in held.items() if value and key not in read}


def translate_foreign(message: Message) -> tuple[Message, ...]:
    """Return a message for each result in ``tool_responses``, where AutoGen stores several.

    Content under ``parts``, Gemini's key, moves to ``content``. Empty if a message has neither.
    """
    if message.role is not Role.TOOL:
        return read_parts_key(message)
    held = message.extra.get("tool_responses")
    if message.extra.get("tool_call_id") is not None or not isinstance(held, list):
        return ()
    if not all(isinstance(one, dict) and "tool_call_id" in one for one in held):
        return ()
    return tuple(read({**one, "role": "tool"}) for one in held)


def write(message: Message) -> Native:
    """Write one message; an unchanged message returns its native object."""
    return original_if_same(_build_native(message), message, read)


def _build_native(message: Message) -> dict[str, object]:
    spelling, base = message.native_role, message.kept_keys
    # A role that the message did not have becomes its first key.
    out: dict[str, object] = {"role": None, **base}
    out["role"] = str(message.role) if spelling is None or spelling == message.role else spelling
    if message.role is Role.TOOL:
        _write_result(out, message)
        return out
    calls: list[ToolCall] = []
    thoughts: list[Thinking] = []
    content: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            calls.append(part)
        elif isinstance(part, Thinking) and part.location != "content":
            thoughts.append(part)
        else:
            content.append(part)
    out["content"] = write_content(tuple(content), out.get("content"))
    if message.is_assistant:
        _write_thinking(out, thoughts)
    write_calls(out, calls, _write_call)
    if calls and not content and not isinstance(base.get("content"), str | list):
        out["content"] = None
    return out


def _write_result(out: dict[str, object], message: Message) -> None:
    (result,) = message.results or [ToolResult(None, message.parts)]
    if result.call_id is not None:
        out["tool_call_id"] = result.call_id
    if result.name is not None:
        out["name"] = result.name
    else:
        out.pop("name", None)
    out["content"] = write_content(result.content, out.get("content"))
    if out["content"] is None:
        out["content"] = ""


def _write_thinking(out: dict[str, object], thoughts: list[Thinking]) -> None:
    if not thoughts and _THINKING_KEYS.isdisjoint(out):
        return
    blocks = [part.native for part in thoughts if part.location == "thinking_blocks"]
    if blocks:
        out["thinking_blocks"] = (
            blocks if out.get("thinking_blocks") is not blocks[0] else blocks[0]
        )
    else:
        out.pop("thinking_blocks", None)
    reasoning = [part for part in thoughts if part.location == "reasoning_content"]
    if len(reasoning) == 1 and not reasoning[0].text and reasoning[0].native is not None:
        out["reasoning_content"] = reasoning[0].native  # which may be unreadable
    elif reasoning:
        out["reasoning_content"] = "\n\n".join(part.text for part in reasoning)
    elif out.get("reasoning_content") is not None:
        del out["reasoning_content"]


def write_calls(
    out: dict[str, object], calls: list[ToolCall], write_call: Callable[[ToolCall], Native]
) -> None:
    """Write calls to ``tool_calls``, and a legacy call to ``function_call``."""
    modern = [write_call(call) for call in calls if not call.legacy]
    old = out.get("tool_calls")
    if modern:
        same = isinstance(old, list) and is_unchanged(old, modern)
        out["tool_calls"] = old if same else modern
    elif old is None or isinstance(old, list):  # other values: see malformed_tool_call
        out.pop("tool_calls", None)
    legacy = next((call for call in calls if call.legacy), None)
    if legacy is None:
        if out.get("function_call") is None or isinstance(out["function_call"], dict):
            out.pop("function_call", None)
        return
    native = legacy.native if isinstance(legacy.native, dict) else {}
    fields = {"name": legacy.name, "arguments": legacy.arguments}
    out["function_call"] = native if {**native, **fields} == native else {**native, **fields}


def _write_call(call: ToolCall) -> Native:
    native = call.native if isinstance(call.native, dict) else {}
    if "function" in native or "custom" not in native:
        old = _read_call(native)
        if native and (old.id, old.name, old.arguments, old.signature) == (
            call.id,
            call.name,
            call.arguments,
            call.signature,
        ):
            return native
        function = native.get("function")
        function = {**function} if isinstance(function, dict) else {}
        function |= {"name": call.name, "arguments": call.arguments}
        if call.signature != old.signature:
            _remove_signature(function)
        if not isinstance(native.get("function"), dict) and call.arguments is not None:
            moved = _flat_arguments_key(native)  # into the function
            native = {key: value for key, value in native.items() if key != moved}
        out = _build_call(call.id, function, native)
        if call.signature != old.signature:
            _write_signature(out, call.signature)
        return out
    return native if native.get("id") == call.id else {**native, "id": call.id}


def _build_call(call_id: object, function: object, native: dict[str, object]) -> dict[str, object]:
    """Return an item of ``tool_calls`` that keeps the other keys of the original call."""
    held = native.get("function")
    is_read = isinstance(held, dict) and "arguments" in held
    read = _CALL_KEYS - {"name", "arguments"} if is_read else _CALL_KEYS
    rest = {key: value for key, value in native.items() if key not in read}
    return {"id": call_id, "type": "function", "function": function, **rest}


def _write_signature(out: dict[str, object], signature: object) -> None:
    _remove_signature(out)
    if signature is not None:
        fields = out.get("provider_specific_fields")
        out["provider_specific_fields"] = {
            **(fields if isinstance(fields, dict) else {}),
            "thought_signature": signature,
        }


def _remove_signature(out: dict[str, object]) -> None:
    """Remove the thought signature from a copy of a call or its function."""
    for key in ("provider_specific_fields", "extra_content"):
        fields = out.get(key)
        if isinstance(fields, dict):
            kept = {k: v for k, v in fields.items() if k not in ("thought_signature", "google")}
            google = fields.get("google")
            if isinstance(google, dict):
                inner = {k: v for k, v in google.items() if k != "thought_signature"}
                kept |= {"google": inner} if inner else {}
            if kept:
                out[key] = kept
            else:
                del out[key]
