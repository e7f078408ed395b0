"""Tools that a message of Claude defines, and that the request need not declare."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

CLAUDE = "anthropic/claude-opus-5"
G = {"name": "g", "input_schema": {"type": "object"}}
ASK, NEXT = {"role": "user", "content": "go"}, {"role": "user", "content": "and now?"}
ANSWER = {"role": "assistant", "content": "done"}


def definition(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool}}


INLINE = definition({"name": "f", "input_schema": {"type": "object"}})
SERVER = definition({"type": "mcp_toolset", "mcp_server_name": "calendar"})
NAMED = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "g"}}
CALLING = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}],
}
SUMMARY = {
    "role": "assistant",
    "content": [
        {"type": "compaction", "content": "s", "signature": "x", "tool_changes": [NAMED, INLINE]}
    ],
}


def system(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "system", "content": list(blocks)}


def result(*parts: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": list(parts)}
    return {"role": "user", "content": [block]}


REFERRING = result({"type": "tool_reference", "tool_name": "f"})
FOUND = result({"type": "text", "text": "ok"})


def body(*messages: Any, tools: Any = (G,)) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages), "tools": list(tools)}


@pytest.mark.parametrize(
    "given",
    [
        body(ASK, system(INLINE), CALLING, REFERRING),
        body(ASK, system({"type": "text", "text": "new"}, INLINE), CALLING, REFERRING),
        body(SUMMARY, ASK, CALLING, REFERRING),
        # The tools of an MCP server are not known here.
        body(ASK, system(SERVER), CALLING, REFERRING),
        # A request with tools in its messages needs no others.
        body(ASK, system(INLINE), CALLING, FOUND, tools=()),
        body(SUMMARY, ASK, CALLING, FOUND, tools=()),
    ],
)
def test_tools_that_a_message_defines_are_declared(given: dict[str, Any]) -> None:
    assert chatmend.repair_request(given, CLAUDE).body is given


def test_a_definition_after_a_reference_does_not_declare_its_tool() -> None:
    before = body(ASK, CALLING, REFERRING)
    after = body(ASK, CALLING, REFERRING, system(INLINE), ANSWER, NEXT)
    first, later = (chatmend.repair_request(given, CLAUDE) for given in (before, after))
    for done in (first, later):
        assert [change.code for change in done.changes] == ["TOOL019"]
    assert later.body["messages"][:3] == first.body["messages"]


@pytest.mark.parametrize("change", [NAMED, {"type": "tool_addition", "tool": None}])
def test_an_addition_that_only_names_a_tool_defines_none(change: dict[str, Any]) -> None:
    given = body(ASK, system(change), CALLING, REFERRING)
    done = chatmend.repair_request(given, CLAUDE)
    assert "TOOL019" in [change.code for change in done.changes]


def test_targets_without_references_get_none_to_inline_tools() -> None:
    given = body(ASK, system(INLINE), CALLING, REFERRING)
    done = chatmend.repair_request(given, "moonshot/kimi-k2", dialect="anthropic_messages")
    assert "tool_reference" not in str(done.body["messages"])
