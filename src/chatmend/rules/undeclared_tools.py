"""The history holds tool calls, but the request declares no tools.

Why: ``Requests which include `tool_use` or `tool_result` blocks must define tools.`` (Anthropic); ``The toolConfig
field must be defined when using toolUse and toolResult content blocks.`` (Bedrock).

Repair: the smallest declaration that the history needs: each tool's name, with a schema that asks for nothing. A stored
conversation does not say which tools were declared, so only a request body is judged.

Before (anthropic/claude-sonnet-4-5):
    {"model": "claude-sonnet-4-5",
     "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": null, "tool_calls": [
          {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "done"}]}
After:
    {"model": "claude-sonnet-4-5",
     "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": null, "tool_calls": [
          {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "done"}],
     "tools": [
      {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]}
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Request, RequestRule

if TYPE_CHECKING:
    from chatmend.context import Context

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
    # Most are a text without calls beside it: told here, because a call for each costs more than the look.
    holders = [
        native
        for native in messages
        if native.__class__ is not dict
        or native.get("content").__class__ is not str
        or "tool_calls" in native
        or "function_call" in native
    ]
    if not holders:
        return []
    names = dict.fromkeys(
        call.name for native in holders for call in context.dialect.read(native).calls if isinstance(call.name, str)
    )
    schema = {"type": "object", "properties": {}}
    if context.traits.results_inside:
        return [{"name": name, "input_schema": schema} for name in names]
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names]


RULE = RequestRule(CODE, NAME, apply)
