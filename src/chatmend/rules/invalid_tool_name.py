"""A tool name in the history that the target refuses.

Why: ``Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern
'^[a-zA-Z0-9_-]+$'`` (OpenAI).

Repair: Characters outside the pattern become ``_``. A name that is too long is shortened and ends
in a hash of the whole name.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function",
          "function": {"name": "web.search", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "found"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function",
          "function": {"name": "web_search", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "found"}]
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.rules.rule import Rule
from chatmend.transcript import Part, ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_MAX_LENGTH = 64
_HASH_LENGTH = 8


def make_legal_name(name: str, pattern: str) -> str:
    """Return a name that the target accepts; the same name if it already does."""
    if re.fullmatch(pattern, name):
        return name
    clean = re.sub(r"[^A-Za-z0-9_]", "_", name)
    for candidate in (re.sub(r"[^A-Za-z0-9_-]", "_", name), clean, f"tool_{clean}"):
        if re.fullmatch(pattern, candidate):
            return candidate
    from hashlib import sha256  # noqa: PLC0415 - `import chatmend` stays fast

    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"tool_{clean[: _MAX_LENGTH - _HASH_LENGTH - 6]}_{digest}"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for calls and results whose tool name the target refuses."""
    pattern = context.limits.tool_name_pattern
    if pattern is None:
        return
    called = {call.name for m in window.messages for call in m.calls if isinstance(call.name, str)}
    for at, message in enumerate(window.messages):
        parts = tuple(
            part
            if context.limits.result_names and _has_unknown_name(part, called)
            else _with_legal_name(part, pattern)
            for part in message.parts
        )
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (message.with_parts(parts),), "the target refuses the tool name")


def _has_unknown_name(part: Part, called: set[str]) -> bool:
    """Return whether a result has the name of no call in the window.

    Targets that match results by position accept such a name.
    """
    return isinstance(part, ToolResult) and isinstance(part.name, str) and part.name not in called


def _with_legal_name(part: Part, pattern: str) -> Part:
    if not isinstance(part, ToolCall | ToolResult) or part.is_hosted:
        return part
    if isinstance(part.name, str) and part.name:
        name = make_legal_name(part.name, pattern)
        return part if name == part.name else replace(part, name=name)
    return part


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.tool_name_pattern is None:
        return None
    fullmatch_name = re.compile(limits.tool_name_pattern).fullmatch
    return lambda name: fullmatch_name(name) is None


RULE = Rule("TOOL012", "invalid-tool-name", find, {"names": _judge})
