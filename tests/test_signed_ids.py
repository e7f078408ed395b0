"""LiteLLM keeps Gemini's thought signature at the end of the id of a call."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import chatmend
from chatmend.signatures import SKIP_SIGNATURE

GEMINI_3 = "gemini/gemini-3-pro-preview"
SIGNATURE = base64.b64encode(b"\x0a\x97\x01\x01\xcb\xbd\xf0" * 7).decode()
SIGNED = f"call_1__thought__{SIGNATURE}"
ASK = {"role": "user", "content": "go"}


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    used = {"name": "f", "arguments": "{}"}
    return {"id": call_id, "type": "function", "function": used, **fields}


def turn(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    results = [{"role": "tool", "tool_call_id": one["id"], "content": "18"} for one in calls]
    return [{"role": "assistant", "content": None, "tool_calls": list(calls)}, *results]


def repaired(messages: list[Any], target: str = GEMINI_3) -> list[Any]:
    done = chatmend.repair(messages, target)
    assert chatmend.repair(done.messages, target).messages is done.messages
    assert chatmend.replay(messages, done.changes) == done.messages
    return done.messages


@pytest.mark.parametrize(
    "target", [GEMINI_3, "vertex_ai/gemini-3.1-pro", "gemini/gemini-2.5-flash"]
)
def test_a_call_whose_id_holds_its_signature_is_unchanged(target: str) -> None:
    messages = [ASK, *turn(call(SIGNED), call("call_2"))]
    assert repaired(messages, target) is messages


@pytest.mark.parametrize(
    "mangled",
    [SIGNED[:24], SIGNED.replace("=", "_"), SIGNED[:-3], "call_1__thought__", SIGNED + "_1"],
)
def test_a_mangled_signature_in_an_id_is_replaced(mangled: str) -> None:
    (_, answer, _) = repaired([ASK, *turn(call(mangled))])
    (sent,) = answer["tool_calls"]
    assert sent["provider_specific_fields"] == {"thought_signature": SKIP_SIGNATURE}


def test_a_signature_in_the_function_of_a_call_is_read() -> None:
    fields = {"provider_specific_fields": {"thought_signature": SIGNATURE}}
    used = {"name": "f", "arguments": "{}", **fields}
    messages = [ASK, *turn(call("call_1", function=used))]
    assert repaired(messages) is messages


@pytest.mark.parametrize("target", [GEMINI_3, "gemini/gemini-2.5-flash"])
def test_a_malformed_signature_in_the_function_of_a_call_is_not_sent(target: str) -> None:
    fields = {"provider_specific_fields": {"thought_signature": "rs_1", "other": 1}}
    used = {"name": "f", "arguments": "{}", **fields}
    (_, answer, _) = repaired([ASK, *turn(call("call_1", function=used))], target)
    (sent,) = answer["tool_calls"]
    assert sent["function"]["provider_specific_fields"] == {"other": 1}


def test_a_repeated_id_gets_a_new_one_with_the_same_signature() -> None:
    messages = [ASK, *turn(call(SIGNED)), *turn(call(SIGNED))]
    (*earlier, answer, result) = repaired(messages)
    (sent,) = answer["tool_calls"]
    assert earlier == messages[:3]
    assert sent["id"].endswith(f"__thought__{SIGNATURE}")
    assert sent["id"] == result["tool_call_id"] != SIGNED
    assert "provider_specific_fields" not in sent


def test_a_refused_signature_in_an_id_is_replaced() -> None:
    body = {"model": "gemini-3-pro-preview", "messages": [ASK, *turn(call(SIGNED))]}
    done = chatmend.react(body, GEMINI_3, "Corrupted thought signature.")
    assert done is not None
    (sent,) = done.body["messages"][1]["tool_calls"]
    assert sent["provider_specific_fields"] == {"thought_signature": SKIP_SIGNATURE}


def test_litellm_sends_the_signature_in_the_id() -> None:
    litellm = pytest.importorskip("litellm.litellm_core_utils.prompt_templates.factory")
    messages = repaired([ASK, *turn(call(SIGNED))])
    (sent,) = messages[1]["tool_calls"]
    assert litellm.encode_tool_call_id_with_signature("call_1", SIGNATURE) == SIGNED
    assert litellm.get_thought_signature_from_tool(sent) == SIGNATURE
