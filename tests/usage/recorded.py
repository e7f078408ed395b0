"""Recorded payloads and streams, restored to the form in which the provider sent them."""

from __future__ import annotations

from typing import Any

from tests.corpus import rows

ROWS = rows("usage")
WHY = "the recorded payloads are not here: set CHATMEND_CORPUS"
FIELDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "reasoning": "reasoning_tokens",
}


def body(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the recorded parts of the response's body, and its headers."""
    kept = {
        key.split(".", 1)[1]: value
        for key, value in row["other_cost_fields"].items()
        if key.startswith("body.")
    }
    headers = {
        key.split(".", 1)[1]: value
        for key, value in row["other_cost_fields"].items()
        if key.startswith("header.")
    }
    return {"model": row["model"], **kept, "usage": usage_of(row)}, headers


def usage_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the usage, with the one path nested again that the recordings flatten."""
    usage = dict(row["raw_usage"])
    for count in usage.pop("results[].tokenCount", ()):
        usage.setdefault("results", []).append({"tokenCount": count})
    return usage


def event(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return one chunk of a stream: its usage at the recorded path, with the name of the event."""
    named = {"type": chunk["event"]} if chunk["event"] else {}
    if chunk["path"] == "(top)":
        return {**named, **chunk["usage"]}
    *above, last = chunk["path"].split(".")
    whole: Any = chunk["usage"]
    if last.endswith("[0]"):
        last, whole = last.removesuffix("[0]"), [whole]
    for key in (last, *reversed(above)):
        whole = {key: whole}
    return {**named, **whole}


def differences(row: dict[str, Any], usage: Any) -> dict[str, tuple[int, int | None]]:
    """Return the fields in which a usage record differs from the expected one; an unreported count equals 0."""
    truth = row["expected"]
    found = {name: getattr(usage, field) for name, field in FIELDS.items() if name in truth}
    return {
        name: (truth[name], value) for name, value in found.items() if (value or 0) != truth[name]
    }


def numbers(value: Any, path: str = "") -> set[str]:
    """Return the path of every number inside a payload."""
    if isinstance(value, dict):
        return {
            one
            for key, inner in value.items()
            for one in numbers(inner, f"{path}.{key}" if path else key)
        }
    if isinstance(value, list):
        return {one for inner in value for one in numbers(inner, f"{path}[]")}
    return {path} if isinstance(value, int | float) and not isinstance(value, bool) else set()
