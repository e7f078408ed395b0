"""The body must survive the trip to bytes: a lone surrogate kills it in the client."""

from __future__ import annotations

import json

from .base import Request, calls, function


def check(req: Request) -> list[str]:
    """Arguments are parsed too: an escaped surrogate hides inside the JSON string."""
    try:
        json.dumps([req.messages, req.system, req.tools], ensure_ascii=False).encode()
    except (ValueError, TypeError) as error:
        return [str(error)]
    out = []
    for message in req.messages:
        for call in calls(message):
            arguments = function(call).get("arguments")
            if not isinstance(arguments, str):
                continue
            try:
                parsed = json.loads(arguments)
            except ValueError:
                continue  # whether bad JSON is accepted is the wire judge's question
            try:
                json.dumps(parsed, ensure_ascii=False).encode()
            except ValueError as error:
                out.append(f"arguments: {error}")
    return out
