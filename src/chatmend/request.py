"""What concerns the whole request: the offline choices before the first window, the last pass behind the last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Change, Effect
from chatmend.rules import FIRST, LAST

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.rules import Request


def first_pass(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """The choices that rewrite what was sent; they run before the first window."""
    changes: list[Change] = []
    for rule in FIRST:
        request, more = rule.apply(request, context)
        changes += more
    return request, changes


def last_pass(
    request: Request, hoisted: list[str], context: Context, *, laden: bool = True
) -> tuple[Request, list[Change]]:
    """Messages, system and tools as they are sent, and what was changed; ``laden``: there is what rules count."""
    changes: list[Change] = []
    if hoisted:
        joined = context.dialect.with_system(request.system, hoisted)
        why = "moved up from the messages"
        before, after = (request.system,), (joined,)
        change = Change("SYS001", "misplaced-system", Effect.RESHAPES, None, why, before, after, where="system")
        request, changes = replace(request, system=joined), [change]
    for rule in LAST:
        if laden or rule.counts is None:
            request, more = rule.apply(request, context)
            changes += more
    return request, changes
