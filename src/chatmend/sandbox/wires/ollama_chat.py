"""The format of Ollama's native chat API: newline-delimited JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.wires import pieces
from chatmend.sandbox.wires.openai_chat import MARKERS, normalize, segments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.sandbox.answers import Answer
    from chatmend.sandbox.request import SandboxRequest

Body = dict[str, Any]
MEDIA_TYPE = "application/x-ndjson"
_CREATED = "2026-01-01T00:00:00Z"
__all__ = ["MARKERS", "MEDIA_TYPE", "events", "normalize", "response_body", "segments"]


def _line(answer: Answer, message: Body, *, done: bool) -> Body:
    line: Body = {
        "model": answer.model,
        "created_at": _CREATED,
        "message": {"role": "assistant", **message},
    }
    if not done:
        return line | {"done": False}
    counts = {"prompt_eval_count": answer.prompt.total, "eval_count": answer.output_tokens}
    times = dict.fromkeys(
        ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"), 1_000_000
    )
    return (
        line
        | {"done": True, "done_reason": "length" if answer.finish == "length" else "stop"}
        | counts
        | times
    )


def _calls(answer: Answer) -> list[Body]:
    return [
        {"id": call.id, "function": {"name": call.name, "arguments": dict(call.arguments)}}
        for call in answer.calls
    ]


def response_body(answer: Answer, request: SandboxRequest) -> Body:
    """Return one complete line."""
    message: Body = {"content": answer.text}
    message |= {"thinking": answer.thought} if answer.thought else {}
    message |= {"tool_calls": _calls(answer)} if answer.calls else {}
    return _line(answer, message, done=True)


def events(answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
    """Yield lines of JSON; the last one contains the counts."""
    messages: list[Body] = [{"content": "", "thinking": piece} for piece in pieces(answer.thought)]
    messages += [{"content": piece} for piece in pieces(answer.text)]
    messages += [{"content": "", "tool_calls": [call]} for call in _calls(answer)]
    lines = [_line(answer, message, done=False) for message in messages]
    for line in [*lines, _line(answer, {"content": ""}, done=True)]:
        yield json.dumps(line).encode() + b"\n"
