"""Pairs for OpenAI's Responses API."""

from __future__ import annotations

from typing import Any

from tests.sandbox.proof_pairs.pictures import PNG, Body, Pair

_TOOLS: list[Body] = [
    {
        "type": "function",
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
]


def _ask(*items: Body) -> Body:
    return {"input": list(items), "tools": _TOOLS}


def _message(role: str, *parts: Body) -> Body:
    return {"type": "message", "role": role, "content": list(parts)}


def _call(name: str = "fc_1", call: str = "call_1") -> Body:
    return {
        "type": "function_call",
        "id": name,
        "call_id": call,
        "name": "get_weather",
        "arguments": '{"city": "Paris"}',
    }


def _output(call: str = "call_1") -> Body:
    return {"type": "function_call_output", "call_id": call, "output": "18 degrees"}


def _image(url: Any) -> Body:
    return {"type": "input_image", "image_url": url}


_HI = _message("user", {"type": "input_text", "text": "What is the weather in Paris?"})
_WHOLE = _ask(_HI, _call(), _output())
_THOUGHT: Body = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "made up"}

_SEARCH: Body = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "weather in Paris"},
}
_DONE = _message("assistant", {"type": "output_text", "text": "18."})
_SEARCHED = _ask(_HI, _SEARCH, _DONE, _HI)
_BARE: Body = {"type": "reasoning", "id": "rs_1", "summary": []}

PAIRS: dict[str, Pair] = {
    "orphan-tool-result": (_ask(_HI, _output()), _WHOLE),
    "unanswered-tool-call": (_ask(_HI, _call(), _HI), _WHOLE),
    "invalid-item-id": (_ask(_HI, _call("call_1"), _output()), _WHOLE),
    "long-call-id": (_ask(_HI, _call(call="c" * 65), _output("c" * 65)), _WHOLE),
    "unknown-item": (_ask(_HI, {"type": "tool_use", "id": "t"}), _WHOLE),
    "unknown-role": (_ask({**_HI, "role": "tool"}), _ask(_HI)),
    "heard-by-the-assistant": (
        _ask(_HI, _message("assistant", {"type": "input_text", "text": "18."}), _HI),
        _ask(_HI, _message("assistant", {"type": "output_text", "text": "18."}), _HI),
    ),
    "forged-reasoning": (_ask(_HI, _THOUGHT, _call(), _output()), _WHOLE),
    "hosted-item-without-key": (
        _ask(_HI, {key: _SEARCH[key] for key in ("type", "id", "status")}, _DONE, _HI),
        _SEARCHED,
    ),
    "hosted-item-with-other-key": (_ask(_HI, {**_SEARCH, "trace": "1"}, _DONE, _HI), _SEARCHED),
    "hosted-item-id": (_ask(_HI, {**_SEARCH, "id": "call_1"}, _DONE, _HI), _SEARCHED),
    "item-twice": (_ask(_HI, _SEARCH, _SEARCH, _DONE, _HI), _SEARCHED),
    "reference-without-storage": (
        {**_ask(_HI, {"type": "item_reference", "id": f"msg_{'0' * 48}"}, _HI), "store": False},
        {**_ask(_HI, _DONE, _HI), "store": False},
    ),
    "reasoning-without-storage": (
        {**_ask(_HI, _BARE, _DONE, _HI), "store": False},
        {**_ask(_HI, _DONE, _HI), "store": False},
    ),
    "no-input": (_ask(), _ask(_HI)),
    "part-of-another-api": (
        _ask(
            _message(
                "user", {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
            )
        ),
        _ask(_message("user", _image(f"data:image/png;base64,{PNG}"))),
    ),
}
