"""Items of OpenAI's Responses API: valid ids, valid statuses and the content of reasoning items."""

from __future__ import annotations

from typing import Any

PREFIXES = {
    "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs", "message": "msg",
    "web_search_call": "ws", "file_search_call": "fs", "code_interpreter_call": "ci",
    "mcp_call": "mcp", "mcp_list_tools": "mcpl", "mcp_approval_request": "mcpr",
    "computer_call": "cu",
}  # fmt: skip
"""Prefixes of item ids by item type; types that are not listed have no known prefix."""
LONGEST_ID = 64
"""Maximum length of an item id in characters."""
SHAPES = ("input",)
"""Shapes of images in content parts; see ``pictures.Picture.shape``."""
_STATUSES = ("in_progress", "completed", "incomplete")


def has_wrong_status(native: dict[str, Any]) -> bool:
    """Return whether an item has a ``status`` other than in_progress, completed or incomplete.

    Items of hosted tools may have other statuses: callers do not check those.
    """
    return "status" in native and native["status"] not in _STATUSES


def repair_reasoning(native: dict[str, Any]) -> dict[str, Any]:
    """Remove from a reasoning item what the API cannot read.

    Return the same object if the API can read all of it.
    """
    summary, content = native.get("summary"), native.get("content", [])
    encrypted = native.get("encrypted_content")
    texts = content if content is None else _typed(content, "reasoning_text")
    summaries, malformed = (
        _typed(summary, "summary_text"),
        encrypted is not None and encrypted.__class__ is not str,
    )
    if summaries is summary and texts is content and not malformed:
        return native
    kept = {
        key: value for key, value in native.items() if key != "encrypted_content" or not malformed
    }
    return {**kept, "summary": summaries, **({"content": texts} if "content" in native else {})}


def _typed(parts: Any, kind: str) -> list[Any]:  # noqa: ANN401 - callers may send any value
    """Return the text parts, each with its type; the same list if it has only such parts."""
    if parts.__class__ is list and all(_is_typed(part, kind) for part in parts):
        return parts
    listed = parts if isinstance(parts, list) else (parts,)
    listed = [{"text": part} if isinstance(part, str) else part for part in listed]
    return [
        {**part, "type": kind}
        for part in listed
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]


def _is_typed(part: Any, kind: str) -> bool:  # noqa: ANN401
    return isinstance(part, dict) and part.get("type") == kind and isinstance(part.get("text"), str)


def is_nonempty_reasoning(native: dict[str, Any]) -> bool:
    """Return whether a reasoning item has a summary text or encrypted content."""
    summary, encrypted = native.get("summary"), native.get("encrypted_content")
    has_text = any(
        isinstance(part, dict) and part.get("text")
        for part in (summary if isinstance(summary, list) else ())
    )
    return has_text or (isinstance(encrypted, str) and bool(encrypted))


def is_legal_id(native: dict[str, Any]) -> bool:
    """Return whether an item has no id, or a valid one: its length and the prefix of its type."""
    if "id" not in native:
        return True
    item_id, kind = native["id"], native.get("type", "message")
    if not isinstance(item_id, str) or not item_id or len(item_id) > LONGEST_ID:
        return False
    return not isinstance(kind, str) or item_id.startswith(PREFIXES.get(kind, ""))
