"""An item of the Responses API, or a call of a custom tool, that this server does not support.

Other servers implement a part of OpenAI's Responses API. A conversation that began at OpenAI, or
that an agent such as Codex has recorded, contains items that they do not know. In Chat Completions,
only OpenAI's models have custom tools, whose calls hold free text (``type: custom``).

Why: ``input[14]: unknown input item type: "web_search_call"`` (Ollama), ``input.12: item type
"compaction" is not supported`` (Kimi), ``Cannot determine type of 'item'`` (llama.cpp), ``Encrypted
content is not supported.`` (vLLM), ``data did not match any variant of untagged enum ModelInput``
(xAI), ``tool_calls.0.function: Field required`` (Mistral). One such item makes the server refuse
every later request of the conversation.

Repair: A call of a custom tool, or of a tool that OpenAI defines (a shell, a patch, a computer),
becomes a function call with the same call id, and its output becomes the output of a function. A
message of another agent becomes a user message. Other items become text with their JSON. Removed
are items that only the server which made them can read (a compaction, a reference), and items that
are settings, not content. The functions and custom tools of a removed ``additional_tools`` become
tools of the request. An answer that is a list of texts, without the type of an item, becomes
a string for vLLM, which refuses such a list. Where only the text of reasoning is read, its
encrypted content is removed, and reasoning without a text.

Before (ollama/llama3.1):
    [{"role": "user", "content": "Add a line."},
     {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "apply_patch",
      "input": "+ line"},
     {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done."}]
After:
    [{"role": "user", "content": "Add a line."},
     {"type": "function_call", "call_id": "call_1", "name": "apply_patch",
      "arguments": "{\\"input\\": \\"+ line\\"}"},
     {"type": "function_call_output", "call_id": "call_1", "output": "Done."}]

Before (deepseek/deepseek-chat):
    [{"role": "user", "content": "How many?"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}]},
     {"role": "tool", "tool_call_id": "call_1", "content": "1"}]
After:
    [{"role": "user", "content": "How many?"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_1", "type": "function", "function": {
             "name": "sql", "arguments": "{\\"input\\": \\"SELECT 1\\"}"}}]},
     {"role": "tool", "tool_call_id": "call_1", "content": "1"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.entries import UNREADABLE_ITEMS, has_encrypted_content, texts_of
from chatmend.dialects.traits import kind_of
from chatmend.merging import text_of
from chatmend.placeholders import CALL_NOTE, NOTE, continued
from chatmend.rules.item_tools import CODE, NAME, TOOLS, split_tools
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import (
    Message,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    is_private_key,
    is_unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_WHY = "the target does not support this type of item"
_WHY_CUSTOM = "the target does not support calls of custom tools"
_WHY_REASONING = "the target reads only the text of reasoning"
_WHY_NULL = "the target refuses reasoning whose content is null"
_BASIC = frozenset({"function_call", "function_call_output"})
"""Types that every server with a Responses API supports."""
_OWN_KEYS = frozenset({"type", "id", "call_id", "name", "output", "created_by", "caller"})
"""Keys of calls and outputs that are not what the model wrote, or have a place of their own."""
_KEYS_OF_CUSTOM = (_OWN_KEYS - {"output"}) | {"namespace", "status"}
"""Keys of the calls of custom tools and of their outputs, other than their content."""
_USUAL: tuple[object, ...] = (None, [], "completed")
"""Values of keys that say nothing."""
_ANSWER_KEYS = ("type", "id", "status")
"""The keys of an answer that is an item, next to role and content."""
_MESSAGE_PARTS = ("input_text", "input_image")
"""Types of parts that user messages may have at every server."""
_Becomes = tuple[Message | None, str, Effect]


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for items, and for forms of reasoning, that the target does not support."""
    if not context.traits.messages_are_items:
        yield from _find_in_chat(window, context)
        return
    found = {
        at: becomes
        for at, message in enumerate(window.messages)
        if (becomes := _supported(message, context)) is not None
    }
    if not found:
        return
    removed = {at for at, (message, _, _) in found.items() if message is None}
    kept_place = _place_of_placeholder(window, removed) if not memory.has_turns else None
    for at, (message, why, effect) in found.items():
        sent = continued(Role.USER) if at == kept_place else message
        fix = Fix(at, at + 1, () if sent is None else (sent,), why, effect)
        yield _with_tools(fix, window.messages[at], context) if message is None else fix


