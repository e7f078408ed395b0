"""Providers that speak Chat Completions, and Cohere, whose messages look alike."""

from __future__ import annotations

from typing import Any

from tests.sandbox.proof_pairs.pictures import BMP, PNG, TORN, Body, Pair

ASKED: Body = {"role": "user", "content": "What is the weather in Paris?"}
SCHEMA: Body = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: list[Body] = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
NEXT: Body = {"role": "user", "content": "Thank you. And tomorrow?"}


def _call(call: str) -> Body:
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call, "type": "function", "function": function}]}


def _result(call: str) -> Body:
    return {"role": "tool", "tool_call_id": call, "content": "18 degrees"}


def said(*messages: Body, **more: Any) -> Body:
    """A request with these messages and a tool."""
    return {"messages": list(messages), "tools": TOOLS, **more}


_CALL, _RESULT = _call("abcdefgh1"), _result("abcdefgh1")
_WHOLE = said(ASKED, _CALL, _RESULT)
_ORPHAN = (said(ASKED, _RESULT), _WHOLE)
_UNANSWERED = (said(ASKED, _CALL, NEXT), said(ASKED, _CALL, _RESULT, {"role": "assistant", "content": "18."}, NEXT))

ANSWER: Body = {"role": "assistant", "content": "18."}
_SYSTEM: Body = {"role": "system", "content": "Be brief."}


def _given(arguments: Any, name: str = "get_weather") -> Body:
    """A call whose arguments or name may be anything."""
    function = {"name": name, "arguments": arguments}
    return {**_CALL, "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": function}]}


def _seen(data: str, mime: str = "image/png") -> Body:
    """A user who shows an image."""
    image = {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
    return {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}


def _declared(name: str) -> Body:
    return said(ASKED, tools=[{"type": "function", "function": {"name": name, "parameters": SCHEMA}}])


def _with_calls(*ids: str) -> Body:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [call for one in ids for call in _call(one)["tool_calls"]],
    }


