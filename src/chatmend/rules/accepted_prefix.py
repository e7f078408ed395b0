"""Messages that are sent in the form in which the provider has accepted them before.

With a session memory, the beginning of a conversation that the provider has answered is not
repaired differently later: not after an upgrade of chatmend, with a changed table, with another
policy, or if the callback is switched on in mid-conversation.

Why: A changed beginning misses the prompt cache, and thinking that is bound to it is refused:
``messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different
conversation.`` (Claude 5.1 and later).

Repair: The accepted messages are sent again, and only what comes after them is repaired. If the
provider refuses them nevertheless, a lesson of ``chatmend.react`` takes precedence. Without a
``SessionMemory`` nothing is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Request, RequestRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.context import Context

CODE, NAME = "PREFIX001", "accepted-prefix"
_WHY = "the provider has accepted these messages in this form"


def make_change(messages: Sequence[Any], becomes: Sequence[Any]) -> Change:
    """Return the change that replaces the beginning of a transcript."""
    return Change(CODE, NAME, Effect.RESHAPES, 0, _WHY, tuple(messages), tuple(becomes), at=-1)


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Return the request unchanged: only a session memory knows what was accepted."""
    return request, []


RULE = RequestRule(CODE, NAME, apply)
