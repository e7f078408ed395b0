"""Shortens long texts in JSON values for display, such as the data of images."""

from __future__ import annotations

_LONGEST_TEXT = 4_000
_KEPT = 300
_DEEPEST = 60


def shortened(value: object, longest: int = _LONGEST_TEXT, depth: int = 0) -> object:
    """Return a JSON value in which long texts keep their beginning and end."""
    if isinstance(value, str):
        return short_text(value, longest)
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {key: shortened(item, longest, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [shortened(item, longest, depth + 1) for item in value]
    return value


def short_text(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text, or its beginning and end with the number of characters between them."""
    if len(text) <= longest:
        return text
    kept = min(_KEPT, longest // 2)
    return f"{text[:kept]} … {len(text) - 2 * kept:,} characters … {text[-kept:]}"