_BAD_NAME: Pair = (_declared("get weather"), _declared("get_weather"))
_DOUBLE_CALLS: Pair = (
    said(ASKED, _with_calls("abcdefgh1", "abcdefgh1"), _RESULT, _RESULT),
    said(ASKED, _with_calls("abcdefgh1", "abcdefgh2"), _RESULT, _result("abcdefgh2")),
)
_LATE: Pair = (said(ASKED, _CALL, NEXT, _RESULT), said(ASKED, _CALL, _RESULT, NEXT))
_NULL: Pair = (said({"role": "user", "content": None}), said({"role": "user", "content": ""}))
_SHOWN = {"role": "tool", "tool_call_id": "abcdefgh1", "content": _seen(PNG)["content"]}
_TWICE: Pair = (said(ASKED, _CALL, _RESULT, _RESULT), _WHOLE)
_UNREADABLE: Pair = (said(_seen(TORN)), said(_seen(PNG)))
_NO_CALL_ID = {key: value for key, value in _RESULT.items() if key != "tool_call_id"}
_OF_OPENAI: dict[str, Pair] = {
    "orphan-tool-result": _ORPHAN,
    "unanswered-tool-call": _UNANSWERED,
    "late-tool-result": _LATE,
    "long-call-id": (said(ASKED, _call("c" * 41), _result("c" * 41)), _WHOLE),
    "missing-call-id": (said(ASKED, _CALL, _NO_CALL_ID), _WHOLE),
    "bad-tool-name": _BAD_NAME,
    "called-by-a-bad-name": (said(ASKED, _given("{}", "get weather"), _RESULT), said(ASKED, _given("{}"), _RESULT)),
    "arguments-no-text": (said(ASKED, _given({"city": "Paris"}), _RESULT), _WHOLE),
    "empty-tool-calls": (said(ASKED, {**ANSWER, "tool_calls": []}, NEXT), said(ASKED, ANSWER, NEXT)),
    "null-content": _NULL,
    "unknown-role": (said({"role": "human", "content": "Hello"}), said({"role": "user", "content": "Hello"})),
    "image-in-tool-result": (said(ASKED, _CALL, _SHOWN), said(ASKED, _CALL, _RESULT, _seen(PNG))),
    "image-of-the-assistant": (said(ASKED, {**_seen(PNG), "role": "assistant"}, NEXT), said(_seen(PNG), ANSWER, NEXT)),
    "unreadable-image": _UNREADABLE,
    "mislabelled-file": (said(_seen(PNG, "application/pdf")), said(_seen(PNG))),
    "foreign-key": (
        said({"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}),
        said({"role": "user", "content": [{"type": "text", "text": "Hi"}]}),
    ),
    "tool-choice-without-tools": ({"messages": [ASKED], "tool_choice": "auto"}, {"messages": [ASKED]}),
}
_TWO: Body = {
    "role": "assistant",
    "content": "",
    "tool_calls": [*_call("abcdefgh1")["tool_calls"], *_given('{"city": "Rome"}')["tool_calls"]],
}
_TWO["tool_calls"][1]["id"] = "abcdefgh2"
HALF_ANSWERED: Pair = (said(ASKED, _TWO, _RESULT), said(ASKED, _TWO, _RESULT, _result("abcdefgh2")))
"""Two calls and one result."""
EQUAL_CALLS: Pair = (
    said(ASKED, _with_calls("abcdefgh1", "abcdefgh2"), _RESULT, _result("abcdefgh2")),
    HALF_ANSWERED[1],
)
"""Two equal calls, both answered: LiteLLM sends Gemini one of them, and both results."""
_THINKS = {"model": "deepseek-v4-pro"}

PAIRS: dict[str, dict[str, Pair]] = {
    "openai": _OF_OPENAI,
    "azure": _OF_OPENAI,
    "mistral": {
        "orphan-tool-result": _ORPHAN,
        "duplicate-tool-result": _TWICE,
        "duplicate-call-id": _DOUBLE_CALLS,
        "bad-tool-name": _BAD_NAME,
        "called-by-a-bad-name": (
            said(ASKED, _given("{}", "get weather"), _RESULT),
            said(ASKED, _given("{}"), _RESULT),
        ),
        "empty-content": (
            said(ASKED, {"role": "assistant", "content": ""}, NEXT),
            said(ASKED, {"role": "assistant", "content": "Yes?"}, NEXT),
        ),
        "too-many-images": (
            said({"role": "user", "content": _seen(PNG)["content"][1:] * 9}),
            said({"role": "user", "content": _seen(PNG)["content"][1:] * 8}),
        ),
        "invalid-call-id": (said(ASKED, _call("call_1"), _result("call_1")), _WHOLE),
        "trailing-assistant": (
            said(ASKED, {"role": "assistant", "content": "It is"}),
            said(ASKED, {"role": "assistant", "content": "It is", "prefix": True}),
        ),
        "system-after-assistant": (
            said(ASKED, {"role": "assistant", "content": "18."}, {"role": "system", "content": "Be brief."}, NEXT),
            said({"role": "system", "content": "Be brief."}, ASKED, {"role": "assistant", "content": "18."}, NEXT),
        ),
        "missing-tool-result": (said(ASKED, _CALL, {"role": "assistant", "content": "18."}, NEXT), _UNANSWERED[1]),
    },
    "deepseek": {
        "orphan-tool-result": _ORPHAN,
        "unanswered-tool-call": _UNANSWERED,
        "unknown-role": (said({**_SYSTEM, "role": "developer"}, ASKED), said(_SYSTEM, ASKED)),
        "refused-image": (said(_seen(PNG)), said({"role": "user", "content": "What is this? (no image)"})),
        "arguments-no-text": (said(ASKED, _given({"city": "Paris"}), _RESULT), _WHOLE),
        "bad-tool-name": _BAD_NAME,
        "missing-reasoning": (
            said(ASKED, _CALL, _RESULT, **_THINKS),
            said(ASKED, {**_CALL, "reasoning_content": "I must look it up."}, _RESULT, **_THINKS),
        ),
    },
    "xai": {
        "null-content": _NULL,
        "unknown-role": (said({"role": "human", "content": "Hello"}), said({"role": "user", "content": "Hello"})),
        "empty-content": (said({"role": "user", "content": []}), said(ASKED)),
        "tool-choice-without-tools": ({"messages": [ASKED], "tool_choice": "none"}, {"messages": [ASKED]}),
    },
    "groq": {
        "missing-call-id": (said(ASKED, _CALL, _NO_CALL_ID), _WHOLE),
        "null-content": (
            said(ASKED, {"role": "assistant", "content": None}, NEXT),
            said(ASKED, ANSWER, NEXT),
        ),
        "refused-image": (said(_seen(PNG)), said({"role": "user", "content": "What is this? (no image)"})),
        "listed-tool-content": (
            said(ASKED, _CALL, {**_RESULT, "content": [{"type": "text", "text": "18 degrees"}]}),
            _WHOLE,
        ),
        "refused-key": (
            said(ASKED, {"role": "assistant", "content": "18.", "reasoning_content": "x"}, NEXT),
            said(ASKED, {"role": "assistant", "content": "18."}, NEXT),
        ),
    },
    "moonshot": {
        "orphan-tool-result": _ORPHAN,
        "unanswered-tool-call": _UNANSWERED,
        "empty-content": (
            said(ASKED, {"role": "assistant", "content": ""}, NEXT),
            said(ASKED, ANSWER, NEXT),
        ),
        "empty-text": (
            said({"role": "user", "content": [{"type": "text", "text": ""}]}),
            said(ASKED),
        ),
        "bad-tool-name": _BAD_NAME,
        "missing-reasoning": (
            said(ASKED, _CALL, _RESULT, model="kimi-k2-thinking"),
            said(ASKED, {**_CALL, "reasoning_content": "I must look it up."}, _RESULT, model="kimi-k2-thinking"),
        ),
    },
    "zai": {
        "unanswered-tool-call": _UNANSWERED,
        "unknown-role": (said({"role": "human", "content": "Hello"}), said({"role": "user", "content": "Hello"})),
        "orphan-tool-result": _ORPHAN,
        "no-user": ({"messages": [{"role": "system", "content": "x"}]}, {"messages": [ASKED]}),
    },
    "minimax": {
        "orphan-tool-result": _ORPHAN,
        "system-among-messages": (said(ASKED, ANSWER, _SYSTEM, NEXT), said(_SYSTEM, ASKED, ANSWER, NEXT)),
        "invalid-tool-arguments": (said(ASKED, _given('{"city": '), _RESULT), _WHOLE),
        "two-systems": (
            said({"role": "system", "content": "a"}, {"role": "system", "content": "b"}, ASKED),
            said({"role": "system", "content": "a\n\nb"}, ASKED),
        ),
        "late-tool-result": (said(ASKED, _CALL, NEXT, _RESULT), said(ASKED, _CALL, _RESULT, NEXT)),
    },
    "perplexity": {
        "consecutive-users": (
            {"messages": [ASKED, NEXT]},
            {"messages": [{"role": "user", "content": f"{ASKED['content']}\n\n{NEXT['content']}"}]},
        ),
        "trailing-assistant": (
            {"messages": [ASKED, {"role": "assistant", "content": "18."}]},
            {"messages": [ASKED, {"role": "assistant", "content": "18."}, NEXT]},
        ),
    },
    "ollama": {
        "refused-image": (
            said(
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}
            ),
            said(_seen(PNG)),
        ),
        "unknown-part": (
            said({"role": "user", "content": [{"type": "hologram", "data": "x"}]}),
            said(ASKED),
        ),
        "invalid-tool-arguments": (
            said(
                ASKED,
                {
                    **_CALL,
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "[1]"}}
                    ],
                },
            ),
            _WHOLE,
        ),
    },
    "strict": {
        "leading-assistant": (
            {"messages": [{"role": "assistant", "content": "Hello."}, ASKED]},
            {"messages": [{"role": "user", "content": "Hello."}, ANSWER, ASKED]},
        ),
        "system-among-messages": (
            {"messages": [ASKED, ANSWER, _SYSTEM, NEXT]},
            {"messages": [_SYSTEM, ASKED, ANSWER, NEXT]},
        ),
        "consecutive-users": (
            {"messages": [ASKED, NEXT]},
            {"messages": [{"role": "user", "content": f"{ASKED['content']}\n\n{NEXT['content']}"}]},
        ),
    },
    "cohere": {
        "orphan-tool-result": _ORPHAN,
        "unknown-call-id": (said(ASKED, _CALL, _result("other")), _WHOLE),
        "duplicate-call-id": _DOUBLE_CALLS,
        "missing-call-id": (said(ASKED, _CALL, _NO_CALL_ID), _WHOLE),
        "empty-content": (said({"role": "user", "content": ""}), said(ASKED)),
        "empty-assistant": (
            said(ASKED, {"role": "assistant", "content": ""}, NEXT),
            said(ASKED, ANSWER, NEXT),
        ),
    },
    "openrouter": {
        "refused-image": (
            {"messages": [_seen(PNG)]},
            {"messages": [_seen(PNG)], "model": "openai/gpt-4o"},
        ),
        "refused-image-type": (
            {"messages": [_seen(BMP, "image/bmp")], "model": "google/gemini-2.5-flash"},
            {"messages": [_seen(PNG)], "model": "google/gemini-2.5-flash"},
        ),
    },
}
"""Provider -> fault -> (refused, accepted)."""
