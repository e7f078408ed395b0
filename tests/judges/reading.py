"""Reads transcripts that may be broken: what is not of the expected shape is passed over, for others to name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .request import Json


def objects(value: Json) -> list[dict[str, Json]]:
    """The items of a list that are JSON objects."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def numbered(value: Json) -> Iterator[tuple[int, dict[str, Json]]]:
    """The items of a list that are JSON objects, each with its true index."""
    if isinstance(value, list):
        yield from ((index, item) for index, item in enumerate(value) if isinstance(item, dict))


def blocks(content: Json) -> list[dict[str, Json]]:
    """Content as blocks; a string is one text block, as every API reads it."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def calls(message: dict[str, Json]) -> list[dict[str, Json]]:
    """The tool calls of an OpenAI-style message."""
    return objects(message.get("tool_calls"))


def function(call: dict[str, Json]) -> dict[str, Json]:
    """The ``function`` of an OpenAI-style tool call or tool; empty when there is none."""
    value = call.get("function")
    return value if isinstance(value, dict) else {}


def parsed(text: Json) -> Json:
    """The JSON value that a string spells, or the string itself when it spells none."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def merged(messages: Json, content_key: str = "content") -> list[dict[str, Json]]:
    """Same-role runs as one turn each, the way Anthropic, Gemini and Bedrock read them. Blocks keep their identity."""
    turns: list[dict[str, Json]] = []
    for message in objects(messages):
        held = blocks(message.get(content_key))
        if turns and turns[-1]["role"] == message.get("role"):
            turns[-1][content_key] += held
        else:
            turns.append({"role": message.get("role"), content_key: list(held)})
    return turns
