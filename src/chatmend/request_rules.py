"""Runs the rules on the whole request: some before the first window, others after the last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules import FIRST, LAST
from chatmend.rules.item_tools import declare
from chatmend.rules.too_many_cache_markers import without_excess_markers
from chatmend.signatures import last_signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.context import Context
    from chatmend.rules import Request

EVERY = -1
"""The bit mask of all rules."""
_COUNTING_MARKERS = sum(1 << position for position, rule in enumerate(LAST) if rule.counts_markers)


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
    request: Request,
    hoisted: list[str | dict[str, Any]],
    context: Context,
    *,
    counted: int = EVERY,
    declared: Sequence[dict[str, Any]] = (),
) -> tuple[Request, list[Change]]:
    """Run the rules that come after the last window, and move hoisted texts to ``system``.

    Returns the request to send and the changes. ``counted`` are the rules that count content which
    the messages may hold, as a bit mask of positions; other rules that count are skipped. The tools
    in ``declared`` move from the messages to the tools of the request.
    """
    changes: list[Change] = []
    if hoisted:
        entries = without_excess_markers(hoisted, request, context)
        joined = context.dialect.with_system(request.system, entries)
        why = "moved from the messages to the system prompt"
        before, after = (request.system,), (joined,)
        change = Change(
            "SYS001", "misplaced-system", Effect.RESHAPES, None, why, before, after, where="system",
            invalidates_thinking=context.policy.system == "hoist"
            and last_signed(request.messages, context) >= 0,
        )  # fmt: skip
        request, changes = replace(request, system=joined), [change]
    if declared:
        request, more = declare(declared, request)
        changes += more
    if _has_parameter_marker(request):
        counted |= _COUNTING_MARKERS
    for position, rule in enumerate(LAST):
        if rule.has_counted_content is not None and not counted >> position & 1:
            continue
        if rule.is_idle is not None and rule.is_idle(request, context):
            continue
        messages = request.messages
        request, more = rule.apply(request, context)
        changes += more
        if request.messages is not messages:
            counted = EVERY  # content of another kind may have replaced what was changed
    return request, changes


def finds_nothing(request: Request, context: Context) -> bool:
    """Return whether ``run_last_rules`` finds nothing if no message holds what a rule counts.

    The parameters of the request show it, for any messages.
    """
    idle = (rule.is_idle for rule in LAST if rule.has_counted_content is None)
    return not _has_parameter_marker(request) and all(
        is_idle is not None and is_idle(request, context) for is_idle in idle
    )


def _has_parameter_marker(request: Request) -> bool:
    """Return whether a parameter of the request has a cache marker, apart from the messages."""
    return (
        request.cache_control is not None
        or _has_marker(request.system)
        or _has_marker(request.tools)
    )


def _has_marker(blocks: object) -> bool:
    """Return whether the system prompt or the tools have a cache marker."""
    return isinstance(blocks, list) and any(
        isinstance(block, dict) and ("cache_control" in block or "cachePoint" in block)
        for block in blocks
    )
