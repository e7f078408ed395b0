"""An answer that no user asked for: nothing follows it, and it is the third message or later.

Why: Acme wants the last word to be the user's.

Repair: a user's ``[continued]`` is added. The rule declares nothing of what it judges, so it looks at every window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.placeholders import continued
from chatmend.rules.rule import Rule
from chatmend.transcript import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """The end of the transcript."""
    end = len(window.messages)
    if (
        context.limits.of("last_word") is not None
        and window.is_last
        and end
        and window.messages[-1].is_assistant
    ):
        yield Fix(end, end, (continued(Role.USER),), "the last word is the model's", Effect.ADDS)


RULE = Rule("TURN900", "lonely-answer", find, own_limits={"last_word": bool})
