r"""Tool arguments that the target cannot read: not JSON, not an object, or not a string.

Why: ``tool_use.input: Input should be a valid dictionary`` (Anthropic); ``expected a string, but
got an object instead`` (OpenAI). One cause is a stream that was cut off in the middle of a call.
``The format of the value at messages.262.content.1.toolUse.input is invalid. Provide a json object
for the field and try again.`` (Bedrock, Claude): the model wrote an empty key. ``Out of range float
values are not JSON compliant`` (the SDKs of Anthropic and Google); ``Invalid type for document
parameter ..., type: <class 'decimal.Decimal'>`` (boto3), after a conversation was read from
DynamoDB.

Repair: Arguments that are not a JSON object are kept whole under one constant key. Missing
arguments become ``{}``. An object becomes JSON text if the target requires a string. Empty keys
that the target refuses are removed at any depth; a value under one of them is dropped. In objects,
and in JSON results, a ``Decimal`` becomes a number, NaN and the infinities become their names.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {
             "name": "write", "arguments": "{\"path\": \"a.txt\", \"content\": \"hel"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "cut off"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "write", "arguments":
        "{\"_raw_arguments\": \"{\\\"path\\\": \\\"a.txt\\\", \\\"content\\\": \\\"hel\"}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "cut off"}]

Before (bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0):
    [{"role": "user", "content": [{"text": "go"}]},
     {"role": "assistant", "content": [{"toolUse": {
         "toolUseId": "tooluse_1", "name": "edit",
         "input": {"edits": [{"oldText": "p", "": ""}]}}}]},
     {"role": "user", "content": [{"toolResult": {
         "toolUseId": "tooluse_1", "content": [{"text": "done"}]}}]}]
After:
    [{"role": "user", "content": [{"text": "go"}]},
     {"role": "assistant", "content": [{"toolUse": {
         "toolUseId": "tooluse_1", "name": "edit",
         "input": {"edits": [{"oldText": "p"}]}}}]},
     {"role": "user", "content": [{"toolResult": {
         "toolUseId": "tooluse_1", "content": [{"text": "done"}]}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.jsonkeys import has_key, without_key
from chatmend.jsonnumbers import has_unsendable_number, with_json_numbers
from chatmend.placeholders import RAW_ARGUMENTS
from chatmend.rules.rule import KeyedJudge, Rule
from chatmend.transcript import Opaque, Part, Text, ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


_EITHER = "text-or-object"
_EMPTY_KEYS = "empty_argument_keys"
_JSON = "json"
_RESULT_KEYS = frozenset({_JSON, "response"})
"""Keys of parts that hold the JSON result of a tool: those of Converse and of Gemini."""
_EMPTY_VALUES: tuple[object, ...] = ("", None, [], {})


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for arguments in a form that the target cannot read."""
    if context.limits.arguments == "any":
        return
    for at, message in enumerate(window.messages):
        pairs = [_with_readable_arguments(part, context) for part in message.parts]
        parts = tuple(part for part, _ in pairs)
        if not is_unchanged(message.parts, parts):
            has_deep_arguments = any(jsontext.is_too_deep(call.arguments) for call in message.calls)
            effect = Effect.DEGRADES if has_deep_arguments else Effect.RESHAPES
            yield Fix(
                at,
                at + 1,
                (message.with_parts(parts),),
                "the target cannot read the arguments",
                max(effect, *(worst for _, worst in pairs)),
            )


def _with_readable_arguments(part: Part, context: Context) -> tuple[Part, Effect]:
    """Return a call with arguments that the target can read, and what happens to content."""
    if isinstance(part, ToolResult) and context.traits.object_arguments:
        return _with_readable_json(part, context), Effect.RESHAPES
    if (
        not isinstance(part, ToolCall)
        or part.is_hosted
        or (part.kind == "custom" and isinstance(part.arguments, str))
    ):
        return part, Effect.RESHAPES
    if not context.traits.object_arguments:
        return _with_text(part, context), Effect.RESHAPES
    value, effect = part.arguments, Effect.RESHAPES
    if not isinstance(value, dict) or jsontext.is_too_deep(value):
        value = as_object(value)
    if context.limits.of(_EMPTY_KEYS) is False:
        value, dropped = without_key(value, "")
        effect = Effect.RESHAPES if all(map(_is_empty, dropped)) else Effect.DROPS
    value = with_json_numbers(value)
    return part if value is part.arguments else replace(part, arguments=value), effect


