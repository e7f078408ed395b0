"""Calls and results: langgraph says every call is answered, the MCP SDK says where.

langgraph alone would accept an answer anywhere in the history, so each adjacent
pair of turns also goes through the validator that MCP servers run.
"""

from __future__ import annotations

import copy
from typing import Any

from .base import Request, blocks, calls, function, native_ollama, runs

_ROLES = {"assistant": "assistant"}


def mcp_refusals(turns: list[tuple[str, list[dict[str, Any]]]]) -> list[str]:
    """Judge (role, blocks) turns; blocks are Anthropic-shaped, other types count as text."""
    from mcp.server.validation import validate_tool_use_result_messages
    from mcp_types import SamplingMessage, TextContent, ToolResultContent, ToolUseContent

    def convert(block: dict[str, Any]) -> Any:
        if block.get("type") == "tool_use":
            return ToolUseContent(id=block.get("id"), name=str(block.get("name")), input={})  # type: ignore[arg-type]
        if block.get("type") == "tool_result":
            return ToolResultContent(tool_use_id=block.get("tool_use_id"))  # type: ignore[arg-type]
        return TextContent(text="")

    sampling: list[Any] = []
    for role, content in turns:
        split = next((i for i, b in enumerate(content) if b.get("type") != "tool_result"), len(content))
        for part in (content[:split], content[split:]):
            if part:
                sampling.append(SamplingMessage(role=role, content=[convert(b) for b in part]))  # type: ignore[arg-type]
    out = []
    for i in range(len(sampling)):
        try:
            validate_tool_use_result_messages(sampling[max(0, i - 1) : i + 1])
        except ValueError as error:
            out.append(f"turn {i}: {error}")
    return out


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message.get("role") == "tool":
        return [{"type": "tool_result", "tool_use_id": message.get("tool_call_id")}]
    uses = [{"type": "tool_use", "id": c.get("id"), "name": function(c).get("name")} for c in calls(message)]
    return [b for b in blocks(message.get("content")) if b.get("type") != "tool_result"] + uses or [{"type": "text"}]


def _for_langchain(message: dict[str, Any]) -> dict[str, Any]:
    """langchain knows neither a missing content nor custom calls, both legal."""
    message = {"content": "", **copy.deepcopy(message)}
    if message["content"] is None:
        message["content"] = ""
    if calls(message):
        message["tool_calls"] = [
            {"id": c.get("id"), "type": "function", "function": {"name": function(c).get("name"), "arguments": "{}"}}
            for c in calls(message)
        ]
    else:
        message.pop("tool_calls", None)
    return message


def check(req: Request) -> list[str]:
    """OpenAI-family servers read messages one by one, so assistant runs stay apart there."""
    if native_ollama(req):
        return []
    import warnings

    from langchain_core.messages import convert_to_messages

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from langgraph.prebuilt.chat_agent_executor import _validate_chat_history

    messages = [_for_langchain(m) for m in req.chat]
    if req.family and messages and messages[-1].get("role") == "assistant":
        messages[-1].pop("tool_calls", None)  # accepted: the call may still be running
    out = []
    try:
        _validate_chat_history(convert_to_messages(messages))
    except ValueError as error:
        out.append(str(error).split("\n")[0][:300])
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for role, group in runs(req.chat, _ROLES):
        if role == "assistant" and req.family:
            turns += [(role, _blocks(m)) for m in group]
        else:
            turns.append((role, [b for m in group for b in _blocks(m)]))
    return out + mcp_refusals(turns)
