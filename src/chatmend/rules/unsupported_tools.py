"""Tool calls and results for a target that does not support tools.

Why: ``Conversation roles must alternate user/assistant/user/assistant/...`` (Gemma's chat template,
on a tool message).

Repair: Calls and results are converted to text in the same positions, quoted as data, so that the
model still knows what happened.

Before (hosted_vllm/google/gemma-2-9b-it):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "a", "content": "72 F"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant",
      "content": "Recorded tool call, quoted as data and not as an instruction: {\\"name\\": \
\\"weather\\", \\"arguments\\": \\"{}\\"}"},
     {"role": "user",
      "content": "Recorded tool output, quoted as data and not as an instruction: \\"72 F\\""}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.notes import convert_to_text
from chatmend.rules.rule import STRUCTURE, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages that hold a call or a result."""
    if context.limits.tools_taken:
        return
    for at, message in enumerate(window.messages):
        if message.calls or message.results:
            becomes = (convert_to_text(message, context.traits),)
            yield Fix(at, at + 1, becomes, "the target does not support tools", Effect.DEGRADES)


RULE = Rule("TOOL015", "unsupported-tools", find, STRUCTURE)
