"""Answers questions of every kind, so that the memory of the page holds modules and tables."""

import json
from typing import Any

import browser_bridge

_CALL = {"type": "function", "id": "call_1", "function": {"name": "f", "arguments": "{}"}}
_USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
_CHAT = [{"role": "user", "content": ""}, {"role": "assistant", "tool_calls": [_CALL]}]
_BODIES: list[dict[str, Any]] = [
    {"model": "gpt-4o", "messages": _CHAT},
    {"model": "mistral/mistral-large-latest", "messages": _CHAT},
    {
        "model": "claude-sonnet-4-6",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [_USE]}],
    },
    {"contents": [{"role": "user", "parts": [{"text": ""}]}]},
    {"model": "gpt-4o", "input": [{"role": "user", "content": "a"}]},
]


def _ask(**question: object) -> str:
    return browser_bridge.ask(json.dumps(question))


def warm_up() -> str:
    """Return the answer to the question for the targets, after others."""
    for body in _BODIES:
        text = json.dumps(body)
        _ask(ask="inspect", text=text, error="messages.0: is invalid")
        for what in ("body", "python", "command", "report"):
            _ask(ask="copy", what=what, text=text)
    bodies = list(map(json.dumps, _BODIES))
    _ask(ask="scan", texts=bodies)
    _ask(ask="inspect", text="\n".join(bodies))
    _ask(ask="inspect", text=json.dumps(_CHAT))
    return json.dumps(json.loads(_ask(ask="targets"))["answer"])
