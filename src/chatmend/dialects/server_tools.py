"""Anthropic's blocks of hosted tools: calls, results, and how each is written as text.

Types and names: anthropic SDK 2.12.0, ``ServerToolUseBlockParam`` and the ``...ToolResult...``
types; ``mcp_tool_use`` and ``mcp_tool_result`` are the calls and results of MCP servers.
"""

from __future__ import annotations

import re
from typing import Any

from chatmend import jsontext
from chatmend.placeholders import CALL_NOTE, NO_RESULT, NOTE, RAW_ARGUMENTS

_CALLS = {"server_tool_use": "input", "mcp_tool_use": "input", "server_tool_call": "args"}
"""The types of calls, each with the key of its input; the last is LangChain's, as below."""
_LANGCHAIN_RESULT = "server_tool_result"
_MCP_RESULT = "mcp_tool_result"
_LEGAL_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+\Z")
TOOLS = frozenset({
    "web_search", "web_fetch", "code_execution", "bash_code_execution",
    "text_editor_code_execution", "tool_search_tool_regex", "tool_search_tool_bm25", "advisor",
    "mcp",
})  # fmt: skip
"""The names of Anthropic's hosted tools; ``mcp`` for those of MCP servers."""
RESULT_FIELDS = ("web_search_results", "tool_results")
"""The keys of ``provider_specific_fields`` under which LiteLLM keeps results."""
_MAX_DEPTH = 32
"""Values that are nested more deeply are written unchanged."""


def call_id(block: dict[str, Any]) -> str | None:
    """Return the id of a call of a hosted tool, as sent; None if the block is no such call."""
    kind = block.get("type")
    return _id(block, "id") if isinstance(kind, str) and kind in _CALLS else None


def result_call_id(block: dict[str, Any]) -> str | None:
    """Return the call id in a result of a hosted tool, as sent; None for any other block.

    Such results have types like ``web_search_tool_result``.
    """
    kind = block.get("type")
    is_result = isinstance(kind, str) and kind.endswith("_tool_result")
    return _id(block, _id_key(block)) if is_result else None


def _id_key(block: dict[str, Any]) -> str:
    """Return the key of a result that holds the id of its call."""
    return "tool_call_id" if block.get("type") == _LANGCHAIN_RESULT else "tool_use_id"


def _content_key(block: dict[str, Any]) -> str:
    return "output" if block.get("type") == _LANGCHAIN_RESULT else "content"


def caller_id(block: dict[str, Any]) -> str | None:
    """Return the id of the call whose code called a tool, as sent; None if no code called it."""
    caller = block.get("caller")
    return _id(caller, "tool_id") if isinstance(caller, dict) else None


def _id(block: dict[str, Any], key: str) -> str | None:
    """Return an id in the form that Anthropic accepts; None if it is not a string.

    A legal id is unchanged. A new one depends only on the old one, so a call and its result keep
    the same id. Ids of MCP calls are unchanged.
    """
    value = block.get(key)
    if not isinstance(value, str):
        return None
    if _LEGAL_ID.match(value) or value.startswith("mcptoolu_") or _is_mcp(block):
        return value
    return "srvtoolu_" + (re.sub("[^a-zA-Z0-9_]", "_", value) or "0")


