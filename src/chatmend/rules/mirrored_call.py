"""A tool call in a field that the client library does not send, or sends in addition to another.

LangChain stores one call in up to six fields, and each partner package sends other ones of them. A
call in the wrong field is lost, or sent twice.

Why: ``messages with role 'tool' must be a response to a preceding message with 'tool_calls'``
(OpenAI, through langchain-nvidia-ai-endpoints); ``Invalid value: 'tool_call'`` (OpenAI, through
langchain-huggingface).

Repair: All calls of the message move to the field that is sent. They are not changed. A call of a
custom tool whose result is not of the same type becomes the call of a function, and so do the other
calls of its message and their results. This runs only in the adapter for LangChain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Fix
from chatmend.dialects.blocks import unwrap
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.rules.unsendable_part import LIMIT
from chatmend.transcript import Opaque, Text, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.converter_limits import ConverterLimits
    from chatmend.transcript import Message, Part
    from chatmend.windows import Memory, Window

BLOCKS = "chatmend:call-blocks"
"""Key of a message with calls in its content: a description of them, made by the adapter."""
RAW = "chatmend:unsent-raw-calls"
"""Key of a message whose ``additional_kwargs`` lack a call."""
LEGACY = "chatmend:legacy-call"
"""Key of a message whose ``additional_kwargs`` repeat a call as ``function_call``."""
_OUTPUT = "custom_tool_call_output"
_WHY = "the partner package sends calls from another field"
_WHY_OUTPUT = "the call of the result is sent as the call of a function"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages whose calls are in the wrong field, and for their results."""
    converter: ConverterLimits | None = context.limits.of(LIMIT)
    if converter is None:
        return
    answered = _typed_outputs(window) if converter.typed_outputs else frozenset[object]()
    typed: set[object] = set()
    for at, message in enumerate(window.messages):
        if message.results and answered:
            becomes = message.with_parts(_with_plain_outputs(message.parts, typed))
            if not is_unchanged(message.parts, becomes.parts):
                yield Fix(at, at + 1, (becomes,), _WHY_OUTPUT)
            continue
        calls = _typed_calls(message, converter)
        is_open = not answered.issuperset(calls)
        typed |= set() if is_open else calls
        held = message.extra.get(BLOCKS)
        is_misplaced = isinstance(held, dict) and (is_open or _is_misplaced(held, converter))
        omitted = {BLOCKS} if is_misplaced else set()
        omitted |= {RAW} & message.extra.keys()
        if converter.legacy_calls:
            omitted |= {LEGACY} & message.extra.keys()
        becomes = _without_wrapped(message, converter) if is_open else message
        if omitted or becomes is not message:
            becomes = replace(becomes, omitted_keys=message.omitted_keys | omitted)
            yield Fix(at, at + 1, (becomes,), _WHY)


def _typed_calls(message: Message, converter: ConverterLimits) -> set[object]:
    """Return the ids of the calls in the content that need a result of their own type."""
    held, types = message.extra.get(BLOCKS), converter.typed_outputs
    if not types or not message.is_assistant:
        return set()
    blocks = held["calls"] if isinstance(held, dict) else ()
    wrapped = (unwrap(part.extra) for part in message.parts if isinstance(part, Opaque))
    return {call["id"] for call in blocks if call["type"] in types} | {
        value.get("call_id") for value in wrapped if jsontext.is_one_of(value.get("type"), types)
    }


def _without_wrapped(message: Message, converter: ConverterLimits) -> Message:
    """Return a message without ``non_standard`` blocks of calls that ``tool_calls`` hold too."""
    kept = tuple(
        part
        for part in message.parts
        if not isinstance(part, Opaque)
        or not jsontext.is_one_of(unwrap(part.extra).get("type"), converter.typed_outputs)
    )
    return message if len(kept) == len(message.parts) else message.with_parts(kept)


def _typed_outputs(window: Window) -> frozenset[object]:
    """Return the ids of the calls whose result has the type of a custom tool."""
    results = (result for message in window.messages for result in message.results)
    return frozenset(
        result.call_id for result in results if any(map(_is_typed_output, result.content))
    )


def _is_typed_output(part: Part) -> bool:
    return isinstance(part, Opaque) and unwrap(part.extra).get("type") == _OUTPUT


def _with_plain_outputs(parts: tuple[Part, ...], typed: set[object]) -> tuple[Part, ...]:
    """Return results without the type of a custom tool, if their calls do not have it."""
    return tuple(
        replace(part, content=tuple(_plain(part.content)))
        if isinstance(part, ToolResult)
        and part.call_id not in typed
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


def _is_misplaced(held: dict[str, Any], converter: ConverterLimits) -> bool:
    """Return whether a call in the content is lost, is sent twice, or must not be there."""
    calls = held["calls"]
    if any(call["only"] and not _is_sent(call, converter) for call in calls):
        return True
    if held["standard"] and converter.standard_calls:
        return False
    has_refused = any(call["type"] in converter.refused_mirrors for call in calls)
    return has_refused or (held["thinking_last"] and not converter.trailing_thinking)


def _is_sent(call: dict[str, Any], converter: ConverterLimits) -> bool:
    """Return whether a call that is only in the content is sent, with readable arguments."""
    types = converter.calls_inside
    return types is None or (
        call["type"] in types and (call["type"] != "tool_use" or call["has_object"])
    )


RULE = Rule("TOOL021", "mirrored-call", find, STRUCTURE)
