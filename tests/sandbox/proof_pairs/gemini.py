"""Pairs for Google's ``generateContent``."""

from __future__ import annotations

import base64
from typing import Any

from tests.sandbox.proof_pairs.pictures import PNG, TORN, Body, Pair

_ROLES = ("user", "model")
_NEWEST = "gemini-3-pro-preview"


def _gemini(*turns: Any, name: str = "get_weather") -> Body:
    contents = [
        {"role": _ROLES[at % 2], "parts": parts if isinstance(parts, list) else [parts]}
        for at, parts in enumerate(turns)
    ]
    declared = {
        "name": name,
        "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
    }
    return {"contents": contents, "config": {"tools": [{"function_declarations": [declared]}]}}


def _bytes(mime: str, data: str) -> Body:
    return {"inline_data": {"mime_type": mime, "data": base64.b64decode(data)}}


_HI: Body = {"text": "What is the weather?"}
_CALL: Body = {"function_call": {"name": "get_weather", "args": {"city": "Paris"}}}
_SIGNED: Body = {**_CALL, "thought_signature": b"skip_thought_signature_validator"}
_FORGED: Body = {**_CALL, "thought_signature": b"made up"}
_RESULT: Body = {"function_response": {"name": "get_weather", "response": {"result": "18 degrees"}}}
_NAMELESS: Body = {"function_response": {"name": "", "response": {"result": "18 degrees"}}}
_WHOLE = _gemini(_HI, _CALL, _RESULT)
_WHOLE_3 = {**_gemini(_HI, _SIGNED, _RESULT), "model": _NEWEST}


def _contents(asked: Body, called: list[Body], *said: Any) -> Body:
    """A conversation with Gemini 3 in which the user's contents follow each other."""
    made = _gemini(asked, called)
    users = [{"role": "user", "parts": x if isinstance(x, list) else [x]} for x in said]
    return {**made, "contents": [*made["contents"], *users], "model": _NEWEST}


PAIRS: dict[str, Pair] = {
    "orphan-tool-result": (_gemini(_RESULT), _WHOLE),
    "leading-tool-call": (
        {
            **_gemini(),
            "contents": [{"role": "model", "parts": [_CALL]}, {"role": "user", "parts": [_RESULT]}],
        },
        _WHOLE,
    ),
    "missing-tool-result": (
        _gemini(_HI, [_CALL, _CALL], _RESULT),
        _gemini(_HI, [_CALL, _CALL], [_RESULT, _RESULT]),
    ),
    "late-tool-result": (
        _gemini(_HI, _CALL, _HI, {"text": "Wait."}, _RESULT),
        _gemini(_HI, _CALL, _RESULT, {"text": "Wait."}, _HI),
    ),
    "split-tool-results": (
        _contents(_HI, [_SIGNED, _CALL], [_RESULT], [_RESULT]),
        _contents(_HI, [_SIGNED, _CALL], [_RESULT, _RESULT]),
    ),
    "text-beside-tool-result": (
        _contents(_HI, [_SIGNED], [_RESULT, _HI]),
        _contents(_HI, [_SIGNED], [_RESULT], _HI),
    ),
    "trailing-model-turn": (
        {**_gemini(_HI, {"text": "I think"}), "model": "gemini-2.5-pro"},
        {**_gemini(_HI, {"text": "I think"}, _HI), "model": "gemini-2.5-pro"},
    ),
    "nameless-tool-result": (_gemini(_HI, _CALL, _NAMELESS), _WHOLE),
    "missing-thought-signature": ({**_WHOLE, "model": _NEWEST}, _WHOLE_3),
    "forged-thought-signature": ({**_gemini(_HI, _FORGED, _RESULT), "model": _NEWEST}, _WHOLE_3),
    "unknown-role": (
        {**_gemini(), "contents": [{"role": "assistant", "parts": [_HI]}]},
        {
            **_gemini(),
            "contents": [
                {"role": "model", "parts": [{"text": "Hello."}]},
                {"role": "user", "parts": [_HI]},
            ],
        },
    ),
    "empty-turn": (_gemini(_HI, [], _HI), _gemini(_HI, {"text": "Yes?"}, _HI)),
    "bad-tool-name": (_gemini(_HI, name="get weather"), _gemini(_HI)),
    "unreadable-image": (
        _gemini([_HI, _bytes("image/png", TORN)]),
        _gemini([_HI, _bytes("image/png", PNG)]),
    ),
    "refused-image-type": (
        _gemini([_HI, _bytes("image/bmp", PNG)]),
        _gemini([_HI, _bytes("image/png", PNG)]),
    ),
}
