"""Open models on Vertex AI have an endpoint with OpenAI's API, not Gemini's."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend.transport import endpoints

LLAMA = "meta/llama-4-maverick-17b-128e-instruct-maas"
REASONING = [
    "deepseek-ai/deepseek-v3.2-maas",
    "qwen/qwen3-next-80b-a3b-instruct-maas",
    "openai/gpt-oss-120b-maas",
    "moonshotai/kimi-k2-thinking-maas",
    "zai-org/glm-4.7-maas",
    "minimaxai/minimax-m2-maas",
]
OPEN = [LLAMA, *REASONING, "xai/grok-4.1-fast-reasoning", "google/gemma-4-26b-a4b-it-maas"]
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "system", "content": "From now on answer in French."},
    {"role": "user", "content": "c"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "d"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": ""},
    {"role": "assistant", "content": "e"},
]
OPENAPI = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi"


def at_the_endpoint(model: str) -> str:
    """Return the target of a request of OpenAI's client."""
    path = "/v1/projects/p/locations/global/endpoints/openapi/chat/completions"
    endpoint = endpoints.find_endpoint(path)
    assert endpoint is not None
    return endpoints.target_of(endpoint, f"{OPENAPI}/chat/completions", model, None)


@pytest.mark.parametrize("model", OPEN)
def test_a_chat_that_openai_accepts_stays_the_same_object(model: str) -> None:
    assert chatmend.repair(CHAT, f"vertex_ai/{model}").messages is CHAT
    assert chatmend.repair(CHAT, at_the_endpoint(model)).messages is CHAT


@pytest.mark.parametrize("model", REASONING)
def test_the_reasoning_of_an_open_model_stays(model: str) -> None:
    answer = {**CHAT[6], "reasoning_content": "I call f."}
    messages = [CHAT[0], answer, *CHAT[7:]]
    assert chatmend.repair(messages, f"vertex_ai/{model}").messages is messages


@pytest.mark.parametrize("model", OPEN)
def test_a_missing_result_is_added(model: str) -> None:
    done = chatmend.repair([*CHAT[:7], *CHAT[8:]], f"vertex_ai/{model}")
    assert [change.code for change in done.changes] == ["TOOL007"]


@pytest.mark.parametrize("model", ["google/gemini-2.5-pro", "gemini-2.5-pro", "123"])
def test_gemini_keeps_its_limits(model: str) -> None:
    for name in (f"vertex_ai/{model}", at_the_endpoint(model)):
        codes = {change.code for change in chatmend.check(CHAT, name)}
        assert codes >= {"SYS001", "TEXT004"}
