"""A conversation that no user opens.

Why: ``A conversation must start with a user message.`` (Bedrock); ``No user query found in messages.`` (Qwen templates);
``The messages parameter is illegal.`` (Z.ai). Compaction cuts the beginning off.

Repair: ``[continued]`` in the user's name at the front, or behind the first window where any user message will do.

Before (bedrock/us.amazon.nova-pro-v1:0):
    [{"role": "assistant", "content": "I'll search"},
     {"role": "user", "content": "do"}]
After:
    [{"role": "user", "content": "[continued]"},
     {"role": "assistant", "content": "I'll search"},
     {"role": "user", "content": "do"}]
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
    """Openings without a user, or a whole beginning without one."""
    limits = context.limits
    end = len(window.messages)
    has_user = any(message.role is Role.USER for message in window.messages)
    if limits.first_user and not memory.has_turns:
        turn = next((at for at, message in enumerate(window.messages) if not message.is_system), end)
        if turn == end or window.messages[turn].role is not Role.USER:
            yield Fix(turn, turn, (continued(Role.USER),), "a user message must come first", Effect.ADDS)
    elif limits.needs_user and not memory.has_user and not has_user and (window.last or not window.opening):
        said = max((at for at, message in enumerate(window.messages) if not message.is_system), default=end - 1) + 1
        yield Fix(said, said, (continued(Role.USER),), "at least one user message is wanted", Effect.ADDS)


RULE = Rule("TURN003", "leading-assistant", find, STRUCTURE)
