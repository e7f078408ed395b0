"""The report on the changes of a request, which ``response_metadata["chatmend"]`` holds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from chatmend.langchain.message_fields import metadata_of
from chatmend.rules import leading_assistant, trailing_assistant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.changes import Change
    from chatmend.options import ReportMode

REPORT = "chatmend"
"""The key of the report in ``response_metadata``."""
ADDED_USER = {rule.RULE.code: rule.ANSWERS for rule in (leading_assistant, trailing_assistant)}
"""For the code of a rule that adds a user message at the end, the key of the answer to it."""


def report(
    changes: Sequence[Change],
    mode: ReportMode = "all",
    first_new: int = 0,
    *,
    is_applied: bool = True,
) -> dict[str, Any] | None:
    """Return the report for ``response_metadata``: codes, positions and reasons, but no content.

    Args:
        changes: the changes of a request.
        mode: which of them to list.
        first_new: the index of the first message that counts as new. Earlier changes are repeated
            at every turn; a report that lists them all would grow with the conversation.
        is_applied: whether the changes were made; otherwise the report says ``"mode": "report"``.
    """
    if not changes:
        return None
    if mode == "off":
        return repeated(report(changes, "new", first_new, is_applied=is_applied))
    made: dict[str, Any] = {} if is_applied else {"mode": "report"}
    if mode == "counts":
        return {"counts": dict(sorted(Counter(change.code for change in changes).items())), **made}
    new = [
        change
        for change in changes
        if mode == "all" or change.index is None or change.index >= first_new
    ]
    earlier = {"earlier": len(changes) - len(new)} if len(new) < len(changes) else {}
    return {"changes": [_change_as_dict(change) for change in new], **earlier, **made}


def repeated(found: object) -> dict[str, Any] | None:
    """Return the part of a report from which the next request is repaired in the same way.

    It is kept even if the caller wants no report: an option of the report changes no request.
    """
    counts = {code: 1 for code in ADDED_USER if has_code(found, code)}
    return {"counts": counts} if counts else None


def has_code(found: object, code: str) -> bool:
    """Return whether a report lists an applied change with this code."""
    if not isinstance(found, dict) or found.get("mode") == "report":
        return False
    counts, changes = found.get("counts"), found.get("changes")
    return (isinstance(counts, dict) and code in counts) or any(
        isinstance(change, dict) and change.get("code") == code and change.get("applied") is True
        for change in (changes if isinstance(changes, list) else ())
    )


def report_of_input(messages: Sequence[BaseMessage]) -> dict[str, Any] | None:
    """Return the report that a node or function left in the last message of a request."""
    if not messages or isinstance(messages[-1], AIMessage):
        return None
    found = metadata_of(messages[-1]).get(REPORT)
    return found if isinstance(found, dict) else None


def merge_reports(
    earlier: dict[str, Any] | None, later: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return one report of two repairs of the same request."""
    if earlier is None or later is None:
        return earlier or later
    merged: dict[str, Any] = {**earlier, **later}
    for key in earlier.keys() & later.keys():
        old, new = earlier[key], later[key]
        if key != "mode":
            merged[key] = dict(Counter(old) + Counter(new)) if isinstance(old, dict) else old + new
    return merged


def index_of_last_answer(messages: Sequence[BaseMessage]) -> int:
    """Return the index of the last message of the assistant; 0 if there is none."""
    last = len(messages) - 1
    return next((at for at in range(last, -1, -1) if isinstance(messages[at], AIMessage)), 0)


def _change_as_dict(change: Change) -> dict[str, Any]:
    return {
        "code": change.code,
        "rule": change.rule,
        "effect": change.effect.name.lower(),
        "index": change.index,
        "why": change.why,
        "applied": change.applied,
    }
