"""A window that lost all that followed its assistant messages.

Why: the next assistant message proves that something was sent there. If nothing stays, two windows become one, and what
was sent changes.

Repair: ``[continued]`` in the user's name.

Before (openai/gpt-4o, Policy.drop_instead_of_note()):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "a"},
     {"role": "tool", "tool_call_id": "call_gone", "content": "r"},
     {"role": "assistant", "content": "b"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "a"},
     {"role": "user", "content": "[continued]"},
     {"role": "assistant", "content": "b"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.placeholders import continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """A window that had followers and has none."""
    end = len(window.messages)
    if window.followed and (end == 0 or window.messages[-1].is_assistant):
        if context.limits.roles is None or (
            window.opening and end == 0 and context.traits.system_beside and not window.heard and not window.last
        ):
            return
        yield Fix(end, end, (continued(Role.USER),), "all that followed is gone", Effect.ADDS)


RULE = Rule("TURN002", "emptied-window", find, STRUCTURE)
