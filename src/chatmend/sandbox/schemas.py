"""Generates values that match a JSON schema, for tool calls and structured answers."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

_MAX_DEPTH = 12
_MAX_LENGTH = 10_000
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def sample(schema: Any) -> Any:
    """Return a value that matches a schema: first choices, smallest numbers, all properties.

    Return an object if the schema has no type.
    """
    if not isinstance(schema, Mapping):
        return {}
    value = _value(schema, schema, "value", 0)
    return {} if value is None and schema.get("type", "object") in ("object", "OBJECT") else value


def _value(schema: Any, root: Mapping[str, Any], name: str, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return None
    if "$ref" in schema:
        return _value(_resolve(str(schema["$ref"]), root), root, name, depth + 1)
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return _value(schema[key][0], root, name, depth + 1)
    return _typed(schema, root, name, depth)


def _typed(schema: Mapping[str, Any], root: Mapping[str, Any], name: str, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind).lower()
    if kind == "object":
        properties = schema.get("properties")
        items = properties.items() if isinstance(properties, Mapping) else ()
        return {key: _value(inner, root, str(key), depth + 1) for key, inner in items}
    if kind == "array":
        return [_value(schema.get("items"), root, name, depth + 1)] * max(
            1, _count(schema, "minItems", 1)
        )
    if kind in ("integer", "number"):
        minimum = _number(schema, "minimum", _number(schema, "exclusiveMinimum", 0))
        return (
            minimum + 1
            if "exclusiveMinimum" in schema
            else max(minimum, min(1, _number(schema, "maximum", 1)))
        )
    if kind == "boolean":
        return True
    return None if kind == "null" else _text(schema, name)


def _text(schema: Mapping[str, Any], name: str) -> str:
    text = _FORMATS.get(str(schema.get("format")), name.replace("_", " "))
    text = text.ljust(_count(schema, "minLength", 0), "x")
    return text[: _count(schema, "maxLength", len(text))]


def _number(schema: Mapping[str, Any], key: str, default: float) -> float:
    """Return the number under a key of a schema; the default if it is not a number."""
    value = schema.get(key)
    return value if isinstance(value, int | float) else default


def _count(schema: Mapping[str, Any], key: str, default: int) -> int:
    """Return the length under a key of a schema, limited to ``_MAX_LENGTH``."""
    number = _number(schema, key, default)
    return int(min(max(number, 0), _MAX_LENGTH)) if isfinite(number) else default


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