def _with_tools(fix: Fix, removed: Message, context: Context) -> Fix:
    """Return the fix that removes an item, with the tools that the request declares instead."""
    if removed.kind != TOOLS or not context.limits.tools_taken:
        return fix
    has_custom = not _is_unsupported("custom_tool_call", context.limits, context.traits)
    tools, lost = split_tools(removed.extra.get("tools"), has_custom=has_custom)
    why = f"{fix.why}; dropped with it are tools of other types: {', '.join(lost)}"
    return replace(fix, declares=tuple(tools), why=why if lost else fix.why)


def _find_in_chat(window: Window, context: Context) -> Iterator[Fix]:
    """Yield fixes for the calls of custom tools in chat messages."""
    if context.limits.custom_calls or not context.traits.has_calls_key:
        return
    for at, message in enumerate(window.messages):
        parts = tuple(map(_without_custom, message.parts))
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (message.with_parts(parts),), _WHY_CUSTOM)


def _without_custom(part: Part) -> Part:
    """Return a function call for a call of a custom tool, with its text as an argument."""
    if not isinstance(part, ToolCall) or part.kind != "custom":
        return part
    kept = {key: value for key, value in part.extra.items() if key not in ("custom", "type")}
    arguments = jsontext.dumps({"input": part.arguments})
    return replace(part, kind="function", arguments=arguments, native=kept)


def _place_of_placeholder(window: Window, removed: set[int]) -> int | None:
    """Return the index of the removed item that a placeholder replaces, if nothing else is left.

    An empty transcript is refused. A conversation whose first messages were not the model's keeps
    the placeholder when it continues, so that what was sent stays the beginning.
    """
    count = len(window.messages)
    answers = (at for at, message in enumerate(window.messages) if message.is_assistant)
    if opening := next(answers, count):
        return opening - 1 if removed.issuperset(range(opening)) else None
    return count - 1 if window.is_last and len(removed) == count else None


def _supported(message: Message, context: Context) -> _Becomes | None:
    """Return what an item becomes (None: it is removed); None if the target supports it."""
    if not _is_unsupported(message.kind, context.limits, context.traits):
        return _readable(message, context) if message.kind == "reasoning" else None
    if message.calls:
        parts = tuple(map(_as_function_call, message.calls))
        return Message(Role.ASSISTANT, parts), _WHY, _effect_on_keys(message.calls, "input")
    if message.results:
        outputs = tuple(map(_as_function_output, message.results))
        return Message(Role.TOOL, outputs), _WHY, _effect_on_keys(message.results, "output")
    return _as_message(message, context)


def _is_unsupported(kind: object, limits: Limits, traits: Traits) -> bool:
    """Return whether the target does not support a type of item that OpenAI's API has."""
    if not jsontext.is_one_of(kind, traits.item_types) or kind in _BASIC:
        return False
    is_known = limits.item_types is None or kind in limits.item_types
    return kind in limits.refused_items or not is_known


def _effect_on_keys(parts: Sequence[ToolCall] | Sequence[ToolResult], content_key: str) -> Effect:
    """Return the effect on calls or outputs, which may have text under unknown keys.

    What a hosted tool has written is kept as JSON.
    """
    known = _KEYS_OF_CUSTOM | {content_key}
    lost = [
        part.extra[key]
        for part in parts
        if not part.is_hosted
        for key in part.extra
        if key not in known and not is_private_key(key)
    ]
    return Effect.DROPS if any(True for _ in jsontext.strings(lost)) else Effect.RESHAPES


def _as_function_call(call: ToolCall) -> ToolCall:
    """Return a function call whose arguments are what the model wrote, as a JSON object."""
    if call.is_hosted:
        return ToolCall(call.id, call.kind, jsontext.dumps(_written(call.extra)))
    kept = {key: call.extra[key] for key in ("namespace",) if key in call.extra}
    arguments = jsontext.dumps({"input": call.arguments})
    return ToolCall(call.id, call.name, arguments, native={"type": "function_call", **kept})


def _as_function_output(result: ToolResult) -> ToolResult:
    """Return the output of a function, with the other keys of a hosted output as JSON text."""
    content = tuple(map(_readable_output, result.content))
    if result.is_hosted and (others := _written(result.extra)):
        content = (*content, Text(jsontext.dumps(others)))
    return ToolResult(result.call_id, content)


def _written(native: dict[str, Any]) -> dict[str, Any]:
    """Return what a call or an output says under keys that a function does not have."""
    return {
        key: value for key, value in native.items() if key not in _OWN_KEYS and value not in _USUAL
    }


def _readable_output(part: Part) -> Part:
    """Return a part of an output, what a hosted tool has returned as JSON text."""
    kind = part.extra.get("type")
    is_part = isinstance(part, Text) or isinstance(kind, str)
    return part if is_part else Text(part.as_json)


