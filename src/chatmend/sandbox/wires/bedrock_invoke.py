"""Bedrock's invoke with a Claude body: Anthropic's messages in AWS's event stream."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox import eventstream
from chatmend.sandbox.wires import anthropic_messages
from chatmend.sandbox.wires.anthropic_messages import MARKERS, normalize, response_body, segments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.sandbox.answers import Answer
    from chatmend.sandbox.request import SandboxRequest

MEDIA_TYPE = eventstream.MEDIA_TYPE
__all__ = ["MARKERS", "MEDIA_TYPE", "events", "normalize", "response_body", "segments"]


def events(answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
    """Yield Anthropic's events, each in base64 in a ``chunk`` of the event stream."""
    for event in anthropic_messages.event_objects(answer, request):
        call_body: dict[str, Any] = event
        if event["type"] == "message_stop":
            counts = {
                "inputTokenCount": answer.prompt.total,
                "outputTokenCount": answer.output_tokens,
            }
            call_body = event | {
                "amazon-bedrock-invocationMetrics": counts
                | {"invocationLatency": 12, "firstByteLatency": 5}
            }
        yield eventstream.frame(
            "chunk", {"bytes": base64.b64encode(json.dumps(call_body).encode()).decode()}
        )
