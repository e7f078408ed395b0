"""Less usual requests, as the guides of providers show them, are sent as the same object."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from tests.corpus import PIXEL
from tests.promises import broken_promises
from tests.targets import OPENAI_CHAT

ASK = {"role": "user", "content": "What is new?"}
SEARCH = '{"search_result": {"search_id": "x"}}'
SOURCE = {"type": "base64", "media_type": "image/png", "data": PIXEL}
IMAGE = {"type": "image", "source": SOURCE}


def _kimi(kind: str) -> dict[str, Any]:
    function = {"name": "$web_search", "arguments": SEARCH}
    call = {"id": "t:0", "type": kind, "function": function}
    tool = {"type": "builtin_function", "function": {"name": "$web_search"}}
    said = {"role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "t:0", "name": "$web_search", "content": SEARCH}
    return {"messages": [ASK, said, result], "tools": [tool]}


def _images(number: int) -> dict[str, Any]:
    content = [IMAGE] * number + [{"type": "text", "text": "Compare them."}]
    return {"max_tokens": 99, "messages": [{"role": "user", "content": content}]}


_FRAMES = {"type": "video", "video": ["https://x/1.jpg", "https://x/2.jpg"], "fps": 2}
DOCUMENTED: dict[str, tuple[str, dict[str, Any]]] = {
    "Kimi, built-in search": ("moonshot/kimi-k2.6", _kimi("builtin_function")),
    "Kimi, built-in search as a function": ("moonshot/kimi-k2.6", _kimi("function")),
    "Qwen, a video as frames": (
        "dashscope/qwen3-vl-plus",
        {"messages": [{"role": "user", "content": [_FRAMES, {"type": "text", "text": "q"}]}]},
    ),
    "Gemini, contents without a role": (
        "gemini/gemini-2.5-flash",
        {"contents": [{"parts": [{"text": "Explain how AI works"}]}]},
    ),
    "Claude with 1M tokens of context, 600 images": ("anthropic/claude-sonnet-4-6", _images(600)),
    "Claude with 200k tokens of context, 100 images": (
        "anthropic/claude-sonnet-4-5",
        _images(100),
    ),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_request_is_the_same_object(name: str) -> None:
    target, body = DOCUMENTED[name]
    done = chatmend.repair_request(body, target)
    assert done.body is body, done.report()


@pytest.mark.parametrize(
    ("target", "most"), [("anthropic/claude-sonnet-4-6", 600), ("anthropic/claude-sonnet-4-5", 100)]
)
def test_more_images_than_claude_accepts_are_reduced(target: str, most: int) -> None:
    done = chatmend.repair_request(_images(most + 1), target)
    sent = [one for one in done.body["messages"][0]["content"] if one["type"] == "image"]
    assert 0 < len(sent) <= most


def test_built_in_tools_of_kimi_get_names_that_other_providers_accept() -> None:
    done = chatmend.repair_request(_kimi("builtin_function"), "openai/gpt-4o")
    (call,) = done.body["messages"][1]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "_web_search")


def test_vertex_requires_the_role_of_contents() -> None:
    _, body = DOCUMENTED["Gemini, contents without a role"]
    done = chatmend.repair_request(body, "vertex_ai/gemini-2.5-pro")
    assert done.body["contents"] == [{"role": "user", "parts": body["contents"][0]["parts"]}]


@pytest.mark.parametrize("target", OPENAI_CHAT)
@pytest.mark.parametrize("kind", [None, 1, [], ["builtin_function"], {"type": "function"}, "x"])
def test_a_type_of_any_value_in_a_call_is_repaired(target: str, kind: object) -> None:
    body = _kimi("function")
    body["messages"][1]["tool_calls"][0]["type"] = kind
    assert list(broken_promises(body["messages"], target, "openai_chat")) == []
