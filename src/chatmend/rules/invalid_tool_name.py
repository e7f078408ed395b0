"""A tool name in the history that the target refuses.

Why: ``Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'`` (OpenAI).

Repair: characters outside the pattern become ``_``, what is too long ends in a hash of the whole name.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "web.search", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "found"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "web_search", "arguments": "{}"}}]},
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

_LONGEST = 64
_HASH = 8


def legal_name(name: str, pattern: str) -> str:
    """The name as the target takes it; the name itself where it does already."""
    if re.fullmatch(pattern, name):
        return name
    clean = re.sub(r"[^A-Za-z0-9_]", "_", name)
    for candidate in (re.sub(r"[^A-Za-z0-9_-]", "_", name), clean, f"tool_{clean}"):
        if re.fullmatch(pattern, candidate):
            return candidate
    from hashlib import sha256  # noqa: PLC0415 - `import chatmend` stays fast

    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"tool_{clean[: _LONGEST - _HASH - 6]}_{digest}"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Names of calls and results."""
    pattern = context.limits.tool_name_pattern
    if pattern is None:
        return
    called = {call.name for m in window.messages for call in m.calls if isinstance(call.name, str)}
    for at, message in enumerate(window.messages):
        parts = tuple(
            part if context.limits.result_names and _is_anothers(part, called) else _renamed(part, pattern)
            for part in message.parts
        )
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (replace(message, parts=parts),), "the target refuses the tool's name")


def _is_anothers(part: Part, called: set[str]) -> bool:
    """Whether a result has a name of its own, which a target that goes by positions takes."""
    return isinstance(part, ToolResult) and isinstance(part.name, str) and part.name not in called


def _renamed(part: Part, pattern: str) -> Part:
    if not isinstance(part, ToolCall | ToolResult) or part.is_hosted:
        return part
    if isinstance(part.name, str) and part.name:
        name = legal_name(part.name, pattern)
        return part if name == part.name else replace(part, name=name)
    return part


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.tool_name_pattern is None:
        return None
    fits = re.compile(limits.tool_name_pattern).fullmatch
    return lambda name: fits(name) is None


RULE = Rule("TOOL012", "invalid-tool-name", find, {"names": _judge})
