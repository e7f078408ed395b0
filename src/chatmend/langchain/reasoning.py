"""``reasoning_content`` on its way to a provider that wants it back with tool calls.

Partner packages keep it in ``additional_kwargs``, if at all, and most send it to nobody. Where the provider refuses
requests without it, it is put on the message that the package has made: in the payload, after all conversions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from chatmend.rules import missing_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.changes import Change

KEY = "reasoning_content"
PAYLOADS = ("_get_request_payload", "_create_message_dicts")
"""Methods of partner classes that make the messages of a request body, one dict for each message."""


class Done(list[BaseMessage]):
    """Messages that were mended already: a hook that calls another one does not mend them again."""

    wants_reasoning = False
    """Whether their reasoning is to be sent."""
    sends_reasoning = False
    """Whether it is in the payload."""


def reasoning_of(message: BaseMessage) -> str:
    """The reasoning that a message keeps beside its content."""
    held = message.additional_kwargs.get(KEY) if isinstance(message, AIMessage) else None
    return held if isinstance(held, str) else ""


def carry(messages: Done, payload: Any) -> None:
    """Put the reasoning of messages on what is sent for them; nowhere, where it cannot be told which is which."""
    sent = payload.get("messages") if isinstance(payload, dict) else payload
    sent = sent[0] if isinstance(sent, tuple) and sent else sent
    if not isinstance(sent, list) or len(sent) != len(messages):
        return
    told = [
        (reasoning, body) for message, body in zip(messages, sent, strict=True) if (reasoning := reasoning_of(message))
    ]
    if not all(isinstance(body, dict) and body.get("role") == "assistant" for _, body in told):
        return
    for reasoning, body in told:
        body[KEY] = reasoning
    messages.sends_reasoning = True


def unsent(changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes of a request whose reasoning is in no payload: what was to add some is not applied."""
    return tuple(_unsent(change) if change.code == missing_reasoning.RULE.code else change for change in changes)


def _unsent(change: Change) -> Change:
    why = f"{change.why}, which the partner package does not send"
    return replace(change, why=why, applied=False) if change.applied else change
