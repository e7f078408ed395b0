"""A message of another wire format among those of this one.

Why: frameworks that switch formats in mid-conversation convert what they make, and leave what they loaded. ``Invalid
value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`` (OpenAI Responses); ``Invalid JSON
payload received. Unknown name "content"`` (Gemini).

Repair: the message is written in the words of this format: its calls and results become entries or parts of their own.
Keys that we do not know stay with it.

Before (openai/gpt-4.1):
    [{"role": "user", "content": "How warm is it?"},
     {"type": "function_call", "call_id": "call_a", "name": "weather", "arguments": "{}"},
     {"role": "tool", "tool_call_id": "call_a", "content": "72 F"}]
After:
    [{"role": "user", "content": "How warm is it?"},
     {"type": "function_call", "call_id": "call_a", "name": "weather", "arguments": "{}"},
     {"type": "function_call_output", "call_id": "call_a", "output": "72 F"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.rules.rule import STRUCTURE, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages that the dialect would have written otherwise."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        if becomes := context.dialect.translated(message):
            yield Fix(at, at + 1, becomes, "the message is of another format")


RULE = Rule("MSG002", "foreign-message", find, STRUCTURE)
