"""Pairs for Amazon Bedrock's Converse API."""

from __future__ import annotations

import base64
from typing import Any

from tests.sandbox.proof_pairs.pictures import PNG, TORN, Body, Pair

_NOVA = {"modelId": "us.amazon.nova-pro-v1:0"}
_LLAMA = {"modelId": "us.meta.llama3-3-70b-instruct-v1:0"}
_NEWEST = {"modelId": "us.anthropic.claude-sonnet-4-6"}
_SCHEMA: Body = {"type": "object", "properties": {"city": {"type": "string"}}}


def _converse(*turns: Any, tools: bool = True, **more: Any) -> Body:
    roles = ("user", "assistant")
    messages = [
        {"role": roles[at % 2], "content": blocks if isinstance(blocks, list) else [blocks]}
        for at, blocks in enumerate(turns)
    ]
    spec = {"toolSpec": {"name": "get_weather", "inputSchema": {"json": _SCHEMA}}}
    return {"messages": messages, **more} | ({"toolConfig": {"tools": [spec]}} if tools else {})


def _use(call: str = "t1", given: Any = None) -> Body:
    return {
        "toolUse": {
            "toolUseId": call,
            "name": "get_weather",
            "input": {"city": "Paris"} if given is None else given,
        }
    }


def _result(call: str = "t1") -> Body:
    return {"toolResult": {"toolUseId": call, "content": [{"text": "18 degrees"}]}}


def _answered(*content: Body, **more: Any) -> Body:
    """A conversation whose result has a content."""
    result = {"toolUseId": "t1", "content": list(content), **more}
    return _converse(_HI, _use(), {"toolResult": result})


def _image(form: str, data: str) -> Body:
    return {"image": {"format": form, "source": {"bytes": base64.b64decode(data)}}}


def _document(name: str) -> Body:
    return {"document": {"format": "txt", "name": name, "source": {"bytes": b"hello"}}}


_HI, _TEXT = {"text": "What is the weather?"}, {"text": "Thank you."}
_WHOLE = _converse(_HI, _use(), _result())
_UNSIGNED = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}

PAIRS: dict[str, Pair] = {
    "orphan-tool-result": (_converse(_result()), _WHOLE),
    "unanswered-tool-call": (_converse(_HI, _use(), _TEXT), _WHOLE),
    "undeclared-tools": (_converse(_HI, _use(), _result(), tools=False), _WHOLE),
    "duplicate-call-id": (
        _converse(_HI, [_use(), _use()], _result()),
        _converse(_HI, [_use(), _use("t2")], [_result(), _result("t2")]),
    ),
    "duplicate-tool-result": (_converse(_HI, _use(), [_result(), _result()]), _WHOLE),
    "empty-tool-result": (_answered(status="error"), _answered({"text": "none"}, status="error")),
    "json-result-no-object": (_answered({"json": ["a"]}), _answered({"json": {"a": 1}})),
    "text-behind-call": (
        _converse(_HI, [_use(), {"text": "I look."}], _result()),
        _converse(_HI, [{"text": "I look."}, _use()], _result()),
    ),
    "cache-point-unsupported": (
        _converse([_HI, {"cachePoint": {"type": "default"}}], **_LLAMA),
        _converse(_HI, **_LLAMA),
    ),
    "result-beside-text": (
        _converse(_HI, _use(), [_result(), _TEXT], **_LLAMA),
        _converse(_HI, _use(), _result(), _TEXT, _TEXT, **_LLAMA),
    ),
    "document-name": (
        _converse([_HI, _document("notes.txt")]),
        _converse([_HI, _document("notes-txt")]),
    ),
    "document-without-text": (_converse(_document("a")), _converse([_HI, _document("a")])),
    "invalid-call-id": (_converse(_HI, _use("call 1"), _result("call 1")), _WHOLE),
    "long-call-id": (_converse(_HI, _use("c" * 65), _result("c" * 65)), _WHOLE),
    "arguments-no-object": (_converse(_HI, _use(given="{}"), _result()), _WHOLE),
    "empty-content": (_converse(_HI, [], _TEXT), _converse(_HI, {"text": "Yes?"}, _TEXT)),
    "blank-text": (_converse({"text": " "}), _converse(_HI)),
    "leading-assistant": (
        {
            **_NOVA,
            "messages": [
                {"role": "assistant", "content": [_TEXT]},
                {"role": "user", "content": [_HI]},
            ],
        },
        _converse(_HI, tools=False, **_NOVA),
    ),
    "trailing-assistant": (
        _converse(_HI, _TEXT, tools=False, **_NEWEST),
        _converse(_HI, _TEXT, _HI, tools=False, **_NEWEST),
    ),
    "unsigned-thinking": (_converse(_HI, [_UNSIGNED, _TEXT], _HI), _converse(_HI, _TEXT, _HI)),
    "mislabelled-image": (
        _converse([_HI, _image("jpeg", PNG)]),
        _converse([_HI, _image("png", PNG)]),
    ),
    "unreadable-image": (
        _converse([_HI, _image("png", TORN)]),
        _converse([_HI, _image("png", PNG)]),
    ),
}