def _with_readable_json(result: ToolResult, context: Context) -> ToolResult:
    """Return a result whose JSON has only numbers that can be sent."""
    content = tuple(_with_readable_numbers(part, context) for part in result.content)
    return result if is_unchanged(content, result.content) else replace(result, content=content)


def _with_readable_numbers(part: Part, context: Context) -> Part:
    """Return the JSON of Converse (``json``), or a response of Gemini, with numbers as in JSON."""
    is_response = isinstance(part, Opaque) and context.traits.names_results
    held = part.extra if is_response else part.extra.get(_JSON)
    if not has_unsendable_number(held) or jsontext.is_too_deep(held):
        return part
    value = with_json_numbers(held)
    if isinstance(part, Opaque):
        return Opaque(value if is_response else {**part.extra, _JSON: value})
    return Text(jsontext.dumps(value), {_JSON: value})


def _is_empty(value: object) -> bool:
    return any(value == empty and value.__class__ is empty.__class__ for empty in _EMPTY_VALUES)


def _with_text(part: ToolCall, context: Context) -> ToolCall:
    """Return a call whose arguments are the text of a JSON object."""
    value, form = part.arguments, context.limits.arguments
    if form == _EITHER and isinstance(value, dict) and not _is_unsendable_object(value):
        return part
    if isinstance(value, str):
        if form in ("text", _EITHER) or jsontext.is_object(value):
            return part
        return replace(part, arguments=jsontext.dumps(as_object(value)))
    if isinstance(value, dict) and not jsontext.is_too_deep(value):
        value = with_json_numbers(value)
    text = (
        "{}"
        if value is None
        else jsontext.dumps(value if isinstance(value, dict) else as_object(value))
    )
    return replace(
        part, arguments=text if jsontext.is_object(text) else jsontext.dumps({RAW_ARGUMENTS: text})
    )


def as_object(value: object) -> dict[str, object]:
    """Return arguments as an object: parsed, or whole under one key if they are not readable."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if isinstance(value, str):
        try:
            parsed = jsontext.parse(value, distinct=True)
        except ValueError:
            parsed = None
        if isinstance(parsed, dict) and jsontext.is_object(value):
            return parsed
    return {RAW_ARGUMENTS: value if isinstance(value, str) else jsontext.dumps(value)}


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if traits.object_arguments:
        if limits.arguments == "any":
            return None
        return _class_of_object if limits.of(_EMPTY_KEYS) is False else has_unsendable_number
    return _JUDGES_OF_TEXTS.get(limits.arguments)


def _is_unsendable_object(arguments: object) -> bool:
    """Return whether an object cannot be sent as JSON in the place of a text."""
    return isinstance(arguments, dict) and (
        jsontext.is_too_deep(arguments) or has_unsendable_number(arguments)
    )


def _class_of_object(arguments: object) -> tuple[bool, bool] | None:
    found = has_key(arguments, ""), has_unsendable_number(arguments)
    return found if any(found) else None


def _judge_results(limits: Limits, traits: Traits) -> Judge | None:
    return _has_unsendable_json if traits.object_arguments and limits.arguments != "any" else None


def _has_unsendable_json(part: dict[str, object]) -> bool:
    return any(has_unsendable_number(part.get(key)) for key in _RESULT_KEYS)


def _is_not_object_text(arguments: object) -> bool:
    return isinstance(arguments, str) and not jsontext.is_object(arguments)


_JUDGES_OF_TEXTS: dict[str, Judge] = {
    "object": _is_not_object_text,
    _EITHER: _is_unsendable_object,
}


RULE = Rule(
    "TOOL013",
    "invalid-tool-arguments",
    find,
    {"arguments": _judge, "parts": KeyedJudge(_RESULT_KEYS, _judge_results)},
    own_limits={"empty_argument_keys": bool},
)
