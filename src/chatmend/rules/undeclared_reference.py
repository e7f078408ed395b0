"""A reference to a tool that the request does not declare, or that the target does not accept.

Results of Anthropic's tool search name tools. Such a name must be among the tools of the request or
be defined by an earlier message (``tool_addition``), and an agent that loads other tools later no
longer sends it. The Anthropic-compatible API of Kimi accepts no references.

Why: ``tool_addition/tool_removal references unknown tool '...'`` (Anthropic, error code
``tool_reference_unresolved``), ``Tool reference '...' not found in available tools`` (Anthropic),
``Invalid request Error`` (Kimi, in every later request of the session).

Repair: A reference in the result of the caller's tool becomes a text with the name. References in
the result of a tool search are removed; if none is left, the search and its result become texts.
Which tools are declared is checked only in request bodies, because a stored conversation does not
record them.

Before (anthropic/claude-sonnet-4-5):
    {"model": "claude-sonnet-4-5", "max_tokens": 100,
     "tools": [{"name": "f", "input_schema": {"type": "object"}}],
     "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": [
          {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
      {"role": "user", "content": [
          {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
              {"type": "tool_reference", "tool_name": "gone"}]}]}]}
After:
    {"model": "claude-sonnet-4-5", "max_tokens": 100,
     "tools": [{"name": "f", "input_schema": {"type": "object"}}],
     "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": [
          {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
      {"role": "user", "content": [
          {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
              {"type": "text", "text": "Reference to an undeclared tool: gone"}]}]}]}
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Change, Effect
from chatmend.placeholders import CALL_NOTE, NOTE, TOOL_REFERENCE
from chatmend.rules.message_tools import defined_tools
from chatmend.rules.rule import Request, RequestRule
from chatmend.signatures import last_signed
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.transcript import Message

CODE, NAME = "TOOL019", "undeclared-reference"
REFERENCE = "Reference to an undeclared tool: "
_WHYS = {
    REFERENCE: "the request does not declare the tool that is referred to",
    TOOL_REFERENCE: "the target accepts no references to tools",
}
_REFERENCE, _SEARCH_RESULT = "tool_reference", "tool_search_tool_result"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Replace references to tools that the request does not declare."""
    limits, label = context.limits, REFERENCE
    declared = _declared_names(request.tools) if limits.references_declared else None
    if not limits.tool_references:
        declared, label = frozenset(), TOOL_REFERENCE
    if declared is None:
        return request, []
    accepts_defined = limits.tool_references
    out, changes = list(request.messages), list[Change]()
    allowed = context.policy.allow >= Effect.DEGRADES
    signed: int | None = None
    for at, native in enumerate(request.messages):
        as_dict = native if isinstance(native, dict) else context.dialect.read(native).extra
        if accepts_defined and (defined := list(defined_tools(as_dict))):
            names = _declared_names(defined)
            if names is None:
                break  # from here on, the tools of an MCP server are declared
            declared |= names
        becomes = _with_declared(as_dict, declared, label)
        if becomes is as_dict:
            continue
        signed = last_signed(request.messages, context) if signed is None else signed
        after = context.dialect.write(context.dialect.read(becomes)) if allowed else native
        changes.append(
            Change(
                CODE, NAME, Effect.DEGRADES, at, _WHYS[label], (native,), (after,), None, at,
                applied=allowed, invalidates_thinking=allowed and at <= signed,
            )
        )  # fmt: skip
        out[at] = after
    return (replace(request, messages=out) if changes and allowed else request), changes


def _declared_names(tools: object) -> frozenset[str] | None:
    """Return the names of the declared tools; None if they are not known.

    A tool without a name declares others: the tools of an MCP server.
    """
    if not isinstance(tools, list):
        return None
    names = [_name_of(tool) for tool in tools]
    known = frozenset(name for name in names if name is not None)
    return known if len(known) == len(set(names)) else None


def _name_of(tool: object) -> str | None:
    if not isinstance(tool, dict):
        return None
    function = tool.get("function")
    name = (function if isinstance(function, dict) else tool).get("name")
    return name if isinstance(name, str) else None


def _with_declared(message: dict[str, Any], declared: frozenset[str], label: str) -> dict[str, Any]:
    """Return a message in which other references are texts that begin with ``label``."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    emptied = {str(block.get("tool_use_id")) for block in content if _is_emptied(block, declared)}
    blocks = [_repair_block(block, declared, emptied, label) for block in content]
    return message if is_unchanged(content, blocks) else {**message, "content": blocks}


def _is_emptied(block: Any, declared: frozenset[str]) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether no tool is left in the result of a tool search that found some."""
    found = _references(block)
    return bool(found) and not any(_is_declared(reference, declared) for reference in found)


def _references(block: Any) -> list[Any]:  # noqa: ANN401
    is_result = isinstance(block, dict) and block.get("type") == _SEARCH_RESULT
    content = block.get("content") if is_result else None
    found = content.get("tool_references") if isinstance(content, dict) else None
    return found if isinstance(found, list) else []


def _is_declared(reference: Any, declared: frozenset[str]) -> bool:  # noqa: ANN401
    name = reference.get("tool_name") if isinstance(reference, dict) else None
    return not isinstance(name, str) or name in declared


def _repair_block(
    block: Any,  # noqa: ANN401
    declared: frozenset[str],
    emptied: set[str],
    label: str,
) -> Any:  # noqa: ANN401
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    if kind == "server_tool_use" and str(block.get("id")) in emptied:
        return {"type": "text", "text": CALL_NOTE + jsontext.dumps(block)}
    if kind == _SEARCH_RESULT:
        return _repair_search(block, declared)
    if kind == _REFERENCE and not _is_declared(block, declared):
        return {"type": "text", "text": f"{label}{block['tool_name']}"}
    inner = block.get("content") if kind == "tool_result" else None
    if isinstance(inner, list):
        parts = [_repair_block(part, declared, emptied, label) for part in inner]
        return block if is_unchanged(inner, parts) else {**block, "content": parts}
    return block


def _repair_search(block: dict[str, Any], declared: frozenset[str]) -> dict[str, Any]:
    found = _references(block)
    kept = [reference for reference in found if _is_declared(reference, declared)]
    if len(kept) == len(found):
        return block
    if not kept:
        return {"type": "text", "text": NOTE + jsontext.dumps(jsontext.dumps(block["content"]))}
    return {**block, "content": {**block["content"], "tool_references": kept}}


def _has_references(message: Message) -> bool:
    content = message.extra.get("content")
    return isinstance(content, list) and any(map(_may_refer, content))


def _may_refer(block: Any) -> bool:  # noqa: ANN401
    if not isinstance(block, dict):
        return False
    inner = block.get("content")
    return block.get("type") in (_REFERENCE, _SEARCH_RESULT) or (
        isinstance(inner, list) and any(map(_may_refer, inner))
    )


RULE = RequestRule(CODE, NAME, apply, _has_references)
