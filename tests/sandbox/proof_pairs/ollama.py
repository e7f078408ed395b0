"""Proof pairs of Ollama's native route, ``/api/chat``."""

from typing import Any

from tests.sandbox.proof_pairs.pictures import PNG, Body, Pair

_QUESTION = {"role": "user", "content": "What is the weather?"}
_CALL = {"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
_RESULT = {"role": "tool", "tool_name": "get_weather", "content": "18 degrees"}


def _body(*messages: Body) -> Body:
    return {"messages": list(messages), "stream": False, "options": {"num_predict": 1}}


def _exchange(call: Body, **result: Any) -> Body:
    calling = {"role": "assistant", "content": "", "tool_calls": [call]}
    return _body(_QUESTION, calling, {**_RESULT, **result})


def _seen(*images: Any) -> Body:
    return _body({"role": "user", "content": "What is this?", "images": list(images)})


_AS_TEXT = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
_PARTS = [{"type": "text", "text": "What is the weather?"}]

PAIRS: dict[str, Pair] = {
    "arguments-as-text": (_exchange({"function": _AS_TEXT}), _exchange(_CALL)),
    "content-list": (_body({"role": "user", "content": _PARTS}), _body(_QUESTION)),
    "call-id-number": (_exchange({"id": 1, **_CALL}), _exchange({"id": "1", **_CALL})),
    "image-data-url": (_seen(f"data:image/png;base64,{PNG}"), _seen(PNG)),
    "image-link": (_seen("https://example.com/a.png"), _seen()),
    "images-no-list": (
        _body({"role": "user", "content": "What is this?", "images": PNG}),
        _seen(PNG),
    ),
    "thinking-no-text": (
        _body(_QUESTION, {"role": "assistant", "content": "18.", "thinking": ["Hm."]}, _QUESTION),
        _body(_QUESTION, {"role": "assistant", "content": "18.", "thinking": "Hm."}, _QUESTION),
    ),
}
