"""Third-party judges of repaired transcripts.

A repairer that tests itself with its own rules proves nothing, so acceptance is
decided here by vendors' SDKs, LiteLLM's converters and recorded wire facts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import anthropic_body, bedrock, gemini, mistral, pairing, sdk_types, templates, utf8, wire
from .base import Request

Check = Callable[[Request], list[str]]


def _selected(req: Request) -> list[tuple[str, Check]]:
    """Which judges have a say about this dialect and target."""
    found: list[tuple[str, Check]] = [("utf8", utf8.check)]
    if req.dialect == "anthropic_messages":
        return [*found, ("anthropic", anthropic_body.check)]
    if req.target == "other":
        return found
    if req.family or req.target == "strict":
        found.append(("openai_types", sdk_types.check_openai))
    found.append(("pairing", pairing.check))
    if req.provider == "mistral":
        found.append(("mistral_common", mistral.check))
    elif req.provider == "bedrock":
        found.append(("bedrock", bedrock.check))
    elif req.provider in ("gemini", "vertex_ai") and "claude" not in req.model:
        found.append(("gemini", gemini.check))
    elif "claude" in req.model and not req.family:
        found.append(("anthropic", anthropic_body.check))
    if req.provider in wire.RULES:
        found.append(("wire", wire.check))
    if templates.template_for(req.target):
        found.append(("template", templates.check))
    return found


def judges_for(dialect: str, target: str) -> tuple[str, ...]:
    """The names of the judges that `judge` would ask."""
    return tuple(name for name, _ in _selected(Request(dialect, target, [])))


def judge(
    dialect: str, target: str, messages: list[Any], system: Any = None, tools: Any = None
) -> list[str]:
    """All refusals, each prefixed by its judge; [] means accepted. Never raises."""
    req = Request(dialect, target, messages, system, tools)
    out: list[str] = []
    for name, check in _selected(req):
        try:
            out += [f"{name}: {refusal}" for refusal in check(req)]
        except Exception as error:  # noqa: BLE001 - input a judge trips over is not accepted
            out.append(f"{name}: raised {type(error).__name__} {str(error)[:200]}")
    return out


__all__ = ["judge", "judges_for"]
