"""One defect in each dialect: a tool call without a result, which every tested provider refuses."""

from __future__ import annotations

from typing import Any

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}

CHAT_TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {"name": "get_weather", "description": "weather", "parameters": SCHEMA},
    }
]
MESSAGES_TOOLS: list[Any] = [
    {"name": "get_weather", "description": "weather", "input_schema": SCHEMA}
]
RESPONSES_TOOLS: list[Any] = [
    {"type": "function", "name": "get_weather", "description": "weather", "parameters": SCHEMA}
]


def chat() -> list[Any]:
    call = {
        "id": "call00001",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
    }
    return [
        {"role": "user", "content": "The weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "Are you there?"},
    ]


def messages() -> list[Any]:
    call = {"type": "tool_use", "id": "toolu_01", "name": "get_weather", "input": {"city": "Rome"}}
    return [
        {"role": "user", "content": "The weather in Rome?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": "Are you there?"},
    ]


def responses() -> list[Any]:
    return [
        {"role": "user", "content": "The weather in Rome?"},
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "get_weather",
            "arguments": '{"city": "Rome"}',
        },
        {"role": "user", "content": "Are you there?"},
    ]


def responses_unanswered() -> list[Any]:
    """Return new items for a conversation that the provider stores: a call without a result."""
    _, called, asked = responses()
    return [{**called, "call_id": "call_2"}, asked]


def contents() -> list[Any]:
    """Return two calls with one result; Gemini accepts a call without any result."""
    call = {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}}
    result = {"functionResponse": {"name": "get_weather", "response": {"degrees": 18}}}
    return [
        {"role": "user", "parts": [{"text": "The weather in Rome?"}]},
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": [result]},
    ]


CONVERSE_TOOLS: dict[str, Any] = {
    "tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": SCHEMA}}}]
}


def converse() -> list[Any]:
    """Return a call without a result."""
    use = {"toolUseId": "tooluse_1", "name": "get_weather", "input": {"city": "Rome"}}
    return [
        {"role": "user", "content": [{"text": "The weather in Rome?"}]},
        {"role": "assistant", "content": [{"toolUse": use}]},
        {"role": "user", "content": [{"text": "Well?"}]},
    ]


def chat_begun_by_a_call() -> list[Any]:
    """Return a trimmed history that starts with a call; Gemini requires a user message first."""
    _, called, asked = chat()
    return [called, {"role": "tool", "tool_call_id": "call00001", "content": "18 degrees"}, asked]


def messages_begun_by_a_call() -> list[Any]:
    _, called, asked = messages()
    result = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "18 degrees"}
    return [
        called,
        {"role": "user", "content": [result, {"type": "text", "text": asked["content"]}]},
    ]


def valid(count: int = 20) -> list[Any]:
    """Return a valid transcript with ``count`` messages, an even number."""
    turns = [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "content": f"Part {number}. " + "It is short. " * 20,
        }
        for number in range(count - 1)
    ]
    return [{"role": "system", "content": "Be brief."}, *turns]
