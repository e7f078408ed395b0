"""Bedrock's invoke with a Claude body: Anthropic's messages in AWS's envelope and event stream."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox import eventstream
from chatmend.sandbox.wires import anthropic_messages
from chatmend.sandbox.wires.anthropic_messages import MARKERS, ask, segments, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.sandbox.answers import Answer
    from chatmend.sandbox.request import Request

MEDIA_TYPE = eventstream.MEDIA_TYPE
__all__ = ["MARKERS", "MEDIA_TYPE", "ask", "events", "segments", "whole"]


def events(answer: Answer, request: Request) -> Iterable[bytes]:
    """Anthropic's events, each in base64 in a ``chunk`` of the event stream."""
    for event in anthropic_messages.event_objects(answer, request):
        shown: dict[str, Any] = event
        if event["type"] == "message_stop":
            counts = {"inputTokenCount": answer.prompt.total, "outputTokenCount": answer.output_tokens}
            shown = event | {
                "amazon-bedrock-invocationMetrics": counts | {"invocationLatency": 12, "firstByteLatency": 5}
            }
        yield eventstream.frame("chunk", {"bytes": base64.b64encode(json.dumps(shown).encode()).decode()})
