"""A tool call in a field that the client library does not send, or sends in addition to another.

LangChain stores one call in up to six fields, and each partner package sends other ones of them. A
call in the wrong field is lost, or sent twice, and so is one that the content repeats. A call that
is a block may be sent with keys, or before other blocks, that the provider refuses. A stream that
was cut leaves parts of calls.

Why: ``messages with role 'tool' must be a response to a preceding message with 'tool_calls'``
(OpenAI, through langchain-nvidia-ai-endpoints); ``Invalid value: 'tool_call'`` (OpenAI, through
langchain-huggingface); ``KeyError: 'input'`` (langchain-aws).

Repair: All calls of the message move to the field that is sent. They are not changed. One that has
no result and is not sent is removed: a middleware has withdrawn it. A call of a custom tool whose
result is not of the same type becomes the call of a function, and so do the other such calls of its
turn and their results. The calls become text if LangChain does not list them as calls. This runs
only in the adapter for LangChain.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.call_order import (
    ends_with_text,
    has_call_before_hosted_tool,
    has_content_behind_calls,
)
from chatmend.changes import Effect, Fix
from chatmend.dialects.blocks import unwrap
from chatmend.exchanges import match
from chatmend.placeholders import CALL_NOTE
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.rules.unsendable_part import LIMIT, is_block
from chatmend.transcript import Opaque, Text, Thinking, ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.converter_limits import ConverterLimits
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message, Part
    from chatmend.windows import Memory, PartPosition, Window

BLOCKS = "chatmend:call-blocks"
"""Key of a message with calls in its content: a description of them, made by the adapter."""
RAW = "chatmend:unsent-raw-calls"
"""Key of a message whose ``additional_kwargs`` lack a call."""
LEGACY = "chatmend:legacy-call"
"""Key of a message whose ``additional_kwargs`` repeat a call as ``function_call``."""
INVALID = "chatmend:invalid-calls"
"""Key of a message with ``invalid_tool_calls``: whether the arguments of one are an object."""
_OUTPUT = "custom_tool_call_output"
_WHY = "the partner package sends calls from another field"
_WHY_WITHDRAWN = "the call has no result, and the partner package does not send it"
_WHY_OUTPUT = "the call of the result is sent as the call of a function"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages whose calls are in the wrong field, and for their results."""
    converter: ConverterLimits | None = context.limits.of(LIMIT)
    if converter is None:
        return
    typed = [_typed_calls(message, converter) for message in window.messages]
    is_open = any(typed) and _needs_functions(window, typed)
    kept = set() if is_open else {str(call_id) for ids in typed for call_id in ids}
    if memory.has_stored_history:
        kept |= _ids_of_strays(window)
    for at, message in enumerate(window.messages):
        if message.results and converter.typed_outputs:
            becomes = message.with_parts(_with_plain_outputs(message.parts, kept))
            if not is_unchanged(message.parts, becomes.parts):
                yield Fix(at, at + 1, (becomes,), _WHY_OUTPUT)
            continue
        is_function = is_open and bool(typed[at])
        rest, why = message, _WHY
        if context.policy.allow >= Effect.DROPS:
            rest = _without_withdrawn(message, window, converter)
        becomes, effect = _with_sent_calls(rest, converter, is_function=is_function)
        if rest is not message:
            why, effect = _WHY_WITHDRAWN, Effect.DROPS
        if becomes is not message:
            yield Fix(at, at + 1, (becomes,), why, effect)


