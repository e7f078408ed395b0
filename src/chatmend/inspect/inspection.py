"""Inspects a conversation for one target: findings, verdict, transcripts before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from chatmend.dialects import DIALECTS, format_of_body
from chatmend.dialects.recognition import Unsure, format_of
from chatmend.errors import ChatmendError, TranscriptError
from chatmend.failures import reason_of
from chatmend.images import Outcome
from chatmend.inspect.recognition import recognise
from chatmend.inspect.shortening import shortened
from chatmend.inspect.target_choices import guess
from chatmend.inspect.verdicts import verdicts
from chatmend.inspect.view import view
from chatmend.report import line, summary
from chatmend.report.lines import position
from chatmend.report.machine import to_data
from chatmend.sessions.embedded import find_conversation
from chatmend.sessions.stored import messages_of, repair_conversation
from chatmend.targets import resolve
from chatmend.targets.resolve import suggest_provider

if TYPE_CHECKING:
    from chatmend.changes import Change
    from chatmend.images.facts import Probe
    from chatmend.images.payload import Payload
    from chatmend.images.plan import Plan
    from chatmend.images.recompressor import Recompressor
    from chatmend.inspect.thumbnails import Thumbnails
    from chatmend.sessions.stored import Conversation
    from chatmend.targets import Target

MOST_TARGETS = 6
_MOST_FINDINGS = 500
"""Findings that are sent to the page; the summary counts all."""


def repaired(
    conversation: Conversation, name: str, recompressor: Recompressor | None
) -> tuple[Conversation, tuple[Change, ...]]:
    """Return a conversation repaired for a target, and the changes.

    Raises:
        ChatmendError: the target is unknown or the conversation cannot be read.
    """
    return repair_conversation(conversation, resolve(name), recompressor=recompressor)


def inspect_for(
    conversation: Conversation,
    name: str,
    error_codes: set[str],
    recompressor: Recompressor | None,
    thumbnails: Thumbnails,
) -> dict[str, Any]:
    """Return what the page shows for one target.

    Args:
        conversation: the messages or the request body.
        name: the name of the target.
        error_codes: the rules that the error text belongs to; their findings are marked.
        recompressor: recompresses images, as in ``repair``.
        thumbnails: describes and draws images.
    """
    result: dict[str, Any] = {"target": name}
    try:
        target = resolve(name)
        new, changes = repaired(conversation, name, recompressor)
    except ChatmendError as error:
        return result | {"fault": str(error)}
    except Exception as error:  # noqa: BLE001 - a failure must not hide the other targets
        return result | {"fault": f"chatmend failed: {reason_of(error)}"}
    ordered = sorted(changes, key=lambda change: (change.index is None, change.index or 0))
    result |= {
        "host": "" if target.is_floor else target.provider,
        "maker": target.maker,
        "suggestion": suggest_provider(name) or "",
        "summary": summary(changes),
        "count": len(changes),
        "unchanged": new is conversation,
        "findings": [_finding(change, error_codes) for change in ordered[:_MOST_FINDINGS]],
    }
    return result | _transcripts(conversation, new, target, thumbnails)


def scan(text: str, names: list[str], error: str) -> dict[str, Any]:
    """Return how many findings a conversation has for the first target, and their codes."""
    found = recognise(text)
    if found.conversation is None:
        return {"kind": found.kind}
    name = names[0] if names else guess(found, error).target
    try:
        changes = repaired(found.conversation, name, cast("Recompressor", _without_encoding))[1]
    except Exception as failure:  # noqa: BLE001 - a failure must not hide the other rows
        return {"kind": found.kind, "fault": reason_of(failure)}
    codes = sorted({change.code for change in changes})
    return {"kind": found.kind, "count": len(changes), "codes": codes}


def _without_encoding(payload: Payload, probe: Probe, plan: Plan) -> Outcome:
    """Return that an image is not encoded; that it has to be is what a scan counts."""
    del payload, probe, plan
    return Outcome(problem="not encoded", undecoded=True)


def _finding(change: Change, error_codes: set[str]) -> dict[str, Any]:
    data = to_data(change)
    return data | {
        "position": position(change),
        "line": line(change),
        "causes_error": change.code in error_codes,
        "before": shortened(data["before"]),
        "after": shortened(data["after"]),
    }


def _transcripts(
    old: Conversation, new: Conversation, target: Target, thumbnails: Thumbnails
) -> dict[str, Any]:
    """Return the views before and after, and how many messages stay byte-identical."""
    before, after = _inner(old), _inner(new)
    natives, sent = messages_of(before) or [], messages_of(after) or []
    try:
        form = format_of_body(before, target.provider) if isinstance(before, dict) else None
        form = form or format_of(natives, provider=target.provider)
    except TranscriptError:
        return {}
    if isinstance(form, Unsure) or form not in DIALECTS:
        return {}
    dialect = DIALECTS[form]
    shown = [] if new is old else view(sent, dialect, target, thumbnails)
    pasted = set(map(id, natives))
    for message, native in zip(shown, sent, strict=False):
        message["kept"] = id(native) in pasted
    return {
        "format": form,
        "messages": len(natives),
        "messages_sent": len(sent),
        "identical": _identical_prefix(natives, sent),
        "before": view(natives, dialect, target, thumbnails),
        "after": shown,
        **verdicts(before, after, target, form),
    }


def _inner(conversation: Conversation) -> Conversation:
    embedded = find_conversation(conversation)
    return conversation if embedded is None else embedded.conversation


def _identical_prefix(old: list[object], new: list[object]) -> int:
    """Return how many leading messages are the same objects before and after the repair."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one is not other:
            break
        count += 1
    return count
