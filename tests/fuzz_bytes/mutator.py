"""Changes a JSON value into another one, for inputs that have to be JSON."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from chatmend.jsontext import is_too_deep
from tests.broken import tear

LARGEST = 4_096
"""Bytes of an input: larger ones are slow and find the same."""
DEEPEST = 200
"""Levels of nesting that ``deepcopy`` can copy in every version of Python."""


def mutate_json(data: bytes, max_size: int, seed: int) -> bytes:
    """Return another JSON text: values of the old one are deleted, replaced, swapped, copied."""
    rng = Random(seed)
    value = parsed(data)
    messages: list[Any] = value if isinstance(value, list) else [value or {}]
    while True:
        torn = tear(messages, rng, rng.randint(1, 4))
        text = json.dumps(torn if isinstance(value, list) or not torn else torn[0]).encode()
        if len(text) <= min(max_size, LARGEST):
            return text
        messages = messages[: len(messages) // 2] if len(messages) > 1 else []


def parsed(data: bytes) -> Any:
    """The value of a JSON text; None if it is none, or is nested too deeply to be changed."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return None if is_too_deep(value, DEEPEST) else value
