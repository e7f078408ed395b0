"""References to tools, as results of Anthropic's tool search have them, and the tools of the request."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect, Policy
from tests.judges import judge
from tests.sandbox.posting import post

CLAUDE = "anthropic/claude-sonnet-4-5"
F, G = ({"name": name, "input_schema": {"type": "object"}} for name in "fg")
SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
ASK, NEXT = {"role": "user", "content": "go"}, {"role": "user", "content": "and now?"}
CALLING = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}],
}
SEARCHING = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "tool_search_tool_bm25",
    "input": {},
}
FOUND = {"type": "text", "text": "I found it."}
FOUND_ANSWER = {"role": "assistant", "content": [FOUND]}


def reference(name: str) -> dict[str, Any]:
    return {"type": "tool_reference", "tool_name": name}


def result(*parts: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": list(parts)}
    return {"role": "user", "content": [block]}


def searched(*names: str) -> dict[str, Any]:
    content = {
        "type": "tool_search_tool_search_result",
        "tool_references": list(map(reference, names)),
    }
    block = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}
    return {"role": "assistant", "content": [SEARCHING, block, FOUND]}


def body(*messages: Any, tools: Any = (F,), **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages), "tools": list(tools), **more}


@pytest.mark.parametrize(
    "given",
    [
        body(ASK, CALLING, result(reference("f"))),
        body(ASK, searched("f", "g"), NEXT, tools=(SEARCH, F, G)),
        body(ASK, searched(), NEXT, tools=(SEARCH, F)),
        # The tools of an MCP server are not known here.
        body(ASK, searched("other"), NEXT, tools=({"type": "mcp_toolset"}, F)),
    ],
)
def test_references_to_declared_or_unknown_tools_stay_the_same_object(given: Any) -> None:
    assert chatmend.repair_request(given, CLAUDE).body is given


def failed(*parts: Any) -> dict[str, Any]:
    """A result that is marked as an error."""
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True}
    return {"role": "user", "content": [block | {"content": list(parts)}]}


@pytest.mark.parametrize(
    "target", [CLAUDE, "github_copilot/claude-opus-4.8", "vertex_ai/claude-opus-4-8"]
)
def test_a_reference_in_a_result_that_is_an_error_becomes_a_text(
    target: str, own_sandbox: Any
) -> None:
    text = {"type": "text", "text": "not found"}
    clean = body(ASK, CALLING, failed(text), FOUND_ANSWER, NEXT)
    assert chatmend.repair_request(clean, target).body is clean
    given = body(ASK, CALLING, failed(text, reference("f")), FOUND_ANSWER, NEXT)
    done = chatmend.repair_request(given, target)
    assert [change.code for change in done.changes] == ["PART001"]
    name = {"type": "text", "text": "Reference to a tool: f"}
    assert done.body["messages"] == [ASK, CALLING, failed(text, name), FOUND_ANSWER, NEXT]
    assert chatmend.repair(given["messages"], target).messages == done.body["messages"]
    assert chatmend.repair_request(done.body, target).body is done.body
    refused = judge("anthropic_messages", CLAUDE, given["messages"])
    assert any("error-text-only" in fault for fault in refused)
    assert judge("anthropic_messages", CLAUDE, done.body["messages"]) == []
    for sent, status in ((given, 400), (done.body, 200)):
        url = own_sandbox.url("anthropic/v1/messages")
        answer = post(url, json=sent | {"max_tokens": 9, "model": "claude-opus-4-8"})
        assert answer.status_code == status, answer.text


def test_other_blocks_leave_a_result_that_is_an_error() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "hello"}
    document = {"type": "document", "source": source}
    found = {"type": "search_result", "source": "a", "title": "t", "content": [FOUND]}
    for part, code in ((document, "IMG011"), (found, "PART001")):
        given = body(ASK, CALLING, failed(part))
        assert chatmend.repair_request(body(ASK, CALLING, result(part)), CLAUDE).changes == ()
        done = chatmend.repair_request(given, CLAUDE)
        assert [change.code for change in done.changes] == [code]
        assert judge("anthropic_messages", CLAUDE, done.body["messages"]) == []
        assert FOUND["text"] in str(done.body) or document in done.body["messages"][2]["content"]


def test_without_a_list_of_tools_nothing_is_checked() -> None:
    messages = [ASK, CALLING, result(reference("gone"))]
    assert chatmend.repair(messages, CLAUDE).messages is messages


def repaired(given: dict[str, Any]) -> list[Any]:
    done = chatmend.repair_request(given, CLAUDE)
    assert {change.code for change in done.changes} == {"TOOL019"}
    assert chatmend.repair_request(done.body, CLAUDE).body is done.body
    return done.body["messages"]  # type: ignore[no-any-return]


def test_a_reference_in_a_result_becomes_a_text() -> None:
    text = {"type": "text", "text": "Reference to an undeclared tool: gone"}
    messages = repaired(body(ASK, CALLING, result(reference("f"), reference("gone"))))
    assert messages == [ASK, CALLING, result(reference("f"), text)]


def test_a_search_keeps_the_tools_that_are_declared() -> None:
    messages = repaired(body(ASK, searched("gone", "f"), NEXT, tools=(SEARCH, F)))
    assert messages == [ASK, searched("f"), NEXT]


def test_a_search_of_which_nothing_is_left_becomes_two_texts() -> None:
    (_, said, _) = repaired(body(ASK, searched("gone"), NEXT, tools=(SEARCH, F)))
    assert [block["type"] for block in said["content"]] == ["text", "text", "text"]
    assert "tool_search_tool_bm25" in said["content"][0]["text"]
    assert "gone" in said["content"][1]["text"]
    assert said["content"][2] == FOUND


def test_a_policy_that_allows_no_conversion_only_reports() -> None:
    given = body(ASK, CALLING, result(reference("gone")))
    done = chatmend.repair_request(given, CLAUDE, policy=Policy(allow=Effect.ADDS))
    assert done.body is given
    assert [(change.code, change.applied) for change in done.changes] == [("TOOL019", False)]


KIMI = "moonshot/kimi-k3"


def test_kimi_gets_every_reference_as_a_text_also_without_a_list_of_tools() -> None:
    text = {"type": "text", "text": "Reference to a tool: f"}
    given = body(ASK, CALLING, result(reference("f")))
    done = chatmend.repair_request(given, KIMI)
    assert done.body["messages"] == [ASK, CALLING, result(text)]
    assert [(change.code, change.effect) for change in done.changes] == [
        ("TOOL019", Effect.DEGRADES)
    ]
    assert chatmend.repair_request(done.body, KIMI).body is done.body
    assert chatmend.repair(given["messages"], KIMI).messages == [ASK, CALLING, result(text)]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("my_gateway/some-model", "Tool reference 'f' not found in available tools"),
        (CLAUDE, "Tool reference 'f' not found in available tools"),
    ],
)
def test_a_refusal_of_a_reference_shows_that_it_must_become_a_text(
    target: str, message: str
) -> None:
    """The tool is declared, but the server does not load it."""
    given = body(ASK, CALLING, result(reference("f")))
    assert chatmend.repair_request(given, target).body is given
    reaction = chatmend.react(given, target, message)
    assert reaction is not None
    assert "tool_reference" not in str(reaction.body["messages"])
