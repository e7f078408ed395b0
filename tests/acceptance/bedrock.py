"""Converse bodies as LiteLLM writes them, read against the service model of botocore.

botocore itself checks types and minima only, so patterns, maxima and enums of
the same model are walked here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from .base import Request
from .lite import to_bedrock


@cache
def _shape() -> Any:
    import botocore.session

    return botocore.session.Session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def _walk(shape: Any, value: Any, where: str) -> list[str]:
    out: list[str] = []
    if getattr(shape, "is_document_type", False) or value is None:
        return out
    if shape.type_name == "structure" and isinstance(value, dict):
        for key, item in value.items():
            if key in shape.members:
                out += _walk(shape.members[key], item, f"{where}.{key}")
    elif shape.type_name == "list" and isinstance(value, list):
        for i, item in enumerate(value):
            out += _walk(shape.member, item, f"{where}[{i}]")
    meta = shape.metadata
    if isinstance(value, str | list | bytes) and shape.type_name in ("string", "list"):
        if not meta.get("min", 0) <= len(value) <= meta.get("max", 10**9):
            out.append(f"{where}: length {len(value)} outside {meta.get('min')}..{meta.get('max')}")
    if isinstance(value, str) and shape.type_name == "string":
        if meta.get("pattern") and not re.fullmatch(meta["pattern"], value):
            out.append(f"{where}: {value[:80]!r} does not match {meta['pattern']}")
        if meta.get("enum") and value not in meta["enum"]:
            out.append(f"{where}: {value!r} not in enum")
    return out


def _turns(messages: list[dict[str, Any]], claude: bool) -> list[str]:
    out = []
    pending: list[Any] = []
    for i, message in enumerate(messages):
        content = [b for b in message.get("content") or [] if isinstance(b, dict)]
        uses = [b["toolUse"].get("toolUseId") for b in content if "toolUse" in b]
        results = [b["toolResult"].get("toolUseId") for b in content if "toolResult" in b]
        if not content:
            out.append(f"bedrock-content-empty: messages.{i}")
        if sorted(map(str, results)) != sorted(map(str, pending)):
            out.append(f"bedrock-tool-result-missing/orphan: messages.{i} {pending} {results}")
        if len(set(uses)) != len(uses):
            out.append(f"bedrock-tool-use-duplicate: messages.{i}")
        if any("toolUse" in b and not isinstance(b["toolUse"].get("input"), dict) for b in content):
            out.append(f"bedrock-tool-input-object: messages.{i}")
        blank = any(isinstance(t := b.get("text"), str) and not t.strip() for b in content)
        if blank and not (claude and message.get("role") == "assistant" and len(content) > 1):
            out.append(f"bedrock-text-blank: messages.{i}")
        pending = uses
    if pending:
        out.append("bedrock-tool-result-missing: the last turn has unanswered calls")
    return out


def check(req: Request) -> list[str]:
    """Every family but Claude and Qwen wants a user message first."""
    try:
        messages, system = to_bedrock(req.model, req.chat)
    except Exception as error:  # noqa: BLE001 - LiteLLM refuses with whatever it trips over
        return [f"litellm: {type(error).__name__} {str(error)[:200]}"]
    from botocore.validate import ParamValidator

    if not messages:
        return ["messages is empty"]
    body: dict[str, Any] = {"modelId": req.model, "messages": messages, **({"system": system} if system else {})}
    report = ParamValidator().validate(body, _shape())
    out = [report.generate_report()[:400]] if report.has_errors() else []
    for key in ("messages", "system"):
        out += _walk(_shape().members[key], body.get(key), key)
    if not re.search("claude|qwen", req.model) and messages[0].get("role") != "user":
        out.append("bedrock-first-user")
    return out + _turns(messages, "claude" in req.model)
