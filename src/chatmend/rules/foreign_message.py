"""A message in another wire format than the rest of the transcript.

Why: Frameworks that switch formats in mid-conversation convert the messages that they create, but
not those that they loaded. ``Invalid value: 'tool'. Supported values are: 'assistant', 'system',
'developer', and 'user'.`` (OpenAI Responses); ``Invalid JSON payload received. Unknown name
"content"`` (Gemini). Clients of the Converse API store signed reasoning without its empty text:
``messages.2.member.content.1.member.reasoningContent.reasoningText.text failed to satisfy
constraint: Member must not be null`` (Bedrock).

Repair: The message is converted to the wire format of the transcript. Its calls and results become
separate items or parts. If its content is empty and it has a refusal, the refusal becomes the
content. Unknown keys of the message are kept. Keys for which the format has no place are removed
(``DROPS``): unknown keys of calls, and the assistant's name if the message has only calls.
Reasoning of the Converse API without a text gets an empty one, and keeps its signature. A tool
message of AutoGen with several results (``tool_responses``) becomes one message for each.

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

from chatmend.changes import Effect, Fix
from chatmend.dialects.foreign import loses_keys
from chatmend.rules.rule import STRUCTURE, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that convert messages of other wire formats."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        if becomes := context.dialect.translate_foreign(message):
            why, effect = "the message is in another wire format", Effect.RESHAPES
            if loses_keys(message, becomes):
                why = f"{why}; this one has no place for some of its keys"
                effect = Effect.DROPS
            yield Fix(at, at + 1, becomes, why, effect)


RULE = Rule("MSG002", "foreign-message", find, STRUCTURE)
