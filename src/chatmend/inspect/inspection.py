"""Inspects a conversation for one target: findings, verdict, transcripts before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.dialects import DIALECTS, format_of_body
from chatmend.dialects.recognition import Unsure, format_of
from chatmend.errors import ChatmendError, TranscriptError
from chatmend.failures import reason_of
from chatmend.inspect.shortening import shortened
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
        **_verdicts(before, after, target, form),
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


def _verdicts(
    before: Conversation, after: Conversation, target: Target, form: str
) -> dict[str, Any]:
    """Return how the sandbox's copy of the provider answers before and after, if it has one.

    Only whole request bodies are judged: bare messages lack parameters that providers require.
    """
    if not isinstance(before, dict) or not isinstance(after, dict) or target.is_floor:
        return {}
    # The static page loads these modules only for request bodies.
    from chatmend.sandbox.verdicts import endpoint_of, refusal_of  # noqa: PLC0415

    endpoint = endpoint_of(target.provider, form)
    if endpoint is None:
        return {}
    told: list[dict[str, Any] | None] = []
    for body in (before, after):
        try:
            refusal = refusal_of(endpoint, body, target.model)
        except ImportError:  # an image, on the static page, which has no Pillow
            return {}
        told.append(None if refusal is None else {"status": refusal.status, "text": refusal.text})
    return {"refused": told[0], "refused_after": told[1], "judged": True}
