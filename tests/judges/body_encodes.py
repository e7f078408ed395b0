"""Judge: the body can be written as UTF-8 JSON (a lone surrogate cannot; rule ``anthropic-lone-surrogate``)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from .reading import calls, function, numbered, parsed

if TYPE_CHECKING:
    from .request import Json, Request

_ARGUMENTS_TRAVEL_AS_OBJECTS = re.compile(r"^(anthropic|gemini|vertex_ai|bedrock|strict)\b")
"""Elsewhere arguments stay text, where the six characters ``\\ud83d`` are harmless."""


def body_encodes(request: Request) -> list[str]:
    """Encode the messages, the system prompt, the tools, and the arguments where they travel parsed."""
    refusals = _refusals(request.messages, "messages")
    refusals += _refusals(request.system, "system") + _refusals(request.tools, "tools")
    if _ARGUMENTS_TRAVEL_AS_OBJECTS.match(request.target):
        for index, message in numbered(request.messages):
            for call in calls(message):
                refusals += _refusals(
                    parsed(function(call).get("arguments")), f"messages[{index}] arguments"
                )
    return refusals


def _refusals(value: Json, where: str) -> list[str]:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return [f"{where} cannot be encoded: {type(error).__name__}: {error}"[:300]]
    return []