def _as_message(message: Message, context: Context) -> _Becomes:
    """Return an item without a call as a message with its text."""
    native = message.extra
    if message.kind == "agent_message":
        return _as_user_message(native.get("content"), context)
    if message.kind == "reasoning" or message.kind in UNREADABLE_ITEMS:
        return None, _WHY, Effect.DROPS
    kept = _without_images(native)
    effect = Effect.DEGRADES if kept == native else Effect.DROPS
    kind = "output_text" if message.is_assistant else "input_text"
    note = CALL_NOTE if message.is_assistant else NOTE
    text = {"type": kind, "text": note + jsontext.dumps(kept)}
    return _new_message(message.role, [text], context), _WHY, effect


def _as_user_message(content: object, context: Context) -> _Becomes:
    """Return the message of another agent as a message of the user, if it can be read."""
    if isinstance(content, str):
        parts: list[Any] = [{"type": "input_text", "text": content}]
        return _new_message(Role.USER, parts, context), _WHY, Effect.DEGRADES
    listed = content if isinstance(content, list) else []
    parts = [part for part in listed if kind_of(part) in _MESSAGE_PARTS]
    effect = Effect.DEGRADES if len(parts) == len(listed) else Effect.DROPS
    if not parts:
        return None, _WHY, Effect.DROPS
    return _new_message(Role.USER, parts, context), _WHY, effect


def _without_images(native: dict[str, Any]) -> dict[str, Any]:
    """Return an item without the base64 data of the images that a hosted tool made."""
    if native.get("type") == "image_generation_call":
        return {key: value for key, value in native.items() if key != "result"}
    outputs = native.get("outputs")
    if native.get("type") != "code_interpreter_call" or not isinstance(outputs, list):
        return native
    return {**native, "outputs": [one for one in outputs if not _is_image(one)]}


def _is_image(output: object) -> bool:
    return isinstance(output, dict) and str(output.get("url")).startswith("data:")


def _new_message(role: Role, content: list[Any], context: Context) -> Message:
    return context.dialect.read({"type": "message", "role": str(role), "content": content})


def _readable(message: Message, context: Context) -> _Becomes | None:
    """Return reasoning in the form that the target reads; None if it has this form."""
    form, native = context.limits.reasoning_form, message.extra
    if form == "any":
        return None
    if form == "without-null":
        if native.get("content", ()) is not None:
            return None
        kept = {key: value for key, value in native.items() if key != "content"}
        return context.dialect.read(kept), _WHY_NULL, Effect.RESHAPES
    content, is_encrypted = texts_of(native.get("content")), has_encrypted_content(native)
    if not (is_encrypted or (form == "content" and not content)):
        return None
    texts = content or texts_of(native.get("summary"))
    if not texts:
        return None, _WHY_REASONING, Effect.DROPS
    kept = {key: value for key, value in native.items() if key != "encrypted_content"}
    kept["content"] = [{"type": "reasoning_text", "text": "\n\n".join(texts)}]
    effect = Effect.DROPS if is_encrypted else Effect.RESHAPES
    return context.dialect.read(kept), _WHY_REASONING, effect


def find_untyped(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages that lack the keys by which the target knows messages."""
    limits, which = context.limits, context.limits.typed_messages
    if not context.traits.messages_are_items or (which == "any" and limits.listed_answers):
        return
    for at, message in enumerate(window.messages):
        text = None if limits.listed_answers else _text_of_listed_answer(message)
        if text is not None:
            kept = {k: v for k, v in message.extra.items() if k not in _ANSWER_KEYS}
            effect = Effect.DROPS if message.has_other_text_keys else Effect.RESHAPES
            why = "the target requires a string as the content of an answer without a type"
            becomes = context.dialect.read({**kept, "content": text})
            yield Fix(at, at + 1, (becomes,), why, effect)
            continue
        is_meant = which == "all" or (which == "answers" and message.is_assistant)
        if is_meant and message.is_object and "type" not in message.extra:
            typed = context.dialect.read({"type": "message", **message.extra})
            yield Fix(at, at + 1, (typed,), "the target requires the type of a message")


def _text_of_listed_answer(message: Message) -> str | None:
    """Return the text of an answer that is a list of texts and lacks the type of an item."""
    is_list = message.is_assistant and isinstance(message.extra.get("content"), list)
    if not is_list or message.extra.get("type") is not None or not message.parts:
        return None
    return text_of(message.parts)


RULE = Rule(CODE, NAME, find, STRUCTURE)
ANSWERS = Rule(CODE, NAME, find_untyped, STRUCTURE)
