"""Runs the rules on the whole request: some before the first window, others after the last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules import FIRST, LAST
from chatmend.signatures import last_signed

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.rules import Request


def run_first_rules(
    request: Request, context: Context, accepted: int = 0
) -> tuple[Request, list[Change]]:
    """Run the rules that come before the first window; they may rewrite messages already sent.

    ``accepted`` is the number of messages at the beginning that they do not see.
    """
    head, changes = request.messages[:accepted], list[Change]()
    rest = replace(request, messages=request.messages[accepted:]) if accepted else request
    for rule in FIRST:
        rest, more = rule.apply(rest, context)
        changes += (_behind(head, change) for change in more) if head else more
    if not changes:
        return request, changes
    return replace(rest, messages=[*head, *rest.messages]) if head else rest, changes


def _behind(head: list[Any], change: Change) -> Change:
    """Return a change of all messages with further messages at the beginning."""
    index = None if change.index is None else change.index + len(head)
    before, after = (*head, *change.before), (*head, *change.after)
    return replace(change, index=index, before=before, after=after)


def run_last_rules(
    request: Request, hoisted: list[str], context: Context, *, has_counted_content: bool = True
) -> tuple[Request, list[Change]]:
    """Run the rules that come after the last window, and move hoisted texts to ``system``.

    Returns the request to send and the changes. ``has_counted_content``: whether the messages may
    hold images or cache markers; if not, rules that count these are skipped.
    """
    changes: list[Change] = []
    if hoisted:
        joined = context.dialect.with_system(request.system, hoisted)
        why = "moved from the messages to the system prompt"
        before, after = (request.system,), (joined,)
        change = Change(
            "SYS001", "misplaced-system", Effect.RESHAPES, None, why, before, after, where="system",
            invalidates_thinking=context.policy.system == "hoist"
            and last_signed(request.messages, context) >= 0,
        )  # fmt: skip
        request, changes = replace(request, system=joined), [change]
    counts = has_counted_content or _has_marker(request.system) or _has_marker(request.tools)
    for rule in LAST:
        if counts or rule.has_counted_content is None:
            request, more = rule.apply(request, context)
            changes += more
    return request, changes


def _has_marker(blocks: object) -> bool:
    """Return whether the system prompt or the tools have a cache marker."""
    return isinstance(blocks, list) and any(
        isinstance(block, dict) and ("cache_control" in block or "cachePoint" in block)
        for block in blocks
    )
