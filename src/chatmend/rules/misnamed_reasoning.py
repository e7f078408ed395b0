"""Reasoning under a key that the host does not read.

Why: ``property 'messages.2.assistant.reasoning_content' is unsupported`` (Cerebras); ``Extra inputs
are not permitted, field: 'messages[8].reasoning'`` (Fireworks). vLLM reads ``reasoning`` and
silently ignores ``reasoning_content``; DeepSeek and Kimi read only ``reasoning_content``.

Repair: The text moves to the key that the host reads. A message that has both keys is unchanged.

Before (deepseek/deepseek-v4-pro):
    [{"role": "user", "content": "hi"},
     {"role": "assistant", "content": "Hello!", "reasoning": "A greeting."},
     {"role": "user", "content": "more"}]
After:
    [{"role": "user", "content": "hi"},
     {"role": "assistant", "content": "Hello!", "reasoning_content": "A greeting."},
     {"role": "user", "content": "more"}]

Before (cerebras/gpt-oss-120b):
    [{"role": "user", "content": "hi"},
     {"role": "assistant", "content": "Hello!", "reasoning_content": "A greeting."},
     {"role": "user", "content": "more"}]
After:
    [{"role": "user", "content": "hi"},
     {"role": "assistant", "content": "Hello!", "reasoning": "A greeting."},
     {"role": "user", "content": "more"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Thinking, location_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

_OTHER_KEY = {"reasoning": "reasoning_content", "reasoning_content": "reasoning"}


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move the reasoning of assistant messages to the key that is read."""
    wanted = context.limits.reasoning_key
    if wanted == "any" or not context.traits.reasoning_keys:
        return
    other = _OTHER_KEY[wanted]
    for at, message in enumerate(window.messages):
        native = message.extra
        text = native.get(other)
        if not message.is_assistant or not isinstance(text, str) or not text or native.get(wanted):
            continue
        rest = tuple(part for part in message.parts if location_of(part) != "reasoning_content")
        if wanted == "reasoning_content":
            parts = (Thinking(text, location="reasoning_content"), *rest)
            becomes = replace(message, parts=parts, omitted_keys=message.omitted_keys | {other})
        else:
            renamed = {key: value for key, value in native.items() if key != other}
            becomes = replace(message, parts=rest, native={**renamed, wanted: text})
        reason = f"the target reads reasoning only under {wanted}, not {other}"
        yield Fix(at, at + 1, (becomes,), reason)


RULE = Rule("THINK007", "misnamed-reasoning", find, STRUCTURE)
