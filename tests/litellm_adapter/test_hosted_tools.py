"""Hosted tools through LiteLLM: chat messages that hold their results, Messages and Responses."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import litellm
import pytest

from chatmend.litellm import ChatMend
from tests.broken.agent_loops import damaged, loop

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

ASK, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "n"}
PAGE = {
    "type": "web_search_result",
    "title": "Weather of tomorrow",
    "url": "https://e.example",
    "encrypted_content": "EqgfCioIARgB",
    "page_age": None,
}
RESULT = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]}
FUNCTION = {"name": "web_search", "arguments": json.dumps({"query": "x"})}
ANSWER = {
    "role": "assistant",
    "content": "It rains.",
    "tool_calls": [{"id": "srvtoolu_1", "type": "function", "function": FUNCTION}],
    "provider_specific_fields": {"web_search_results": [RESULT]},
}
"""An answer of Claude as LiteLLM returns it."""


def options(sandbox: Sandbox, path: str) -> dict[str, Any]:
    return {"api_key": "any", "api_base": sandbox.url(path), "max_retries": 0}


def test_results_beside_a_chat_message_arrive_as_blocks(mend: ChatMend, sandbox: Sandbox) -> None:
    messages = [ASK, ANSWER, NEXT]
    search = {"type": "web_search_20250305", "name": "web_search"}
    more = {"tools": [search], **options(sandbox, "anthropic")}
    asyncio.run(litellm.acompletion(model="anthropic/claude-opus-4-8", messages=messages, **more))
    blocks = sandbox.requests[-1].body["messages"][1]["content"]
    assert [block["type"] for block in blocks] == [
        "text",
        "server_tool_use",
        "web_search_tool_result",
    ]
    assert blocks[2] == RESULT
    assert mend is litellm.callbacks[0]


@pytest.mark.parametrize(
    ("model", "path"),
    [("openai/gpt-4o", "openai/v1"), ("mistral/mistral-large-latest", "mistral/v1")],
)
def test_another_provider_gets_the_result_as_that_of_an_own_tool(
    mend: ChatMend, sandbox: Sandbox, model: str, path: str
) -> None:
    asyncio.run(
        litellm.acompletion(model=model, messages=[ASK, ANSWER, NEXT], **options(sandbox, path))
    )
    sent = sandbox.requests[-1].body["messages"]
    (result,) = [message for message in sent if message["role"] == "tool"]
    assert "Weather of tomorrow" in result["content"]
    assert PAGE["encrypted_content"] not in json.dumps(sent)
    assert mend is litellm.callbacks[0]


SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_messages_requests(sandbox: Sandbox, seed: int) -> None:
    """LiteLLM itself converts some searches to text, so the request without chatmend counts."""
    tools = [{"name": "search", "input_schema": {"type": "object"}}]
    more = {"model": "anthropic/claude-opus-4-8", "max_tokens": 99, "tools": tools}
    more |= options(sandbox, "anthropic")

    def sent(messages: list[Any]) -> Any:
        asyncio.run(litellm.anthropic_messages(messages=messages, **more))
        return sandbox.requests[-1].body["messages"]

    bare = sent(loop(seed, "anthropic_messages"))
    litellm.callbacks = [ChatMend(on_error="raise")]
    assert sent(loop(seed, "anthropic_messages")) == bare
    assert sent(damaged(seed, "anthropic_messages")), "accepted"


@pytest.mark.parametrize("seed", SEEDS)
def test_responses_requests(mend: ChatMend, sandbox: Sandbox, seed: int) -> None:
    more = {"model": "openai/gpt-5", **options(sandbox, "openai/v1")}
    items = loop(seed, "openai_responses", stored=True)
    asyncio.run(litellm.aresponses(input=items, **more))
    assert sandbox.requests[-1].body["input"] == items
    asyncio.run(litellm.aresponses(input=damaged(seed, "openai_responses", stored=True), **more))
    assert mend is litellm.callbacks[0]


LISTED = {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}}
LISTING = {
    "type": "shell_call_output",
    "call_id": "call_1",
    "output": [{"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
}
CLICK = {"type": "computer_call", "id": "cu_1", "call_id": "call_2", "action": {"type": "wait"}}
CLICKED = {"type": "computer_call_output", "call_id": "call_2", "output": "waited"}
PATCH = {"type": "custom_tool_call", "call_id": "call_3", "name": "apply_patch", "input": "+ line"}
PATCHED = {"type": "custom_tool_call_output", "call_id": "call_3", "output": "patched"}
RUN = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "status": "completed",
    "code": "print(6 * 7)",
    "container_id": "c_1",
    "outputs": None,
}


def test_items_of_openai_arrive_at_another_provider(mend: ChatMend, sandbox: Sandbox) -> None:
    """LiteLLM drops calls of OpenAI's own tools, and of some keeps only the output."""
    more = {"model": "anthropic/claude-opus-4-8", **options(sandbox, "anthropic")}
    items = [ASK, LISTED, LISTING, CLICK, CLICKED, PATCH, PATCHED, RUN, NEXT]
    asyncio.run(litellm.aresponses(input=items, **more))
    sent = sandbox.requests[-1].body["messages"]
    blocks = [block for one in sent if isinstance(one["content"], list) for block in one["content"]]
    calls = [(block["id"], block["name"]) for block in blocks if block["type"] == "tool_use"]
    assert calls == [("call_1", "shell"), ("call_2", "computer"), ("call_3", "apply_patch")]
    results = [json.dumps(block) for block in blocks if block["type"] == "tool_result"]
    for text, result in zip(("a.txt", "waited", "patched"), results, strict=True):
        assert text in result
    assert "print(6 * 7)" in json.dumps(sent)
    assert mend is litellm.callbacks[0]


def test_items_of_openai_are_unchanged_where_litellm_sends_them(
    mend: ChatMend, sandbox: Sandbox
) -> None:
    more = {"model": "openai/gpt-5", **options(sandbox, "openai/v1")}
    items = [ASK, LISTED, LISTING, PATCH, PATCHED, NEXT]
    asyncio.run(litellm.aresponses(input=items, **more))
    assert sandbox.requests[-1].body["input"] == items
    assert mend is litellm.callbacks[0]


CODE = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "code_execution",
    "input": {"code": "print(6 * 7)"},
}
RAN = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "code_execution_result",
        "stdout": "42",
        "stderr": "",
        "return_code": 0,
        "content": [],
    },
}


@pytest.mark.parametrize(
    ("model", "path"),
    [("openai/gpt-4o", "openai/v1"), ("mistral/mistral-large-latest", "mistral/v1")],
)
def test_hosted_tools_that_litellm_would_drop_arrive_as_text(
    mend: ChatMend, sandbox: Sandbox, model: str, path: str
) -> None:
    """A request in Anthropic's format to another provider."""
    answer = {"role": "assistant", "content": [CODE, RAN, {"type": "text", "text": "It is 42."}]}
    more = {"model": model, "max_tokens": 99, **options(sandbox, path)}
    asyncio.run(litellm.anthropic_messages(messages=[ASK, answer, NEXT], **more))
    sent = json.dumps(sandbox.requests[-1].body)
    assert "print(6 * 7)" in sent
    assert "stdout" in sent
    assert mend is litellm.callbacks[0]
