"""Tool calls in the history of a request that declares no tools.

Why: ``Requests which include `tool_use` or `tool_result` blocks must define tools.`` (Anthropic);
``The toolConfig field must be defined when using toolUse and toolResult content blocks.``
(Bedrock).

Repair: The smallest declaration that the history needs is added: the name of each tool, with a
schema that requires nothing. A request with a message that defines tools (``tool_addition``) stays
unchanged. Only request bodies are checked, because a stored conversation does
not record which tools were declared.

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
      {"type": "function", "function": {
          "name": "f", "parameters": {"type": "object", "properties": {}}}}]}
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules.message_tools import defined_tools
from chatmend.rules.rule import Request, RequestRule
from chatmend.signatures import last_signed
from chatmend.transcript import ANSWERED

if TYPE_CHECKING:
    from chatmend.context import Context

CODE, NAME = "TOOL014", "undeclared-tools"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Add a declaration of the tools that the history uses."""
    tools = request.tools
    declared = _declare_tools(request.messages, context)
    if not declared or _defines_tools(request.messages, context):
        return request, []
    why = "the history contains tool calls, so the request must declare tools"
    is_signed = last_signed(request.messages, context) >= 0
    # The thinking is bound to the tools as well: the caller must declare those of earlier requests.
    is_bound = is_signed and context.limits.thinking_bound
    allowed = context.policy.allow >= Effect.ADDS and not is_bound
    change = Change(
        CODE, NAME, Effect.ADDS, None, why, (tools,), (declared,), where="tools", applied=allowed,
        finding=is_bound, invalidates_thinking=allowed and is_signed,
    )  # fmt: skip
    return (replace(request, tools=declared) if allowed else request), [change]


def _is_idle(request: Request, context: Context) -> bool:
    is_empty = isinstance(request.tools, list) and not request.tools
    return not context.limits.tools_declared or not is_empty


def _defines_tools(messages: list[Any], context: Context) -> bool:
    """Return whether a message defines a tool, so that the request has one."""
    natives = (
        native if isinstance(native, dict) else context.dialect.read(native).extra
        for native in messages
    )
    return any(True for native in natives for _ in defined_tools(native))


def _declare_tools(messages: list[Any], context: Context) -> list[dict[str, Any]]:
    # Most messages are a text without calls; this check is faster than a call for each.
    candidates = [
        native
        for native in messages
        if native.__class__ is not dict
        or native.get("content").__class__ is not str
        or "tool_calls" in native
        or "function_call" in native
    ]
    if not candidates:
        return []
    names = dict.fromkeys(
        call.name
        for native in candidates
        for call in context.dialect.read(native).calls
        if isinstance(call.name, str) and call.kind != ANSWERED
    )
    schema = {"type": "object", "properties": {}}
    match context.traits.tool_form:
        case "input_schema":
            return [{"name": name, "input_schema": schema} for name in names]
        case "toolSpec":
            return [{"toolSpec": {"name": name, "inputSchema": {"json": schema}}} for name in names]
    return [
        {"type": "function", "function": {"name": name, "parameters": schema}} for name in names
    ]


RULE = RequestRule(CODE, NAME, apply, is_idle=_is_idle)
