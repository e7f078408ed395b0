"""Compares what the sandbox says with what was recorded: status, error type and text, up to indices and ids."""

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


def text_of(body: Any) -> str:  # noqa: PLR0911 - one shape, one return
    """The text of an error body, whichever shape it has."""
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


def normal(text: str) -> str:
    """A text without its indices and ids."""
    return " ".join(_DIGITS.sub("#", _IDS.sub("<id>", text)).split())


_ID_KEYS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "toolUseId"})


def _ids_in(body: Any) -> list[str]:
    """The ids that a request holds, longest first."""
    found: set[str] = set()
    stack = [body]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            found |= {inner for key, inner in value.items() if key in _ID_KEYS and isinstance(inner, str) and inner}
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return sorted(found, key=len, reverse=True)


def same(ours: str, recorded: str, body: Any = None) -> bool:
    """Whether two texts say the same; the recorded one may leave things out with three dots."""
    for name in _ids_in(body):
        ours = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "call_x", ours)
        recorded = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "call_x", recorded)
    left, right = normal(ours), normal(recorded)
    if left == right:
        return True
    if "..." not in recorded:
        return False
    pieces = [normal(piece) for piece in recorded.split("...") if piece.strip()]
    at = 0
    for piece in pieces:
        found = left.find(piece.strip(", '"), at)
        if found < 0:
            return False
        at = found + len(piece.strip(", '"))
    return True


def kind_of(body: Any) -> str | None:
    """The error type of a body, where it has one."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return None
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return error.get("type") or error.get("status")
    return body.get("type") or body.get("code") if isinstance(body, dict) else None
