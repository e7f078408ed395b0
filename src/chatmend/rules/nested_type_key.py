"""A JSON tool result with the key ``__type`` inside an inner object.

Why: ``The format of the value at messages.2.content.0.toolResult.content.0.json is invalid. Provide
a json object for the field and try again.`` (Bedrock, Claude). The result stays in the history, so
all later requests are refused too.

Repair: The result is sent as text, which holds the same JSON. A ``__type`` in the outermost object
is accepted.

Before (bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0):
    [{"role": "user", "content": [{"text": "go"}]},
     {"role": "assistant", "content": [{"toolUse": {
         "toolUseId": "tooluse_1", "name": "f", "input": {}}}]},
     {"role": "user", "content": [{"toolResult": {
         "toolUseId": "tooluse_1", "content": [{"json": {"item": {"__type": "T"}}}]}}]}]
After:
    [{"role": "user", "content": [{"text": "go"}]},
     {"role": "assistant", "content": [{"toolUse": {
         "toolUseId": "tooluse_1", "name": "f", "input": {}}}]},
     {"role": "user", "content": [{"toolResult": {
         "toolUseId": "tooluse_1",
         "content": [{"text": "{\\"item\\": {\\"__type\\": \\"T\\"}}"}]}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Fix
from chatmend.jsonkeys import has_key
from chatmend.rules.rule import KeyedJudge, Rule
from chatmend.transcript import Opaque, Part, Text, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_LIMIT = "nested_type_keys"
_JSON, _TYPE = "json", "__type"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that convert JSON results which the target refuses to text."""
    if context.limits.of(_LIMIT) is not False:
        return
    for at, message in enumerate(window.messages):
        parts = tuple(map(_with_texts, message.parts))
        if not is_unchanged(message.parts, parts):
            why = f"the target does not accept the key {_TYPE} inside a JSON result"
            yield Fix(at, at + 1, (message.with_parts(parts),), why)


def _with_texts(part: Part) -> Part:
    if not isinstance(part, ToolResult):
        return part
    content = tuple(map(_as_text, part.content))
    return part if is_unchanged(part.content, content) else replace(part, content=content)


def _as_text(part: Part) -> Part:
    is_refused = isinstance(part, Opaque) and _has_nested_type(part.extra)
    return Text(jsontext.dumps(part.extra[_JSON])) if is_refused else part


def _has_nested_type(block: dict[str, Any]) -> bool:
    value = block.get(_JSON)
    return isinstance(value, dict) and has_key(list(value.values()), _TYPE)


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return _has_nested_type if limits.of(_LIMIT) is False else None


RULE = Rule(
    "PART003",
    "nested-type-key",
    find,
    {"parts": KeyedJudge(frozenset({_JSON}), _judge)},
    own_limits={_LIMIT: bool},
)
