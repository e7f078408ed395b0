"""Each content part arrives in the request that LiteLLM sends: as it is, or as a text that is reported."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from typing import Any

import litellm
import pytest

from chatmend.litellm.attempt import repair_attempt
from chatmend.litellm.shapes import CHAT, MESSAGES
from tests.litellm_adapter.transcripts import CHAT_TOOLS

PATHS = {
    "anthropic/claude-sonnet-4-6": "anthropic",
    "gemini/gemini-2.5-flash": "gemini/v1beta",
    "mistral/mistral-medium-latest": "mistral/v1",
    "openai/gpt-4o": "openai/v1",
    "bedrock/us.amazon.nova-pro-v1:0": "bedrock",
    "ollama_chat/llama3.2": "ollama",
}
ROLES = ("system", "user", "assistant", "tool")


def _source(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": kind, **fields}}


def part(kind: str, words: str) -> dict[str, Any]:
    """Return a content part with these words."""
    text_file = f"data:text/plain;base64,{b64encode(words.encode()).decode()}"
    url = f"https://example.com/{words}.mp4"
    parts: dict[str, dict[str, Any]] = {
        "text": {"type": "text", "text": words},
        "refusal": {"type": "refusal", "refusal": words},
        "guarded_text": {"type": "guarded_text", "text": words},
        "file": {"type": "file", "file": {"filename": f"{words}.txt", "file_data": text_file}},
        "file_url": {"type": "file_url", "file_url": {"url": url}},
        "video_url": {"type": "video_url", "video_url": {"url": url}},
        "text document": _source("text", media_type="text/plain", data=words),
        "block document": _source("content", content=[{"type": "text", "text": words}]),
        "search_result": {
            "type": "search_result", "source": "https://example.com", "title": "Found",
            "content": [{"type": "text", "text": words}],
        },
        "container_upload": {"type": "container_upload", "file_id": words},
        "tool_reference": {"type": "tool_reference", "tool_name": words},
        "unknown": {"type": "of_another_api", "value": words},
    }  # fmt: skip
    return parts[kind]


KINDS = (
    "text", "refusal", "guarded_text", "file", "file_url", "video_url", "text document",
    "block document", "search_result", "container_upload", "tool_reference", "unknown",
)  # fmt: skip


def transcript(kind: str) -> list[dict[str, Any]]:
    """Return a transcript in which a message of each role holds a part of this kind."""
    said = {
        role: [{"type": "text", "text": "See:"}, part(kind, f"words-of-the-{role}")]
        for role in ROLES
    }
    call = {
        "id": "call00001", "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
    }  # fmt: skip
    return [
        {"role": "system", "content": said["system"]},
        {"role": "user", "content": said["user"]},
        {"role": "assistant", "content": said["assistant"], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call00001", "content": said["tool"]},
    ]


@pytest.mark.parametrize("target", PATHS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_words_of_every_part_arrive(sandbox: Any, kind: str, target: str) -> None:
    if target.startswith("bedrock"):
        pytest.importorskip("boto3")
    messages = transcript(kind)
    made = repair_attempt({"messages": messages, "tools": CHAT_TOOLS}, CHAT, target)
    sent = (made.request or {"messages": messages})["messages"]
    place = {
        "bedrock": {
            "aws_access_key_id": "any", "aws_secret_access_key": "any",
            "aws_region_name": "us-east-1",
            "aws_bedrock_runtime_endpoint": sandbox.url(PATHS[target]),
        },
    }.get(target.partition("/")[0], {"api_base": sandbox.url(PATHS[target]), "api_key": "any"})  # fmt: skip
    litellm.completion(target, sent, tools=CHAT_TOOLS, max_retries=0, **place)
    body = json.dumps(sandbox.requests[-1].body)
    readable = body + "".join(decoded_texts(sandbox.requests[-1].body))
    assert [role for role in ROLES if f"words-of-the-{role}" not in readable] == []


BLOCKS = {
    "text document": _source("text", media_type="text/plain", data="the words"),
    "block document": _source("content", content=[{"type": "text", "text": "the words"}]),
    "search_result": {
        "type": "search_result", "source": "https://example.com", "title": "Found",
        "content": [{"type": "text", "text": "the words"}],
    },
    "tool_reference": {"type": "tool_reference", "tool_name": "the words"},
    "container_upload": {"type": "container_upload", "file_id": "the words"},
}  # fmt: skip
TEXT = {"type": "text", "text": "See:"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Rome"}}


def _in_result(block: dict[str, Any]) -> list[dict[str, Any]]:
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [TEXT, block]}
    return [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [result]},
    ]


COMPACTED = [
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": [{"type": "compaction", "content": "the words"}, TEXT]},
    {"role": "user", "content": "Go on."},
]
CONVERTED = [
    *([{"role": "user", "content": [TEXT, block]}] for block in BLOCKS.values()),
    *map(_in_result, BLOCKS.values()),
    COMPACTED,
]
"""Messages of Anthropic with blocks that LiteLLM drops when it converts them for other providers."""


@pytest.mark.parametrize("target", ["gemini/gemini-2.5-flash", "openai/gpt-4o"])
@pytest.mark.parametrize("messages", CONVERTED)
def test_blocks_that_litellm_drops_arrive_as_text(
    sandbox: Any, messages: list[dict[str, Any]], target: str
) -> None:
    tools = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}]
    made = repair_attempt(
        {"messages": messages, "tools": tools, "max_tokens": 99}, MESSAGES, target
    )
    sent = (made.request or {"messages": messages})["messages"]
    place = {"api_base": sandbox.url(PATHS[target]), "api_key": "any"}
    asyncio.run(
        litellm.anthropic_messages(model=target, messages=sent, tools=tools, max_tokens=99, **place)
    )
    assert "the words" in json.dumps(sandbox.requests[-1].body)


def decoded_texts(value: Any) -> list[str]:
    """Return what the data URLs and base64 texts in a request hold."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in decoded_texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in decoded_texts(item)]
    if not isinstance(value, str) or " " in value:
        return []
    try:
        return [b64decode(value.rpartition(",")[2]).decode()]
    except ValueError:
        return []
