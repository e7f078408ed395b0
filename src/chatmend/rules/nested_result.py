"""A tool result inside a user message or inside another result.

Anthropic's format puts the results of tools into blocks of user messages, and so do histories that
were written for it. In LangChain, most partner packages would drop such a block. Programs that
change the format also leave the block in the tool message that they make from it.

Why: ``An assistant message with 'tool_calls' must be followed by tool messages responding to each
'tool_call_id'`` (OpenAI, through langchain-openai); ``Unknown parameter in
messages[2].content[0].toolResult.content[0]: "toolResult", must be one of: json, text, image,
document, video, searchResult`` (botocore, through langchain-aws).

Repair: The block of a result, also Bedrock's ``toolResult``, inside the result of the same call is
replaced by its content; the mark of a failed call (``is_error``) is lost. In the adapter for
LangChain, each result in a user message becomes a separate message, and the other parts of the
message follow; a tool message with the results of other calls becomes a user message if the library
accepts results there.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": [
         {"type": "tool_result", "tool_use_id": "call_a", "content": [
             {"type": "text", "text": "18 degrees"}]}]}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": [
         {"type": "text", "text": "18 degrees"}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect, Fix
from chatmend.dialects.blocks import as_result_block
from chatmend.dialects.content import read_content
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.rules.unsendable_part import LIMIT, is_sendable
from chatmend.transcript import Message, Opaque, Part, Role, Text, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.converter_limits import ConverterLimits
    from chatmend.windows import Memory, Window

FOREIGN = "chatmend:foreign-results"
"""Key of a tool message that holds only the results of other calls."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for user messages with results."""
    converter = context.limits.of(LIMIT)
    if converter is None:
        return
    for at, message in enumerate(window.messages):
        if message.role is not Role.USER or not message.results:
            continue
        if not converter.results_inside:
            why = "the partner package sends a result only as a separate message"
            yield Fix(at, at + 1, tuple(_split(message)), why)
        elif FOREIGN in message.extra:
            becomes = replace(message, omitted_keys=frozenset({FOREIGN}))
            yield Fix(at, at + 1, (becomes,), "a message with results of other calls is the user's")


def _split(message: Message) -> Iterator[Message]:
    """Yield a message for each result, then one with the other parts."""
    for result in message.results:
        is_error = result.extra.get("is_error") is True
        native = {"role": "tool", "is_error": True} if is_error else None
        content = result.content
        yield Message(Role.TOOL, (ToolResult(result.call_id, content),), native)
    rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
    if rest:
        yield replace(message, parts=rest, omitted_keys=frozenset({FOREIGN}))


def find_in_results(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for results that hold their own block."""
    if context.limits.roles is None:
        return
    converter = context.limits.of(LIMIT)
    for at, message in enumerate(window.messages):
        parts = tuple(
            _without_own_block(part, converter) if isinstance(part, ToolResult) else part
            for part in message.parts
        )
        if not is_unchanged(message.parts, parts):
            why = "a result cannot hold the block of a result"
            yield Fix(at, at + 1, (message.with_parts(parts),), why, _effect_on(message))


def _without_own_block(result: ToolResult, converter: ConverterLimits | None) -> ToolResult:
    """Return a result in which a block with the result of the same call is its content."""
    content = result.content
    while any(_own_block(part, result, converter) is not None for part in content):
        content = tuple(inner for part in content for inner in _content_of(part, result, converter))
    return result if content is result.content else replace(result, content=content)


def _content_of(
    part: Part, result: ToolResult, converter: ConverterLimits | None
) -> tuple[Part, ...]:
    if (block := _own_block(part, result, converter)) is None:
        return (part,)
    return read_content(block.get("content")) or (Text(""),)


def _own_block(
    part: Part, result: ToolResult, converter: ConverterLimits | None
) -> dict[str, Any] | None:
    """Return a part as Anthropic's block, if it is the result itself and cannot be sent as it is.

    None for any other part.
    """
    block = as_result_block(part.extra) if isinstance(part, Opaque) else None
    if block is None or block.get("tool_use_id", result.call_id) != result.call_id:
        return None
    if converter is None or block is not part.extra:  # only Anthropic's own form may be sent
        return block
    return None if is_sendable(block, "result", converter) else block


def _effect_on(message: Message) -> Effect:
    """Return the effect: only the mark of a failed call (``is_error``) is lost with the block."""
    blocks = [as_result_block(part.extra) for result in message.results for part in result.content]
    failed = any(block is not None and block.get("is_error") for block in blocks)
    return Effect.DEGRADES if failed else Effect.RESHAPES


RULE = Rule("TOOL020", "nested-result", find, STRUCTURE)
IN_RESULTS = Rule(RULE.code, RULE.name, find_in_results, STRUCTURE)
