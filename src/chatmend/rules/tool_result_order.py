"""Parallel results in another order than their calls, for a target that depends on the order.

Why: Gemini matches results to calls by name and position, and LiteLLM's conversion keeps the order
of the results.

Repair: The results directly after the calls are sorted into the order of the calls.

Before (gemini/gemini-2.5-flash):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
         {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "b", "content": "two"},
     {"role": "tool", "tool_call_id": "a", "content": "one"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
         {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "a", "content": "one"},
     {"role": "tool", "tool_call_id": "b", "content": "two"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.exchanges import match
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.windows import minimal_fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Return fixes that sort result messages into the order of their calls."""
    if not context.limits.results_in_order or context.traits.results_are_parts:
        return iter(())
    number_of = {at: number for number, (at, _) in match(window).answers.items()}
    answers = [at for at in sorted(number_of) if at >= window.run_length]
    ordered = sorted(answers, key=lambda at: number_of[at])
    if ordered == answers:
        return iter(())
    becomes = list(window.messages)
    for at, source in zip(answers, ordered, strict=True):
        becomes[at] = window.messages[source]
    return minimal_fix(
        window, tuple(becomes), "the target requires results in the order of their calls"
    )


RULE = Rule("TOOL008", "tool-result-order", find, STRUCTURE)
