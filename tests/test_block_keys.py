"""Keys of blocks and messages that the Messages API does not define are removed for Claude."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import (
    CitationCharLocation,
    ServerToolUseBlock,
    TextBlock,
    WebSearchResultBlock,
    WebSearchToolResultBlock,
)

import chatmend
from chatmend.dialects.formats import BLOCK_KEYS
from tests.judges import judge

TARGETS = [
    "anthropic/claude-sonnet-4-6",
    "anthropic/claude-opus-5-5",
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "vertex_ai/claude-sonnet-4-5",
    "openrouter/anthropic/claude-sonnet-4.5",
]
CALL = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "x"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"}
TOOLS = [{"name": "search", "input_schema": {"type": "object"}}]


def sent(messages: list[Any], target: str) -> tuple[list[Any], tuple[chatmend.Change, ...]]:
    body = {"messages": messages, "max_tokens": 9, "tools": TOOLS}
    done = chatmend.repair_request(body, target, dialect="anthropic_messages")
    return done.body["messages"], done.changes


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_as_the_api_returned_them_stay(target: str) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "EqoB" + "q" * 200}
    text = {"type": "text", "text": "I look.", "citations": None}
    call = {**CALL, "caller": {"type": "direct"}, "cache_control": {"type": "ephemeral"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {"role": "assistant", "content": [thinking, text, call]},
        {"role": "user", "content": [{**RESULT, "is_error": False}]},
    ]
    assert sent(messages, target) == (messages, ())


@pytest.mark.parametrize("target", TARGETS)
def test_keys_that_clients_add_are_removed(target: str) -> None:
    """LangChain and streaming code add ``index`` and ``partial_json``; chats have annotations."""
    given = [
        {"role": "user", "content": [{"type": "text", "text": "q", "index": 0}]},
        {
            "role": "assistant",
            "content": [{**CALL, "partial_json": '{"q": "x"}', "index": 1}],
            "annotations": [],
            "refusal": None,
        },
        {
            "role": "user",
            "content": [
                {
                    **RESULT,
                    "name": "search",
                    "content": [{"type": "text", "text": "found", "logprobs": []}],
                }
            ],
        },
    ]
    repaired, changes = sent(given, target)
    assert repaired == [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [{**RESULT, "content": [{"type": "text", "text": "found"}]}]},
    ]
    assert {change.code for change in changes} == {"KEY001", "PART004"}


def test_a_system_message_keeps_the_keys_of_the_beta() -> None:
    given = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "n"},
        {"role": "system", "content": "Be brief.", "clear_at": "next_user_message"},
    ]
    assert sent(given, "anthropic/claude-opus-5-5") == (given, ())


def test_a_block_of_an_unknown_type_keeps_its_keys() -> None:
    """Only the provider knows them; the rule for unknown types decides about the block."""
    assert "hologram" not in BLOCK_KEYS
    block = {"type": "hologram", "beam": 1}
    _, changes = sent([{"role": "user", "content": [block]}], "anthropic/claude-sonnet-4-6")
    assert "KEY001" not in {change.code for change in changes}


def test_another_server_of_the_format_gets_the_keys() -> None:
    given = [{"role": "user", "content": [{"type": "text", "text": "q", "index": 0}]}]
    assert sent(given, "my-server/model") == (given, ())


def test_an_image_without_content_becomes_text() -> None:
    empty = {"type": "image", "source": {"url": None}}
    given = [{"role": "user", "content": [{"type": "text", "text": "Look."}, empty]}]
    repaired, changes = sent(given, "anthropic/claude-sonnet-4-6")
    assert [part["type"] for part in repaired[0]["content"]] == ["text", "text"]
    assert [change.code for change in changes] == ["PART001"]


NULL_KEYS: list[tuple[dict[str, Any], set[str]]] = [
    ({**CALL, "caller": None}, {"caller"}),
    ({**CALL, "caller": None, "toolset_name": None}, {"caller"}),
    ({**RESULT, "is_error": None}, {"is_error"}),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("block", "removed"), NULL_KEYS)
def test_nulls_that_the_sdk_writes_are_removed(
    block: dict[str, Any], removed: set[str], target: str
) -> None:
    blocks = [block if block["type"] == one["type"] else one for one in (CALL, RESULT)]
    given = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": blocks[:1]},
        {"role": "user", "content": blocks[1:]},
    ]
    becomes, changes = sent(given, target)
    kept = [{key: one[key] for key in one if key not in removed} for one in blocks]
    assert [message["content"] for message in becomes[1:]] == [kept[:1], kept[1:]]
    assert [(change.code, change.effect.name) for change in changes] == [("KEY001", "RESHAPES")]
    assert sent(becomes, target) == (becomes, ())
    nothing: list[Any] = []
    assert nothing == list(judge("anthropic_messages", target, becomes, tools=TOOLS))


def test_nulls_of_hosted_tools_and_citations_are_removed() -> None:
    call = ServerToolUseBlock(
        type="server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"}
    )
    page = WebSearchResultBlock(
        type="web_search_result", encrypted_content="E", title="t", url="https://example.com"
    )
    result = WebSearchToolResultBlock(
        type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[page]
    )
    cited = CitationCharLocation(
        type="char_location", cited_text="c", document_index=0, start_char_index=0, end_char_index=1
    )
    text = TextBlock(type="text", text="hi", citations=[cited])
    content = [block.model_dump() for block in (call, result, text)]
    given = [{"role": "user", "content": "q"}, {"role": "assistant", "content": content}]
    becomes, changes = sent([*given, given[0]], TARGETS[0])
    del content[0]["caller"], content[1]["caller"], content[2]["citations"][0]["file_id"]
    assert becomes[1]["content"] == content
    assert [(change.code, change.effect.name) for change in changes] == [("KEY001", "RESHAPES")]


def test_an_unknown_server_gets_nulls_unchanged() -> None:
    given = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{**CALL, "caller": None}]},
        {"role": "user", "content": [RESULT]},
    ]
    assert sent(given, "openai_compatible/m") == (given, ())


def test_a_fallback_may_have_null_as_its_trigger() -> None:
    """BetaFallbackBlockParam of anthropic 2.14.0: any object or null is allowed."""
    models = {"from": {"model": "claude-fable-5-1"}, "to": {"model": "claude-opus-5"}}
    for trigger in (None, {"type": "refusal"}):
        block = {"type": "fallback", **models, "trigger": trigger}
        answer = {"role": "assistant", "content": [block, {"type": "text", "text": "ok"}]}
        asked = {"role": "user", "content": "go"}
        messages = [asked, answer, asked]
        done = chatmend.repair(messages, "anthropic/claude-opus-5", dialect="anthropic_messages")
        assert done.messages is messages