def results_in_fields(native: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the results of hosted tools in a chat message of LiteLLM, by call id.

    Source: litellm 1.106.2, ``convert_to_anthropic_tool_invoke``.
    """
    fields = native.get("provider_specific_fields")
    listed = [fields.get(key) for key in RESULT_FIELDS] if isinstance(fields, dict) else []
    found: dict[str, dict[str, Any]] = {}
    for results in listed:
        for block in results if isinstance(results, list) else ():
            called_id = block.get("tool_use_id") if isinstance(block, dict) else None
            if isinstance(called_id, str):
                found.setdefault(called_id, block)
    return found


def without_results_in_fields(native: dict[str, Any]) -> dict[str, Any]:
    """Return a chat message without these results."""
    fields = native.get("provider_specific_fields")
    if not isinstance(fields, dict):
        return native
    kept = {key: value for key, value in fields.items() if key not in RESULT_FIELDS}
    others = {key: value for key, value in native.items() if key != "provider_specific_fields"}
    return {**others, "provider_specific_fields": kept} if kept else others


def _is_mcp(block: dict[str, Any]) -> bool:
    return block.get("type") in ("mcp_tool_use", _MCP_RESULT)


def is_legal_id(value: str) -> bool:
    """Return whether Anthropic accepts an id of a call that is not an MCP call."""
    return _LEGAL_ID.match(value) is not None


def tool_name(block: dict[str, Any]) -> str:
    """Return the name of the hosted tool that a block calls; ``mcp`` for one of an MCP server."""
    return "mcp" if block.get("type") == "mcp_tool_use" else str(block.get("name"))


def missing_result(called_id: str, name: str) -> dict[str, Any]:
    """Return the result that reports that the tool of this name gave none.

    Source: anthropic SDK 2.12.0, ``WebSearchToolRequestErrorParam`` and its siblings.
    """
    if name == "mcp":
        text = {"type": "text", "text": NO_RESULT}
        return {"type": _MCP_RESULT, "tool_use_id": called_id, "is_error": True, "content": [text]}
    kind = "tool_search" if name.startswith("tool_search_tool") else name
    error = {"type": f"{kind}_tool_result_error", "error_code": "unavailable"}
    return {"type": f"{kind}_tool_result", "tool_use_id": called_id, "content": error}


def has_same_content(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two results are equal, apart from their cache markers."""
    first, second = (
        {key: value for key, value in block.items() if key != "cache_control"}
        for block in (one, other)
    )
    return jsontext.is_same(first, second)


def call_text(block: dict[str, Any]) -> str:
    """Return a call as labelled text, with the tool's name, its input and any other keys."""
    omitted = ("type", "id", "cache_control", "caller", "extras")
    return CALL_NOTE + jsontext.dumps({k: v for k, v in block.items() if k not in omitted})


def result_text(block: dict[str, Any]) -> tuple[str | None, bool]:
    """Return a result as labelled text, and whether a file in it is left out.

    The text is None if the result has only encrypted values.
    """
    words, has_file = readable_text(block)
    return None if words is None else NOTE + jsontext.dumps(words), has_file


def readable_text(block: dict[str, Any]) -> tuple[str | None, bool]:
    """Return the readable content of a result, and whether a file in it is left out.

    None if the result has only encrypted values.
    """
    omitted = {"type", "cache_control", "caller", "is_error", "status", "extras"}
    omitted |= {_id_key(block), _content_key(block)}
    rest = {key: value for key, value in block.items() if key not in omitted}
    content = block.get(_content_key(block))
    readable = without_files = _readable(content, files=False)
    if rest:
        readable = {**rest, "content": readable}
    if not _has_words(readable) and not jsontext.is_same(without_files, content):
        return None, False
    texts = _only_texts(readable)
    words = jsontext.dumps(readable) if texts is None else texts
    has_file = not jsontext.is_same(_readable(content, files=True), without_files)
    return words, has_file


def _readable(value: Any, *, files: bool, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return a value without encrypted values and, unless ``files``, without base64 data."""
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [_readable(item, files=files, depth=depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _readable(item, files=files, depth=depth + 1)
        for key, item in value.items()
        if not (isinstance(key, str) and key.startswith("encrypted_"))
        and (files or not (key == "data" and value.get("type") == "base64"))
    }


def _has_words(value: Any, depth: int = 0) -> bool:  # noqa: ANN401
    """Return whether a value has a text that is not the name of a type."""
    if depth > _MAX_DEPTH:
        return True
    if isinstance(value, list):
        return any(_has_words(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return any(_has_words(item, depth + 1) for key, item in value.items() if key != "type")
    return isinstance(value, str) and bool(value)


def _only_texts(value: Any) -> str | None:  # noqa: ANN401
    """Return a text, or the texts of a list of text blocks; None if there is anything else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        return None
    texts = [
        block["text"]
        for block in value
        if isinstance(block, dict)
        and block.keys() == {"type", "text"}
        and block["type"] == "text"
        and isinstance(block["text"], str)
    ]
    return "\n".join(texts) if len(texts) == len(value) else None


def has_required_keys(block: dict[str, Any]) -> bool:
    """Return whether a call names its tool, or a result has content; MCP results need none."""
    kind = block.get("type")
    if kind == _MCP_RESULT:
        return True
    if kind not in _CALLS:
        return block.get(_content_key(block)) is not None
    names = ("name", "server_name") if kind == "mcp_tool_use" else ("name",)
    return all(isinstance(block.get(key), str) for key in names)


def without_search_citations(block: dict[str, Any]) -> dict[str, Any]:
    """Return a text block without citations of web searches; the same object if it has none."""
    citations = block.get("citations")
    if not isinstance(citations, list):
        return block
    kept = [
        one
        for one in citations
        if not (isinstance(one, dict) and one.get("type") == "web_search_result_location")
    ]
    if len(kept) == len(citations):
        return block
    others = {key: value for key, value in block.items() if key != "citations"}
    return {**others, "citations": kept} if kept else others


def with_legal_values(block: dict[str, Any]) -> dict[str, Any]:
    """Return a call or result with an id and an input that Anthropic accepts.

    An input that is not an object is parsed as JSON, or kept under ``_raw_arguments``. Returns the
    same object if nothing changes.
    """
    ids = {"id": call_id(block), _id_key(block): result_call_id(block)}
    changed: dict[str, Any] = {
        key: value for key, value in ids.items() if value is not None and block[key] != value
    }
    key = _CALLS.get(block["type"]) if ids["id"] is not None else None
    if key is not None and not isinstance(block.get(key), dict):
        changed[key] = _as_object(block.get(key))
    called_by = caller_id(block)
    if called_by is not None and block["caller"]["tool_id"] != called_by:
        changed["caller"] = {**block["caller"], "tool_id": called_by}
    return {**block, **changed} if changed else block


def _as_object(value: object) -> dict[str, Any]:
    """Return the input of a call as an object; nothing becomes an empty one."""
    if value is None or value == "":
        return {}
    try:
        parsed = jsontext.parse(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else {RAW_ARGUMENTS: value}