def find_order(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages whose calls are sent before other blocks, which is refused."""
    converter: ConverterLimits | None = context.limits.of(LIMIT)
    if converter is None or not converter.calls_in_place:
        return
    for at, message in enumerate(window.messages[: window.run_length]):
        held = message.extra.get(BLOCKS)
        if not isinstance(held, dict):
            continue
        parts = _as_sent(message, held)
        if converter.trailing_thinking:
            parts = _without_thinking(parts)
        if _is_refused_order(parts, context.limits):
            becomes = replace(message, omitted_keys=message.omitted_keys | {BLOCKS})
            yield Fix(at, at + 1, (becomes,), "other blocks follow the calls of the same message")


def _with_sent_calls(
    message: Message, converter: ConverterLimits, *, is_function: bool
) -> tuple[Message, Effect]:
    """Return a message without the fields of calls that are not sent, and the effect.

    ``is_function``: whether its calls of custom tools become calls of functions.
    """
    held = message.extra.get(BLOCKS)
    is_misplaced = isinstance(held, dict) and (
        is_function or _is_misplaced(held, message, converter)
    )
    omitted = {BLOCKS} if is_misplaced else set()
    omitted |= {RAW} & message.extra.keys()
    if converter.legacy_calls:
        omitted |= {LEGACY} & message.extra.keys()
    # Arguments that are no object are repaired first (TOOL013).
    if not converter.invalid_calls and message.extra.get(INVALID):
        omitted |= {INVALID}
    becomes, effect = message, Effect.RESHAPES
    if is_function:
        becomes, effect = _without_wrapped(message, converter)
    if omitted or becomes is not message:
        becomes = replace(becomes, omitted_keys=message.omitted_keys | omitted)
    return becomes, effect


def _without_withdrawn(message: Message, window: Window, converter: ConverterLimits) -> Message:
    """Return a message without calls that are not sent and have no result.

    A middleware that removes a call from ``tool_calls`` may leave it in the content.
    """
    held = message.extra.get(BLOCKS)
    calls = held["calls"] if isinstance(held, dict) and not held["standard"] else ()
    ids = [jsontext.equality_key(call["id"]) for call in calls if call["only"]]
    if not ids or not _loses_calls(message, len(ids), converter):
        return message
    found = match(window)
    answered = {id(found.calls[number]) for number in found.answers}
    kept = tuple(
        part
        for part in message.parts
        if not isinstance(part, ToolCall)
        or id(part) in answered
        or jsontext.equality_key(part.id) not in ids
    )
    return message if len(kept) == len(message.parts) else message.with_parts(kept)


def is_object(arguments: object) -> bool:
    """Return whether a text is a JSON object."""
    return isinstance(arguments, str) and jsontext.is_object(arguments)


def _typed_calls(message: Message, converter: ConverterLimits) -> list[object]:
    """Return the ids of the calls in the content that need a result of their own type."""
    held, types = message.extra.get(BLOCKS), converter.typed_outputs
    if not types or not message.is_assistant:
        return []
    blocks = held["calls"] if isinstance(held, dict) else ()
    ids = [call["id"] for call in blocks if jsontext.is_one_of(call["type"], types)]
    return ids + [
        call.get("call_id") for part in message.parts if (call := _wrapped_call(part, converter))
    ]


def _wrapped_call(part: Part, converter: ConverterLimits) -> dict[str, Any]:
    """Return the call in a ``non_standard`` block; empty for any other part."""
    value = unwrap(part.extra) if isinstance(part, Opaque) else {}
    return value if jsontext.is_one_of(value.get("type"), converter.typed_outputs) else {}


def _needs_functions(window: Window, typed: list[list[object]]) -> bool:
    """Return whether the typed calls of a window must become the calls of functions.

    One of them has no result of its type, or another rule will merge its message with an earlier
    one, which keeps only the blocks of the first.
    """
    with_calls = [at for at, message in enumerate(window.messages) if message.calls]
    if any(typed[at] for at in with_calls[1:]):
        return True
    answered = _ids_with_typed_output(window)
    return not all(jsontext.is_one_of(call_id, answered) for ids in typed for call_id in ids)


def _ids_with_typed_output(window: Window) -> set[str]:
    """Return the ids of the calls whose result has the type of a custom tool."""
    found = match(window)
    typed: set[str] = set()
    others: set[str] = set()
    for number, call in enumerate(found.calls):
        if isinstance(call.id, str):
            is_typed = _has_typed_output(window, found.answers.get(number))
            (typed if is_typed else others).add(call.id)
    return typed - others


def _has_typed_output(window: Window, position: PartPosition | None) -> bool:
    if position is None:
        return False
    part = window.messages[position[0]].parts[position[1]]
    return isinstance(part, ToolResult) and any(map(_is_typed_output, part.content))


def _ids_of_strays(window: Window) -> set[str]:
    """Return the call ids of the results whose calls are not in the window."""
    strays = (window.messages[at].parts[part_at] for at, part_at in match(window).strays)
    ids = (part.call_id for part in strays if isinstance(part, ToolResult))
    return {call_id for call_id in ids if isinstance(call_id, str)}


def _without_wrapped(message: Message, converter: ConverterLimits) -> tuple[Message, Effect]:
    """Return a message without calls in ``non_standard`` blocks, and the effect.

    A call that no other field holds becomes text.
    """
    ids = {call.id for call in message.calls if isinstance(call.id, str)}
    parts: list[Part] = []
    effect = Effect.RESHAPES
    for part in message.parts:
        call = _wrapped_call(part, converter)
        if not call:
            parts.append(part)
        elif not jsontext.is_one_of(call.get("call_id"), ids):
            parts.append(Text(CALL_NOTE + jsontext.dumps(call)))
            effect = Effect.DEGRADES
    same = is_unchanged(message.parts, tuple(parts))
    return (message if same else message.with_parts(tuple(parts))), effect


def _is_typed_output(part: Part) -> bool:
    return isinstance(part, Opaque) and unwrap(part.extra).get("type") == _OUTPUT


def _with_plain_outputs(parts: tuple[Part, ...], kept: set[str]) -> tuple[Part, ...]:
    """Return results without the type of a custom tool, if their calls do not have it."""
    return tuple(
        replace(part, content=tuple(_plain(part.content)))
        if isinstance(part, ToolResult)
        and not jsontext.is_one_of(part.call_id, kept)
        and any(map(_is_typed_output, part.content))
        else part
        for part in parts
    )


def _plain(content: tuple[Part, ...]) -> Iterator[Part]:
    for part in content:
        output = unwrap(part.extra).get("output") if _is_typed_output(part) else None
        if not _is_typed_output(part):
            yield part
        elif isinstance(output, list) and all(isinstance(one, dict) for one in output):
            yield from map(Opaque, output)
        else:
            yield Text(output if isinstance(output, str) else jsontext.dumps(output))


def _is_misplaced(held: dict[str, Any], message: Message, converter: ConverterLimits) -> bool:
    """Return whether a call in the content is lost, is sent twice, or must not be there."""
    calls = held["calls"]
    only = [call for call in calls if call["only"]]
    if only and not held["standard"] and _loses_calls(message, len(only), converter):
        return True
    if not all(_is_sent(call, converter) for call in only):
        return True
    if held["thinking_last"] and not converter.trailing_thinking:
        return True
    if _repeats_call(held, message, converter):
        return True
    translated = converter.standard_calls if held["standard"] else frozenset()
    refused = converter.refused_mirrors - translated
    # A stream that was cut leaves a call without its input.
    return any(
        call["type"] in refused or not converter.has_required_keys(call["type"], call["keys"])
        for call in calls
    )


def _loses_calls(message: Message, count: int, converter: ConverterLimits) -> bool:
    """Return whether the ``count`` calls in the content of another provider's answer are lost."""
    is_kept = message.provider in (converter.foreign_calls or ())
    return _is_translated(message, converter) or (is_kept and len(message.calls) > count)


def _is_translated(message: Message, converter: ConverterLimits) -> bool:
    """Return whether only blocks in the format of the other provider that wrote them are sent."""
    known = converter.foreign_calls
    is_foreign = bool(message.provider) and message.provider not in converter.writers
    return known is not None and is_foreign and message.provider not in known


def _repeats_call(held: dict[str, Any], message: Message, converter: ConverterLimits) -> bool:
    """Return whether the content holds a call more often than the message, and each is sent."""
    types = converter.calls_inside or frozenset()
    if converter.item_ids or not types:
        return False
    is_translated = _is_translated(message, converter)
    sent = Counter(
        jsontext.equality_key(call["id"])
        for call in held["calls"]
        if (call["type"] in types) is not is_translated or held["standard"]
    )
    sent.subtract(jsontext.equality_key(call.id) for call in message.calls)
    return any(count > 0 for count in sent.values())


def _is_sent(call: dict[str, Any], converter: ConverterLimits) -> bool:
    """Return whether a call that is only in the content is sent, with readable arguments."""
    types, keys = converter.calls_inside, converter.call_keys
    if types is None:
        return True
    has_known_keys = keys is None or keys.issuperset(call["keys"])
    is_readable = call["type"] != "tool_use" or call["has_object"]
    return call["type"] in types and has_known_keys and is_readable


def _as_sent(message: Message, held: dict[str, Any]) -> tuple[Part, ...]:
    """Return the parts of a message in the order in which they are sent.

    The calls are at their positions in the content unless blocks were added or removed.
    """
    calls: tuple[Part, ...] = tuple(message.calls)
    others = [part for part in message.parts if not isinstance(part, ToolCall) and is_block(part)]
    positions = held["positions"]
    if len(others) != positions.count(None):
        return (*others, *calls)
    remaining = iter(others)
    placed = tuple(next(remaining) if call is None else _read_call(call) for call in positions)
    return placed + calls[len(positions) - len(others) :]


def _without_thinking(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(part for part in parts if not isinstance(part, Thinking))


def _read_call(block: dict[str, Any]) -> ToolCall:
    return ToolCall(block["id"], None, None, native=block)


def _is_refused_order(parts: tuple[Part, ...], limits: Limits) -> bool:
    """Return whether the target refuses the order of the calls and the other blocks."""
    if limits.calls_last and has_content_behind_calls(parts):
        return True
    if limits.calls_end_message and ends_with_text(parts):
        return True
    return limits.server_tools_paired and has_call_before_hosted_tool(parts)


RULE = Rule("TOOL021", "mirrored-call", find, STRUCTURE)
ORDER = Rule("TOOL021", "mirrored-call", find_order, STRUCTURE)
