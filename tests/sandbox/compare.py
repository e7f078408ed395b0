"""Compares error texts and types of the sandbox with recorded ones; indices and ids may differ."""

from __future__ import annotations

import json
import re
from typing import Any

_IDS = re.compile(
    r"\b(?:toolu|tooluse|call|fc|ctc|ws|rs|resp|conv|pmpt|srvtoolu|file|functions)[_\-.:A-Za-z0-9]*[A-Za-z0-9_]|"
    r"(?<=[\s'(])(?:[ct]\d|c|t|A|B|X)(?=[\s'.)]|$)|(?<=encrypted content )\S+|(?<=At path ')[^']*|"
    r"image/(?:png|jpeg)"
)
_DIGITS = re.compile(r"\d+(?:\.\d+)?|(?<=\.)[NM](?=[.:\s])|(?<=column )N|\{[ij]\}")


def text_of(body: Any) -> str:  # noqa: PLR0911 - one return for each shape
    """Return the text of an error body of any provider."""
    if isinstance(body, str):
        try:
            return text_of(json.loads(body))
        except ValueError:
            return body
    if isinstance(body, list):
        return text_of(body[0]) if body else ""
    if not isinstance(body, dict):
        return str(body)
    if isinstance(body.get("error"), dict):
        return _unwrapped(body["error"])
    message = body.get("message", body.get("error", ""))
    if isinstance(message, dict):
        return str(message["detail"][0]["msg"])
    return str(message)


def _unwrapped(error: dict[str, Any]) -> str:
    return str(error.get("message", ""))


def normalize(text: str) -> str:
    """Replace the indices and ids of a text with placeholders."""
    return " ".join(_DIGITS.sub("#", _IDS.sub("<id>", text)).split())


_ID_KEYS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "toolUseId"})


def _ids_in(body: Any) -> list[str]:
    """Return the ids in a request, longest first."""
    found: set[str] = set()
    stack = [body]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            found |= {
                inner
                for key, inner in value.items()
                if key in _ID_KEYS and isinstance(inner, str) and inner
            }
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return sorted(found, key=len, reverse=True)


def is_same_text(actual: str, recorded: str, body: Any = None) -> bool:
    """Return whether two texts are equal; three dots in the recorded one match any text."""
    for name in _ids_in(body):
        actual = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "call_x", actual)
        recorded = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "call_x", recorded)
    left, right = normalize(actual), normalize(recorded)
    if left == right:
        return True
    if "..." not in recorded:
        return False
    pieces = [normalize(piece) for piece in recorded.split("...") if piece.strip()]
    at = 0
    for piece in pieces:
        found = left.find(piece.strip(", '"), at)
        if found < 0:
            return False
        at = found + len(piece.strip(", '"))
    return True


def error_type_of(body: Any) -> str | None:
    """Return the error type of a body, or ``None``."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return None
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return error.get("type") or error.get("status")
    return body.get("type") or body.get("code") if isinstance(body, dict) else None
