"""The format of Cohere's chat API, version 2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.wires import pieces, sse
from chatmend.sandbox.wires.openai_chat import MARKERS, MEDIA_TYPE, normalize, segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.sandbox.answers import Answer
    from chatmend.sandbox.request import SandboxRequest

Body = dict[str, Any]
_STOPS = {"stop": "COMPLETE", "tool_calls": "TOOL_CALL", "length": "MAX_TOKENS"}
__all__ = ["MARKERS", "MEDIA_TYPE", "events", "normalize", "response_body", "segments"]


def usage_of(answer: Answer) -> Body:
    """Return the usage; billed tokens never exceed counted tokens."""
    counted = {"input_tokens": answer.prompt.total, "output_tokens": answer.output_tokens}
    return {"billed_units": dict(counted), "tokens": counted, "cached_tokens": answer.prompt.read}


def _calls(answer: Answer) -> list[Body]:
    return [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.text}}
        for c in answer.calls
    ]


def response_body(answer: Answer, request: SandboxRequest) -> Body:
    """Return a chat response."""
    message: Body = {"role": "assistant"}
    if answer.calls:
        message |= {"tool_plan": "I will call a tool.", "tool_calls": _calls(answer)}
    else:
        message["content"] = [{"type": "text", "text": answer.text}]
    return {
        "id": answer.id,
        "message": message,
        "finish_reason": _STOPS[answer.finish],
        "usage": usage_of(answer),
    }


def _events(answer: Answer) -> Iterator[Body]:
    opening: Body = {
        "role": "assistant",
        "content": [],
        "tool_plan": "",
        "tool_calls": [],
        "citations": [],
    }
    yield {"type": "message-start", "id": answer.id, "delta": {"message": opening}}
    if answer.text:
        yield {
            "type": "content-start",
            "index": 0,
            "delta": {"message": {"content": {"type": "text", "text": ""}}},
        }
        for piece in pieces(answer.text):
            yield {
                "type": "content-delta",
                "index": 0,
                "delta": {"message": {"content": {"text": piece}}},
            }
        yield {"type": "content-end", "index": 0}
    if answer.calls:
        yield {
            "type": "tool-plan-delta",
            "delta": {"message": {"tool_plan": "I will call a tool."}},
        }
    for at, call in enumerate(_calls(answer)):
        text, empty = (
            call["function"]["arguments"],
            call | {"function": call["function"] | {"arguments": ""}},
        )
        yield {"type": "tool-call-start", "index": at, "delta": {"message": {"tool_calls": empty}}}
        for piece in pieces(text):
            inner = {"tool_calls": {"function": {"arguments": piece}}}
            yield {"type": "tool-call-delta", "index": at, "delta": {"message": inner}}
        yield {"type": "tool-call-end", "index": at}
    end = {"finish_reason": _STOPS[answer.finish], "usage": usage_of(answer)}
    yield {"type": "message-end", "id": answer.id, "delta": end}


def events(answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
    """Yield server-sent events.

    A client that accepts only JSON gets one event per line, as documented by the API.
    """
    lines = request.headers.get("accept") == "application/json"
    for event in _events(answer):
        yield json.dumps(event).encode() + b"\n" if lines else sse(event, event["type"])
