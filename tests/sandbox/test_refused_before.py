"""Reported requests that the sandbox refuses, and accepts once they are repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

import chatmend
from tests.sandbox.posting import post

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

GEMINI_3 = "gemini/v1beta/models/gemini-3-flash-preview:generateContent"
SKIPS = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def _exchange(calls: list[Any], responses: list[Any]) -> dict[str, Any]:
    called: list[Any] = [{"functionCall": {"args": {}, **call}} for call in calls]
    called[0]["thoughtSignature"] = SKIPS
    answered = [{"functionResponse": {"response": {"r": 1}, **one}} for one in responses]
    return {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": called},
            {"role": "user", "parts": answered},
        ]
    }


X = {"id": "x", "name": "f"}
USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "a"}
REASONED = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
    {"type": "text", "text": "a"},
]


def _chat(model: str, *messages: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages)}


REPORTED: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "archestra-ai/archestra#7583": (
        GEMINI_3,
        "gemini/gemini-3-flash-preview",
        "gemini-function-response-name-differs",
        _exchange([X], [{**X, "name": "tool_result"}]),
    ),
    "AstrBotDevs/AstrBot#9876": (
        GEMINI_3,
        "gemini/gemini-3-flash-preview",
        "gemini-function-response-name-differs",
        _exchange([{"name": "f"}], [{"name": "call_1073557"}]),
    ),
    "watt-mind/coach#280": (
        GEMINI_3,
        "gemini/gemini-3-flash-preview",
        "gemini-function-call-ids-equal",
        _exchange([X, X], [X, X]),
    ),
    "Toloka/tolokaforge#1284": (
        "openrouter/api/v1/chat/completions",
        "openrouter/moonshotai/kimi-k3",
        "openrouter-kimi-empty",
        _chat("moonshotai/kimi-k3", USER, {"role": "assistant", "content": ""}, USER),
    ),
    "apache/maka#1171": (
        "moonshot/v1/chat/completions",
        "moonshot/kimi-k3",
        "moonshot-message-empty",
        _chat("kimi-k3", {"role": "system", "content": ""}, USER),
    ),
    "vercel/ai#8056": (
        "groq/openai/v1/chat/completions",
        "groq/moonshotai/kimi-k2-instruct",
        "groq-reasoning-unsupported",
        _chat("moonshotai/kimi-k2-instruct", USER, {**SAID, "reasoning": "hm"}, USER),
    ),
    "mistralai/mistral-vibe#758": (
        "mistral/v1/chat/completions",
        "mistral/devstral-small-latest",
        "mistral-reasoning-not-enabled",
        _chat("devstral-small-latest", USER, {"role": "assistant", "content": REASONED}, USER),
    ),
}


@pytest.mark.parametrize("thread", REPORTED)
def test_a_reported_request_is_refused_and_its_repair_accepted(
    sandbox: Sandbox, thread: str
) -> None:
    path, target, rule, body = REPORTED[thread]
    assert post(sandbox.url(path), json=body).status_code == httpx.codes.BAD_REQUEST
    assert sandbox.refusals[-1].rule == rule
    done = chatmend.repair_request(body, target)
    assert post(sandbox.url(path), json=done.body).status_code == httpx.codes.OK


def test_gemini_2_accepts_other_names_and_equal_ids(sandbox: Sandbox) -> None:
    path = "gemini/v1beta/models/gemini-2.0-flash:generateContent"
    for body in (_exchange([X, X], [X, X]), _exchange([X], [{**X, "name": "x"}])):
        assert post(sandbox.url(path), json=body).status_code == httpx.codes.OK
