"""A window in which other repairs removed all messages after those of the assistant.

Why: The next assistant message proves that a message was sent in between. Without one, two windows
would be joined, and messages that were already sent would change.

Repair: A user message ``[continued]`` is added.

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
    """Yield a fix if the window had messages of other roles and has lost all of them."""
    end = len(window.messages)
    if window.has_other_roles and (end == 0 or window.messages[-1].is_assistant):
        if context.limits.roles is None or (
            window.is_opening
            and end == 0
            and context.traits.has_top_level_system
            and not window.has_input
            and not window.is_last
        ):
            return
        yield Fix(
            end,
            end,
            (continued(Role.USER),),
            "repairs removed all messages after the assistant's",
            Effect.ADDS,
        )


RULE = Rule("TURN002", "emptied-window", find, STRUCTURE)
