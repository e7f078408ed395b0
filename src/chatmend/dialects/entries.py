"""Entries of OpenAI's Responses API: how their ids and statuses are spelled, and what reasoning says."""

from __future__ import annotations

from typing import Any

PREFIXES = {
    "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs", "message": "msg", "web_search_call": "ws",
    "file_search_call": "fs", "code_interpreter_call": "ci", "mcp_call": "mcp", "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr", "computer_call": "cu",
}  # fmt: skip
"""How the id of an entry begins, where it is known."""
LONGEST_ID = 64
SHAPES = ("input",)
"""How an image stands in a part: see ``pictures.Picture``."""
_STATUSES = ("in_progress", "completed", "incomplete")


def has_wrong_status(native: dict[str, Any]) -> bool:
    """Whether an entry has a status that none has; those of the provider's own tools are its own affair."""
    return "status" in native and native["status"] not in _STATUSES


def settled_reasoning(native: dict[str, Any]) -> dict[str, Any]:
    """An entry of reasoning with what the API can read of it: the very object where that is all."""
    summary, content = native.get("summary"), native.get("content", [])
    proof = native.get("encrypted_content")
    told = content if content is None else _typed(content, "reasoning_text")
    settled, odd = _typed(summary, "summary_text"), proof is not None and proof.__class__ is not str
    if settled is summary and told is content and not odd:
        return native
    kept = {key: value for key, value in native.items() if key != "encrypted_content" or not odd}
    return {**kept, "summary": settled, **({"content": told} if "content" in native else {})}


def _typed(parts: Any, kind: str) -> list[Any]:  # noqa: ANN401 - anything may stand here
    """The texts among the parts, each with its type; the very list where it holds nothing else."""
    if parts.__class__ is list and all(_is_typed(part, kind) for part in parts):
        return parts
    told = parts if isinstance(parts, list) else (parts,)
    told = [{"text": part} if isinstance(part, str) else part for part in told]
    return [{**p, "type": kind} for p in told if isinstance(p, dict) and isinstance(p.get("text"), str)]


def _is_typed(part: Any, kind: str) -> bool:  # noqa: ANN401
    return isinstance(part, dict) and part.get("type") == kind and isinstance(part.get("text"), str)


def says_something(native: dict[str, Any]) -> bool:
    """Whether an entry of reasoning has words, or a proof."""
    summary, proof = native.get("summary"), native.get("encrypted_content")
    told = any(isinstance(part, dict) and part.get("text") for part in (summary if isinstance(summary, list) else ()))
    return told or (isinstance(proof, str) and bool(proof))


def is_legal_id(native: dict[str, Any]) -> bool:
    """Whether an entry has no id, or one that is spelled as its type's are."""
    if "id" not in native:
        return True
    item_id, kind = native["id"], native.get("type", "message")
    if not isinstance(item_id, str) or not item_id or len(item_id) > LONGEST_ID:
        return False
    return not isinstance(kind, str) or item_id.startswith(PREFIXES.get(kind, ""))
