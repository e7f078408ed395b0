"""Pairs for Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

from tests.sandbox.proof_pairs.pictures import PNG, TORN, Body, Pair

_SCHEMA: Body = {"type": "object", "properties": {"city": {"type": "string"}}}
_TOOLS = [{"name": "get_weather", "input_schema": _SCHEMA}]
_THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}
_PREFILLS = {"model": "claude-sonnet-4-5"}
"""A model that accepts an assistant message at the end."""


def _claude(*turns: Any, **more: Any) -> Body:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": content} for at, content in enumerate(turns)]
    return {"messages": messages, "max_tokens": 500, "tools": _TOOLS, **more}


def _use(call: str = "toolu_1", **more: Any) -> Body:
    return {
        "type": "tool_use",
        "id": call,
        "name": "get_weather",
        "input": {"city": "Paris"},
        **more,
    }


def _result(call: str = "toolu_1") -> Body:
    return {"type": "tool_result", "tool_use_id": call, "content": "18 degrees"}


def _text(text: str, **more: Any) -> Body:
    return {"type": "text", "text": text, **more}


def _image(label: str, data: str) -> list[Body]:
    return [{"type": "image", "source": {"type": "base64", "media_type": label, "data": data}}]


def _marked(number: int) -> Body:
    marked = [_text(f"part {at}", cache_control={"type": "ephemeral"}) for at in range(number)]
    return _claude([*marked, _text("end")])


def _search(call: str = "srvtoolu_1", **more: Any) -> Body:
    query = {"query": "weather in Paris"}
    return {"type": "server_tool_use", "id": call, "name": "web_search", "input": query, **more}


def _found(call: str = "srvtoolu_1", **more: Any) -> Body:
    error = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    return {"type": "web_search_tool_result", "tool_use_id": call, "content": error, **more}


_SEARCHED = _claude("q", [_search(), _found(), _text("a")], "next")
_CODE = {"type": "code_execution_20250825", "name": "code_execution"}
_RUNS: Body = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution"}
_CALLED_BY_CODE = _use(caller={"type": "code_execution_20250825", "tool_id": "srvtoolu_1"})
_WAITING = _claude(
    "q", [{**_RUNS, "input": {"code": "1"}}, _CALLED_BY_CODE], [_result()], tools=[*_TOOLS, _CODE]
)
_WHOLE = _claude("q", [_use()], [_result()])
_BARE = {key: value for key, value in _WHOLE.items() if key != "tools"}
_LATE_SYSTEM = {"role": "system", "content": "Be brief."}

PAIRS: dict[str, Pair] = {
    "unanswered-tool-call": (_claude("q", [_use()], "next"), _WHOLE),
    "orphan-tool-result": (_claude([_result()]), _WHOLE),
    "late-tool-result": (
        _claude("q", [_use()], "wait", "yes", [_result()]),
        _claude("q", [_use()], [_result()], "yes", "wait"),
    ),
    "result-after-text": (
        _claude("q", [_use()], [_text("x"), _result()]),
        _claude("q", [_use()], [_result(), _text("x")]),
    ),
    "duplicate-call-id": (
        _claude("q", [_use(), _use()], [_result()]),
        _claude("q", [_use(), _use("toolu_2")], [_result(), _result("toolu_2")]),
    ),
    "duplicate-tool-result": (_claude("q", [_use()], [_result(), _result()]), _WHOLE),
    "invalid-call-id": (_claude("q", [_use("call:1")], [_result("call:1")]), _WHOLE),
    "arguments-no-object": (_claude("q", [_use(input="{}")], [_result()]), _WHOLE),
    "undeclared-tools": (_BARE, _WHOLE),
    "empty-content": (_claude("q", "", "next"), _claude("q", "yes", "next")),
    "empty-text": (_claude([_text(""), _text("q")]), _claude([_text("q")])),
    "blank-text": (_claude(" \n"), _claude("q")),
    "trailing-assistant": (_claude("q", "The answer is"), _claude("q", "The answer is", "Go on.")),
    "trailing-whitespace": (
        _claude("q", "The answer is ", **_PREFILLS),
        _claude("q", "The answer is", **_PREFILLS),
    ),
    "system-among-messages": (
        {**_claude(), "messages": [{"role": "user", "content": "q"}, _LATE_SYSTEM]},
        _claude("q", system="Be brief."),
    ),
    "thinking-not-first": (
        _claude("q", [_use()], [_result()], **_THINKING),
        _claude("q", [_use()], [_result()]),
    ),
    "forged-thinking": (
        _claude(
            "q",
            [{"type": "thinking", "thinking": "Hm.", "signature": "made up"}, _text("a")],
            "next",
        ),
        _claude("q", [_text("a")], "next"),
    ),
    "unsigned-thinking": (
        _claude("q", [{"type": "thinking", "thinking": "Hm."}, _text("a")], "next"),
        _claude("q", [_text("a")], "next"),
    ),
    "hosted-call-without-result": (_claude("q", [_search(), _text("a")], "next"), _SEARCHED),
    "hosted-result-without-call": (_claude("q", [_found(), _text("a")], "next"), _SEARCHED),
    "hosted-result-before-call": (
        _claude("q", [_found(), _search(), _text("a")], "next"),
        _SEARCHED,
    ),
    "hosted-result-of-the-user": (
        _claude("q", [_search()], [_found(), _text("next")]),
        _claude("q", [_search(), _found()], "next"),
    ),
    "hosted-call-interrupted": (
        _claude("q", [_search()], "wait", [_found(), _text("a")], "next"),
        _claude("q", [_text("a")], "wait", [_text("b")], "next"),
    ),
    "hosted-call-id": (
        _claude("q", [_search("call_1"), _found("call_1"), _text("a")], "next"),
        _SEARCHED,
    ),
    "hosted-call-input": (
        _claude("q", [_search(input="{}"), _found(), _text("a")], "next"),
        _SEARCHED,
    ),
    "container-missing": (_WAITING, {**_WAITING, "container": "container_1"}),
    "container-shape": (
        {**_WAITING, "container": {"id": "container_1"}},
        {**_WAITING, "container": "container_1"},
    ),
    "too-many-cache-markers": (_marked(5), _marked(4)),
    "mislabelled-image": (_claude(_image("image/jpeg", PNG)), _claude(_image("image/png", PNG))),
    "unreadable-image": (_claude(_image("image/png", TORN)), _claude(_image("image/png", PNG))),
    "refused-image-type": (_claude(_image("image/bmp", PNG)), _claude(_image("image/png", PNG))),
}
