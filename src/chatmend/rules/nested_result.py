"""A tool result inside a user message, for a client library that sends results only as messages.

Anthropic's format puts the results of tools into user messages, and so do histories in LangChain
that were written for it. Most partner packages would drop such a result, or send it in a form that
the provider refuses.

Why: ``An assistant message with 'tool_calls' must be followed by tool messages responding to each
'tool_call_id'`` (OpenAI, through langchain-openai).

Repair: Each result becomes a separate message. The other parts of the message follow. A tool
message with the results of other calls becomes a user message if the library accepts results there.
This runs only in the adapter for LangChain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.rules.unsendable_part import LIMIT
from chatmend.transcript import Message, Role, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
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


RULE = Rule("TOOL020", "nested-result", find, STRUCTURE)
