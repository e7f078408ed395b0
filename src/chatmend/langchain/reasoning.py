"""Sends ``reasoning_content`` to providers that require it with tool calls.

Partner packages keep it, if at all, in ``additional_kwargs``, and most never send it. If the
provider refuses requests without it, it is added to the payload that the package has built.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from chatmend.rules import missing_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.changes import Change

REASONING_KEY = "reasoning_content"
PAYLOADS = ("_get_request_payload", "_create_message_dicts")
"""Methods of partner classes that build the messages of a request, one dict per message."""


class RepairedMessages(list[BaseMessage]):
    """Repaired messages; a hook that is called by another hook does not repair them again."""

    needs_reasoning = False
    """Whether their reasoning must be sent."""
    has_sent_reasoning = False
    """Whether their reasoning is in the payload."""


def reasoning_of(message: BaseMessage) -> str:
    """Return the reasoning in ``additional_kwargs`` of a message."""
    reasoning = (
        message.additional_kwargs.get(REASONING_KEY) if isinstance(message, AIMessage) else None
    )
    return reasoning if isinstance(reasoning, str) else ""


def add_reasoning(messages: RepairedMessages, payload: Any) -> None:
    """Add the reasoning of messages to their payload, unless the two cannot be matched."""
    sent = payload.get("messages") if isinstance(payload, dict) else payload
    sent = sent[0] if isinstance(sent, tuple) and sent else sent
    if not isinstance(sent, list) or len(sent) != len(messages):
        return
    pairs = [
        (reasoning, body)
        for message, body in zip(messages, sent, strict=True)
        if (reasoning := reasoning_of(message))
    ]
    if not all(isinstance(body, dict) and body.get("role") == "assistant" for _, body in pairs):
        return
    for reasoning, body in pairs:
        body[REASONING_KEY] = reasoning
    messages.has_sent_reasoning = True


def mark_reasoning_unsent(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Mark added reasoning as not applied, for a request whose payload does not contain it."""
    return tuple(
        _marked_unsent(change) if change.code == missing_reasoning.RULE.code else change
        for change in changes
    )


def _marked_unsent(change: Change) -> Change:
    why = f"{change.why}, which the partner package does not send"
    return replace(change, why=why, applied=False) if change.applied else change
