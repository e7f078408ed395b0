"""The important faults of each provider: the request that is refused, and the one that is accepted instead."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]

ASKED: Body = {"role": "user", "content": "What is the weather in Paris?"}
SCHEMA: Body = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: list[Body] = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
NEXT: Body = {"role": "user", "content": "Thank you. And tomorrow?"}


def _call(call: str) -> Body:
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call, "type": "function", "function": function}]}


def _result(call: str) -> Body:
    return {"role": "tool", "tool_call_id": call, "content": "18 degrees"}


def _chat(*messages: Body, **more: Any) -> Body:
    return {"messages": list(messages), "tools": TOOLS, **more}


_CALL, _RESULT = _call("abcdefgh1"), _result("abcdefgh1")
_WHOLE = _chat(ASKED, _CALL, _RESULT)
_ORPHAN = (_chat(ASKED, _RESULT), _WHOLE)
_UNANSWERED = (_chat(ASKED, _CALL, NEXT), _chat(ASKED, _CALL, _RESULT, {"role": "assistant", "content": "18."}, NEXT))

_TOOL_USE: Body = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
_TOOL_RESULT: Body = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "18 degrees"}
_CLAUDE_TOOLS = [{"name": "get_weather", "input_schema": SCHEMA}]


def _claude(*turns: Any, **more: Any) -> Body:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": content} for at, content in enumerate(turns)]
    return {"messages": messages, "max_tokens": 500, "tools": _CLAUDE_TOOLS, **more}


def _gemini(*turns: Any) -> Body:
    roles = ("user", "model")
    contents = [{"role": roles[at % 2], "parts": [part]} for at, part in enumerate(turns)]
    declared = {"name": "get_weather", "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}
    return {"contents": contents, "config": {"tools": [{"function_declarations": [declared]}]}}


_G_CALL = {"function_call": {"name": "get_weather", "args": {"city": "Paris"}}}
_G_RESULT = {"function_response": {"name": "get_weather", "response": {"result": "18 degrees"}}}

_B_CALL = {"toolUse": {"toolUseId": "t1", "name": "get_weather", "input": {"city": "Paris"}}}
_B_RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "18 degrees"}]}}


def _converse(*turns: Any, tools: bool = True) -> Body:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": [block] if block else []} for at, block in enumerate(turns)]
    spec = {"toolSpec": {"name": "get_weather", "inputSchema": {"json": SCHEMA}}}
    return {"messages": messages} | ({"toolConfig": {"tools": [spec]}} if tools else {})


_HI, _TEXT = {"text": "What is the weather?"}, {"text": "Thank you."}

PAIRS: dict[str, dict[str, tuple[Body, Body]]] = {
    "openai": {
        "orphan-tool-result": _ORPHAN,
        "unanswered-tool-call": _UNANSWERED,
        "long-call-id": (_chat(ASKED, _call("c" * 41), _result("c" * 41)), _WHOLE),
        "bad-tool-name": (
            _chat(ASKED, tools=[{"type": "function", "function": {"name": "get weather", "parameters": SCHEMA}}]),
            _chat(ASKED),
        ),
        "null-content": (_chat({"role": "user", "content": None}), _chat({"role": "user", "content": ""})),
    },
    "azure": {"orphan-tool-result": _ORPHAN, "unanswered-tool-call": _UNANSWERED},
    "mistral": {
        "invalid-call-id": (_chat(ASKED, _call("call_1"), _result("call_1")), _WHOLE),
        "trailing-assistant": (
            _chat(ASKED, {"role": "assistant", "content": "It is"}),
            _chat(ASKED, {"role": "assistant", "content": "It is", "prefix": True}),
        ),
        "system-after-assistant": (
            _chat(ASKED, {"role": "assistant", "content": "18."}, {"role": "system", "content": "Be brief."}, NEXT),
            _chat({"role": "system", "content": "Be brief."}, ASKED, {"role": "assistant", "content": "18."}, NEXT),
        ),
        "missing-tool-result": (_chat(ASKED, _CALL, {"role": "assistant", "content": "18."}, NEXT), _UNANSWERED[1]),
    },
    "deepseek": {"orphan-tool-result": _ORPHAN, "unanswered-tool-call": _UNANSWERED},
    "xai": {
        "empty-content": (_chat({"role": "user", "content": []}), _chat(ASKED)),
        "tool-choice-without-tools": ({"messages": [ASKED], "tool_choice": "none"}, {"messages": [ASKED]}),
    },
    "groq": {
        "listed-tool-content": (
            _chat(ASKED, _CALL, {**_RESULT, "content": [{"type": "text", "text": "18 degrees"}]}),
            _WHOLE,
        ),
        "refused-key": (
            _chat(ASKED, {"role": "assistant", "content": "18.", "reasoning_content": "x"}, NEXT),
            _chat(ASKED, {"role": "assistant", "content": "18."}, NEXT),
        ),
    },
    "moonshot": {"orphan-tool-result": _ORPHAN, "unanswered-tool-call": _UNANSWERED},
    "zai": {
        "orphan-tool-result": _ORPHAN,
        "no-user": ({"messages": [{"role": "system", "content": "x"}]}, {"messages": [ASKED]}),
    },
    "minimax": {
        "two-systems": (
            _chat({"role": "system", "content": "a"}, {"role": "system", "content": "b"}, ASKED),
            _chat({"role": "system", "content": "a\n\nb"}, ASKED),
        ),
        "late-tool-result": (_chat(ASKED, _CALL, NEXT, _RESULT), _chat(ASKED, _CALL, _RESULT, NEXT)),
    },
    "perplexity": {
        "trailing-assistant": (
            {"messages": [ASKED, {"role": "assistant", "content": "18."}]},
            {"messages": [ASKED, {"role": "assistant", "content": "18."}, NEXT]},
        ),
    },
    "ollama": {
        "invalid-tool-arguments": (
            _chat(
                ASKED,
                {
                    **_CALL,
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "[1]"}}
                    ],
                },
            ),
            _WHOLE,
        )
    },
    "strict": {
        "consecutive-users": (
            {"messages": [ASKED, NEXT]},
            {"messages": [{"role": "user", "content": f"{ASKED['content']}\n\n{NEXT['content']}"}]},
        ),
    },
    "cohere": {"orphan-tool-result": _ORPHAN},
    "anthropic": {
        "unanswered-tool-call": (_claude("q", [_TOOL_USE], "next"), _claude("q", [_TOOL_USE], [_TOOL_RESULT])),
        "orphan-tool-result": (_claude([_TOOL_RESULT]), _claude("q", [_TOOL_USE], [_TOOL_RESULT])),
        "empty-content": (_claude("q", "", "next"), _claude("q", "yes", "next")),
        "result-after-text": (
            _claude("q", [_TOOL_USE], [{"type": "text", "text": "x"}, _TOOL_RESULT]),
            _claude("q", [_TOOL_USE], [_TOOL_RESULT, {"type": "text", "text": "x"}]),
        ),
        "trailing-assistant": (_claude("q", "The answer is"), _claude("q", "The answer is", "Go on.")),
    },
    "gemini": {
        "orphan-tool-result": (_gemini(_G_RESULT), _gemini(_HI, _G_CALL, _G_RESULT)),
        "leading-tool-call": (
            {**_gemini(), "contents": [{"role": "model", "parts": [_G_CALL]}, {"role": "user", "parts": [_G_RESULT]}]},
            _gemini(_HI, _G_CALL, _G_RESULT),
        ),
    },
    "bedrock": {
        "orphan-tool-result": (_converse(_B_RESULT), _converse(_HI, _B_CALL, _B_RESULT)),
        "unanswered-tool-call": (_converse(_HI, _B_CALL, _TEXT), _converse(_HI, _B_CALL, _B_RESULT)),
        "undeclared-tools": (_converse(_HI, _B_CALL, _B_RESULT, tools=False), _converse(_HI, _B_CALL, _B_RESULT)),
        "empty-content": (_converse(_HI, None, _TEXT), _converse(_HI, {"text": "Yes?"}, _TEXT)),
    },
}
"""Provider -> fault -> (refused, accepted)."""

MODELS = {
    "openai": "gpt-4o",
    "azure": "gpt-4o",
    "mistral": "mistral-large-2411",
    "deepseek": "deepseek-chat",
    "xai": "grok-4-1-fast-non-reasoning",
    "groq": "llama-3.3-70b-versatile",
    "moonshot": "kimi-k2-0905-preview",
    "zai": "glm-4.6",
    "minimax": "MiniMax-M2",
    "perplexity": "sonar",
    "ollama": "llama3.1",
    "strict": "strict",
    "cohere": "command-a-03-2025",
    "anthropic": "claude-sonnet-4-6",
    "gemini": "gemini-2.5-flash",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
