"""Pairs for Chat Completions APIs, and for Cohere, whose messages are similar."""

from __future__ import annotations

from typing import Any

from tests.sandbox.proof_pairs.pictures import BMP, PNG, TORN, Body, Pair

QUESTION: Body = {"role": "user", "content": "What is the weather in Paris?"}
SCHEMA: Body = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: list[Body] = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
]
NEXT: Body = {"role": "user", "content": "Thank you. And tomorrow?"}


def _call(call: str) -> Body:
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": call, "type": "function", "function": function}],
    }


def _result(call: str) -> Body:
    return {"role": "tool", "tool_call_id": call, "content": "18 degrees"}


def request(*messages: Body, **more: Any) -> Body:
    """Return a request with these messages and a tool."""
    return {"messages": list(messages), "tools": TOOLS, **more}


_CALL, _RESULT = _call("abcdefgh1"), _result("abcdefgh1")
_WHOLE = request(QUESTION, _CALL, _RESULT)
_ORPHAN = (request(QUESTION, _RESULT), _WHOLE)
_UNANSWERED = (
    request(QUESTION, _CALL, NEXT),
    request(QUESTION, _CALL, _RESULT, {"role": "assistant", "content": "18."}, NEXT),
)

ANSWER: Body = {"role": "assistant", "content": "18."}
_SYSTEM: Body = {"role": "system", "content": "Be brief."}


def _call_with(arguments: Any, name: str = "get_weather") -> Body:
    """Return a message with a call of the given arguments and name."""
    function = {"name": name, "arguments": arguments}
    return {**_CALL, "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": function}]}


def _with_image(data: str, mime: str = "image/png") -> Body:
    """Return a user message with an image."""
    image = {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
    return {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}


def _declared(name: str) -> Body:
    return request(
        QUESTION, tools=[{"type": "function", "function": {"name": name, "parameters": SCHEMA}}]
    )


def _with_calls(*ids: str) -> Body:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [call for one in ids for call in _call(one)["tool_calls"]],
    }


_BAD_NAME: Pair = (_declared("get weather"), _declared("get_weather"))
_DOUBLE_CALLS: Pair = (
    request(QUESTION, _with_calls("abcdefgh1", "abcdefgh1"), _RESULT, _RESULT),
    request(QUESTION, _with_calls("abcdefgh1", "abcdefgh2"), _RESULT, _result("abcdefgh2")),
)
_LATE: Pair = (request(QUESTION, _CALL, NEXT, _RESULT), request(QUESTION, _CALL, _RESULT, NEXT))
_NULL: Pair = (request({"role": "user", "content": None}), request({"role": "user", "content": ""}))
_IMAGE_RESULT = {
    "role": "tool",
    "tool_call_id": "abcdefgh1",
    "content": _with_image(PNG)["content"],
}
_DUPLICATE_RESULT: Pair = (request(QUESTION, _CALL, _RESULT, _RESULT), _WHOLE)
_UNREADABLE: Pair = (request(_with_image(TORN)), request(_with_image(PNG)))
_NO_CALL_ID = {key: value for key, value in _RESULT.items() if key != "tool_call_id"}
_OF_OPENAI: dict[str, Pair] = {
    "orphan-tool-result": _ORPHAN,
    "unanswered-tool-call": _UNANSWERED,
    "late-tool-result": _LATE,
    "long-call-id": (request(QUESTION, _call("c" * 41), _result("c" * 41)), _WHOLE),
    "missing-call-id": (request(QUESTION, _CALL, _NO_CALL_ID), _WHOLE),
    "bad-tool-name": _BAD_NAME,
    "called-by-a-bad-name": (
        request(QUESTION, _call_with("{}", "get weather"), _RESULT),
        request(QUESTION, _call_with("{}"), _RESULT),
    ),
    "arguments-no-text": (request(QUESTION, _call_with({"city": "Paris"}), _RESULT), _WHOLE),
    "empty-tool-calls": (
        request(QUESTION, {**ANSWER, "tool_calls": []}, NEXT),
        request(QUESTION, ANSWER, NEXT),
    ),
    "null-content": _NULL,
    "unknown-role": (
        request({"role": "human", "content": "Hello"}),
        request({"role": "user", "content": "Hello"}),
    ),
    "image-in-tool-result": (
        request(QUESTION, _CALL, _IMAGE_RESULT),
        request(QUESTION, _CALL, _RESULT, _with_image(PNG)),
    ),
    "image-of-the-assistant": (
        request(QUESTION, {**_with_image(PNG), "role": "assistant"}, NEXT),
        request(_with_image(PNG), ANSWER, NEXT),
    ),
    "unreadable-image": _UNREADABLE,
    "mislabelled-file": (request(_with_image(PNG, "application/pdf")), request(_with_image(PNG))),
    "foreign-key": (
        request(
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}],
            }
        ),
        request({"role": "user", "content": [{"type": "text", "text": "Hi"}]}),
    ),
    "tool-choice-without-tools": (
        {"messages": [QUESTION], "tool_choice": "auto"},
        {"messages": [QUESTION]},
    ),
}
_TWO: Body = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        *_call("abcdefgh1")["tool_calls"],
        *_call_with('{"city": "Rome"}')["tool_calls"],
    ],
}
_TWO["tool_calls"][1]["id"] = "abcdefgh2"
HALF_ANSWERED: Pair = (
    request(QUESTION, _TWO, _RESULT),
    request(QUESTION, _TWO, _RESULT, _result("abcdefgh2")),
)
"""Two calls and one result."""
EQUAL_CALLS: Pair = (
    request(QUESTION, _with_calls("abcdefgh1", "abcdefgh2"), _RESULT, _result("abcdefgh2")),
    HALF_ANSWERED[1],
)
"""Two equal calls, both with results; LiteLLM sends Gemini only one call, but both results."""
_THINKS = {"model": "deepseek-v4-pro"}

