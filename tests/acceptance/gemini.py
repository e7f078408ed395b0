"""Gemini contents as LiteLLM writes them, read by Google's own request type."""

from __future__ import annotations

import re
from typing import Any

from .base import Request, runs
from .lite import to_gemini

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z")


def _get(part: dict[str, Any], camel: str) -> Any:
    """LiteLLM mixes camelCase and snake_case keys; Google reads both."""
    return part.get(camel, part.get(re.sub("([A-Z])", r"_\1", camel).lower()))


def _turn_rules(contents: list[dict[str, Any]]) -> list[str]:
    out = []
    pending = 0
    first = True
    for role, group in runs(contents, {"model": "model"}):
        parts = [p for c in group for p in c.get("parts") or []]
        called = [c for p in parts if (c := _get(p, "functionCall")) is not None]
        answered = [r for p in parts if (r := _get(p, "functionResponse")) is not None]
        for named in (*called, *answered):
            if not _NAME.match(str(named.get("name", ""))):
                out.append(f"gemini-function-name: {named.get('name')!r}")
        out += ["gemini-function-args-object" for c in called if not isinstance(c.get("args", {}), dict)]
        out += ["gemini-function-response-object" for r in answered if not isinstance(r.get("response"), dict)]
        if called and first:
            out.append("gemini-function-call-turn: the first turn calls")
        if role != "model" and len(answered) != pending:
            out.append(f"gemini-function-response-count: {pending} calls, {len(answered)} responses")
        pending, first = (len(called) if role == "model" else 0), False
    return out


def check(req: Request) -> list[str]:
    """Merged turns, because Google accepts calls and responses split over a run."""
    try:
        contents = to_gemini(req.model, req.chat)
    except Exception as error:  # noqa: BLE001 - LiteLLM refuses with whatever it trips over
        return [f"litellm: {type(error).__name__} {str(error)[:200]}"]
    from google.genai.types import Content

    out = [] if contents else ["contents is empty"]
    for i, content in enumerate(contents):
        try:
            Content.model_validate(content)
        except ValueError as error:
            out.append(f"contents.{i}: {str(error)[:200]}")
        parts = content.get("parts") or []
        if not parts or any(not p or all(v is None for v in p.values()) for p in parts):
            out.append(f"gemini-parts-empty: contents.{i}")
    return out + _turn_rules(contents)
