"""Finds faults of thinking in a Converse request to a Claude model.

Claude applies the same rules behind Converse as in its Messages API. The request is read as one of
the Messages API, with all blocks at their positions.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.providers import anthropic_thinking
from chatmend.sandbox.refusals import Fault, fault, load_table
from chatmend.sandbox.request import SandboxRequest, mapping, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_SIGNATURE_FAULTS = frozenset(
    f"anthropic-{name}"
    for name in ("thinking-signature-invalid", "thinking-modified", "redacted-thinking-data")
)
"""Faults that ``bedrock_turns`` finds with the rules of Converse."""


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults with the texts of the Messages API, as Bedrock reports them."""
    if "claude" not in request.model:
        return
    claude, rules = as_messages_request(request), load_table("anthropic").rules
    for found in chain(
        anthropic_thinking.parameter_faults(claude), anthropic_thinking.conversation_faults(claude)
    ):
        rule = rules[found.code]
        if found.code not in _SIGNATURE_FAULTS and rule.applies_to("bedrock", request.model):
            yield fault("bedrock-claude-thinking", text=rule.text.format_map(found.values))


def as_messages_request(request: SandboxRequest) -> SandboxRequest:
    """Return a Converse request as a request of the Messages API, for the rules of thinking."""
    fields = mapping(request.body.get("additionalModelRequestFields"))
    messages = [
        {**message, "content": [_block(block) for block in objects(message.get("content"))]}
        for message in objects(request.messages)
    ]
    body = {
        "system": [_block(block) for block in objects(request.body.get("system"))],
        "tools": [_block(t) for t in objects(mapping(request.body.get("toolConfig")).get("tools"))],
        "messages": messages,
        "thinking": fields.get("thinking") or fields.get("reasoning_config"),
        "anthropic_beta": fields.get("anthropic_beta"),
    }
    return replace(request, body=body, table="anthropic")


def _block(block: Body) -> Body:
    """Return a block of Converse as a block of the Messages API."""
    key, value = next(iter(block.items()), ("", None))
    inner = mapping(value)
    if key == "reasoningContent":
        return _thinking(inner)
    if key == "toolUse":
        return {"type": "tool_use", "id": inner.get("toolUseId"), "content": inner}
    if key == "toolResult":
        return {"type": "tool_result", "tool_use_id": inner.get("toolUseId"), "content": inner}
    if key == "cachePoint":
        return {"type": anthropic_thinking.CACHE_POINT}
    return {"type": key, "content": value}


def _thinking(inner: Body) -> Body:
    if "redactedContent" in inner:
        return {"type": "redacted_thinking", "data": inner["redactedContent"]}
    signed = mapping(inner.get("reasoningText"))
    return {
        "type": "thinking",
        "thinking": signed.get("text"),
        "signature": signed.get("signature"),
    }