PAIRS: dict[str, dict[str, Pair]] = {
    "openai": _OF_OPENAI,
    "azure": _OF_OPENAI,
    "mistral": {
        "orphan-tool-result": _ORPHAN,
        "duplicate-tool-result": _DUPLICATE_RESULT,
        "duplicate-call-id": _DOUBLE_CALLS,
        "bad-tool-name": _BAD_NAME,
        "called-by-a-bad-name": (
            request(QUESTION, _call_with("{}", "get weather"), _RESULT),
            request(QUESTION, _call_with("{}"), _RESULT),
        ),
        "empty-content": (
            request(QUESTION, {"role": "assistant", "content": ""}, NEXT),
            request(QUESTION, {"role": "assistant", "content": "Yes?"}, NEXT),
        ),
        "too-many-images": (
            request({"role": "user", "content": _with_image(PNG)["content"][1:] * 9}),
            request({"role": "user", "content": _with_image(PNG)["content"][1:] * 8}),
        ),
        "invalid-call-id": (request(QUESTION, _call("call_1"), _result("call_1")), _WHOLE),
        "trailing-assistant": (
            request(QUESTION, {"role": "assistant", "content": "It is"}),
            request(QUESTION, {"role": "assistant", "content": "It is", "prefix": True}),
        ),
        "system-after-assistant": (
            request(
                QUESTION,
                {"role": "assistant", "content": "18."},
                {"role": "system", "content": "Be brief."},
                NEXT,
            ),
            request(
                {"role": "system", "content": "Be brief."},
                QUESTION,
                {"role": "assistant", "content": "18."},
                NEXT,
            ),
        ),
        "missing-tool-result": (
            request(QUESTION, _CALL, {"role": "assistant", "content": "18."}, NEXT),
            _UNANSWERED[1],
        ),
    },
    "deepseek": {
        "orphan-tool-result": _ORPHAN,
        "unanswered-tool-call": _UNANSWERED,
        "unknown-role": (
            request({**_SYSTEM, "role": "developer"}, QUESTION),
            request(_SYSTEM, QUESTION),
        ),
        "refused-image": (
            request(_with_image(PNG)),
            request({"role": "user", "content": "What is this? (no image)"}),
        ),
        "arguments-no-text": (request(QUESTION, _call_with({"city": "Paris"}), _RESULT), _WHOLE),
        "bad-tool-name": _BAD_NAME,
        "missing-reasoning": (
            request(QUESTION, _CALL, _RESULT, **_THINKS),
            request(
                QUESTION, {**_CALL, "reasoning_content": "I must look it up."}, _RESULT, **_THINKS
            ),
        ),
    },
    "xai": {
        "null-content": _NULL,
        "unknown-role": (
            request({"role": "human", "content": "Hello"}),
            request({"role": "user", "content": "Hello"}),
        ),
        "empty-content": (request({"role": "user", "content": []}), request(QUESTION)),
        "null-next-to-calls": (
            {
                **request(QUESTION, {**_CALL, "content": None}, _RESULT),
                "model": "grok-4-1-fast-reasoning",
            },
            {
                **request(QUESTION, {**_CALL, "content": ""}, _RESULT),
                "model": "grok-4-1-fast-reasoning",
            },
        ),
        "tool-choice-without-tools": (
            {"messages": [QUESTION], "tool_choice": "none"},
            {"messages": [QUESTION]},
        ),
    },
    "groq": {
        "missing-call-id": (request(QUESTION, _CALL, _NO_CALL_ID), _WHOLE),
        "null-content": (
            request(QUESTION, {"role": "assistant", "content": None}, NEXT),
            request(QUESTION, ANSWER, NEXT),
        ),
        "refused-image": (
            request(_with_image(PNG)),
            request({"role": "user", "content": "What is this? (no image)"}),
        ),
        "listed-tool-content": (
            request(
                QUESTION, _CALL, {**_RESULT, "content": [{"type": "text", "text": "18 degrees"}]}
            ),
            _WHOLE,
        ),
        "refused-key": (
            request(
                QUESTION, {"role": "assistant", "content": "18.", "reasoning_content": "x"}, NEXT
            ),
            request(QUESTION, {"role": "assistant", "content": "18."}, NEXT),
        ),
    },
    "moonshot": {
        "orphan-tool-result": _ORPHAN,
        "unanswered-tool-call": _UNANSWERED,
        "empty-content": (
            request(QUESTION, {"role": "assistant", "content": ""}, NEXT),
            request(QUESTION, ANSWER, NEXT),
        ),
        "empty-text": (
            request({"role": "user", "content": [{"type": "text", "text": ""}]}),
            request(QUESTION),
        ),
        "bad-tool-name": _BAD_NAME,
        "missing-reasoning": (
            request(QUESTION, _CALL, _RESULT, model="kimi-k2-thinking"),
            request(
                QUESTION,
                {**_CALL, "reasoning_content": "I must look it up."},
                _RESULT,
                model="kimi-k2-thinking",
            ),
        ),
    },
    "zai": {
        "unanswered-tool-call": _UNANSWERED,
        "unknown-role": (
            request({"role": "human", "content": "Hello"}),
            request({"role": "user", "content": "Hello"}),
        ),
        "orphan-tool-result": _ORPHAN,
        "no-user": ({"messages": [{"role": "system", "content": "x"}]}, {"messages": [QUESTION]}),
    },
    "minimax": {
        "orphan-tool-result": _ORPHAN,
        "system-among-messages": (
            request(QUESTION, ANSWER, _SYSTEM, NEXT),
            request(_SYSTEM, QUESTION, ANSWER, NEXT),
        ),
        "invalid-tool-arguments": (request(QUESTION, _call_with('{"city": '), _RESULT), _WHOLE),
        "two-systems": (
            request(
                {"role": "system", "content": "a"}, {"role": "system", "content": "b"}, QUESTION
            ),
            request({"role": "system", "content": "a\n\nb"}, QUESTION),
        ),
        "late-tool-result": (
            request(QUESTION, _CALL, NEXT, _RESULT),
            request(QUESTION, _CALL, _RESULT, NEXT),
        ),
    },
    "perplexity": {
        "consecutive-users": (
            {"messages": [QUESTION, NEXT]},
            {
                "messages": [
                    {"role": "user", "content": f"{QUESTION['content']}\n\n{NEXT['content']}"}
                ]
            },
        ),
        "trailing-assistant": (
            {"messages": [QUESTION, {"role": "assistant", "content": "18."}]},
            {"messages": [QUESTION, {"role": "assistant", "content": "18."}, NEXT]},
        ),
    },
    "ollama": {
        "refused-image": (
            request(
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
                    ],
                }
            ),
            request(_with_image(PNG)),
        ),
        "unknown-part": (
            request({"role": "user", "content": [{"type": "hologram", "data": "x"}]}),
            request(QUESTION),
        ),
        "invalid-tool-arguments": (
            request(
                QUESTION,
                {
                    **_CALL,
                    "tool_calls": [
                        {
                            "id": "a",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": "[1]"},
                        }
                    ],
                },
            ),
            _WHOLE,
        ),
    },
    "cerebras": {
        "reasoning-content": (
            request(QUESTION, {**ANSWER, "reasoning_content": "It is warm."}, NEXT),
            request(QUESTION, {**ANSWER, "reasoning": "It is warm."}, NEXT),
        ),
        "thinking-blocks": (
            request(QUESTION, {**ANSWER, "thinking_blocks": []}, NEXT),
            request(QUESTION, ANSWER, NEXT),
        ),
    },
    "fireworks_ai": {
        "reasoning": (
            request(QUESTION, {**ANSWER, "reasoning": "It is warm."}, NEXT),
            request(QUESTION, {**ANSWER, "reasoning_content": "It is warm."}, NEXT),
        ),
        "annotations": (
            request(QUESTION, {**ANSWER, "annotations": []}, NEXT),
            request(QUESTION, ANSWER, NEXT),
        ),
    },
    "databricks": {
        "reasoning-details": (
            request(QUESTION, {**ANSWER, "reasoning_details": []}, NEXT),
            request(QUESTION, ANSWER, NEXT),
        ),
        "empty-text-beside-calls": (
            request(QUESTION, _CALL, _RESULT),
            request(QUESTION, {**_CALL, "content": None}, _RESULT),
        ),
    },
    "strict": {
        "leading-assistant": (
            {"messages": [{"role": "assistant", "content": "Hello."}, QUESTION]},
            {"messages": [{"role": "user", "content": "Hello."}, ANSWER, QUESTION]},
        ),
        "system-among-messages": (
            {"messages": [QUESTION, ANSWER, _SYSTEM, NEXT]},
            {"messages": [_SYSTEM, QUESTION, ANSWER, NEXT]},
        ),
        "consecutive-users": (
            {"messages": [QUESTION, NEXT]},
            {
                "messages": [
                    {"role": "user", "content": f"{QUESTION['content']}\n\n{NEXT['content']}"}
                ]
            },
        ),
    },
    "cohere": {
        "orphan-tool-result": _ORPHAN,
        "unknown-call-id": (request(QUESTION, _CALL, _result("other")), _WHOLE),
        "duplicate-call-id": _DOUBLE_CALLS,
        "missing-call-id": (request(QUESTION, _CALL, _NO_CALL_ID), _WHOLE),
        "empty-content": (request({"role": "user", "content": ""}), request(QUESTION)),
        "empty-assistant": (
            request(QUESTION, {"role": "assistant", "content": ""}, NEXT),
            request(QUESTION, ANSWER, NEXT),
        ),
    },
    "openrouter": {
        "refused-image": (
            {"messages": [_with_image(PNG)]},
            {"messages": [_with_image(PNG)], "model": "openai/gpt-4o"},
        ),
        "refused-image-type": (
            {"messages": [_with_image(BMP, "image/bmp")], "model": "google/gemini-2.5-flash"},
            {"messages": [_with_image(PNG)], "model": "google/gemini-2.5-flash"},
        ),
    },
}
"""Provider -> fault -> (refused, accepted)."""
