"""Tool calls in the history of a request that declares no tools.

Why: ``Requests which include `tool_use` or `tool_result` blocks must define tools.`` (Anthropic); ``The toolConfig field must
be defined when using toolUse and toolResult content blocks.`` (Bedrock). A summariser gets the history, but not the tools.

Repair: the minimal declaration of every tool that the history names, with an open schema. Where it is not known what the
request declares (``tools=None``), nothing is judged.

Before: ``tools`` absent, history with a call of ``search``
After: ``tools: [{"name": "search", "input_schema": {"type": "object", "properties": {}}}]``
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Context, Request, RequestRule

CODE, NAME = "TOOL014", "undeclared-tools"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """The request with its tools declared."""
    tools = request.tools
    if not context.limits.tools_declared or not isinstance(tools, list) or tools:
        return request, []
    declared = _declaration(request.messages, context)
    if not declared:
        return request, []
    why, allowed = "the history holds tool calls, so tools must be declared", context.policy.allow >= Effect.ADDS
    change = Change(CODE, NAME, Effect.ADDS, None, why, (tools,), (declared,), where="tools", applied=allowed)
    return (replace(request, tools=declared) if allowed else request), [change]


def _declaration(messages: list[Any], context: Context) -> list[dict[str, Any]]:
    names = dict.fromkeys(
        call.name for native in messages for call in context.dialect.read(native).calls if isinstance(call.name, str)
    )
    schema = {"type": "object", "properties": {}}
    if context.traits.results_inside:
        return [{"name": name, "input_schema": schema} for name in names]
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names]


RULE = RequestRule(CODE, NAME, apply)
