"""ARNs of Bedrock that hide the model: the request may show it; otherwise signed thinking stays."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import chatmend
from chatmend.targets import resolve
from chatmend.targets.resolve import name_for
from chatmend.transport.request_repair import RequestRepair

SIGNATURE = "ErUBCkYIBhgCIkAx" + "A" * 200
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcdefghijkl"
PROVISIONED = "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:provisioned-model/abcdefghijkl"
ROUTER = "arn:aws:bedrock:us-east-1:123456789012:prompt-router/abcdefghijkl"
HIDDEN = [f"bedrock/{arn}" for arn in (PROFILE, PROVISIONED, ROUTER)]
ENABLED = {"type": "enabled", "budget_tokens": 1024}
REASONING = {"reasoningText": {"text": "t", "signature": SIGNATURE}}


def converse(**fields: Any) -> dict[str, Any]:
    """Return a tool loop of Claude for the Converse API."""
    use = {"toolUse": {"toolUseId": "tooluse_1", "name": "f", "input": {}}}
    result = {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "r"}]}}
    tool = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    return {
        "messages": [
            {"role": "user", "content": [{"text": "a"}]},
            {"role": "assistant", "content": [{"reasoningContent": REASONING}, use]},
            {"role": "user", "content": [result]},
        ],
        "toolConfig": {"tools": [tool]},
        **({"additionalModelRequestFields": fields} if fields else {}),
    }


def native(**keys: Any) -> dict[str, Any]:
    """Return the same for InvokeModel."""
    thinking = {"type": "thinking", "thinking": "t", "signature": SIGNATURE}
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}
    return {
        "max_tokens": 2000,
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [thinking, use]},
            {"role": "user", "content": [result]},
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        **keys,
    }


@pytest.mark.parametrize("target", [*HIDDEN, PROFILE, f"litellm_proxy/bedrock/{PROFILE}"])
@pytest.mark.parametrize(
    "body",
    [
        converse(),
        converse(thinking=ENABLED),
        converse(reasoning_config=ENABLED),
        native(anthropic_version="bedrock-2023-05-31"),
        native(thinking=ENABLED),
    ],
)
def test_signed_thinking_of_a_hidden_model_stays(target: str, body: dict[str, Any]) -> None:
    assert chatmend.repair_request(body, target).body is body


def test_thinking_without_a_signature_stays_in_the_converse_api() -> None:
    body = converse()
    body["messages"][1]["content"][0] = {"reasoningContent": {"reasoningText": {"text": "t"}}}
    assert chatmend.repair_request(body, HIDDEN[0]).body is body


def test_signed_thinking_of_a_chat_stays() -> None:
    block = {"type": "thinking", "thinking": "t", "signature": SIGNATURE}
    call = {"id": "tooluse_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "thinking_blocks": [block], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "tooluse_1", "content": "r"},
    ]
    assert chatmend.repair(messages, HIDDEN[0]).messages is messages


@pytest.mark.parametrize(
    ("body", "model"),
    [
        (converse(thinking=ENABLED), "anthropic.claude"),
        (converse(reasoning_config=ENABLED), "anthropic.claude"),
        (converse(anthropic_beta=["b"]), "anthropic.claude"),
        (converse(reasoningConfig={"type": "enabled"}), "amazon.nova-2"),
        (native(anthropic_version="bedrock-2023-05-31"), "anthropic.claude"),
        (native(thinking={"type": "adaptive"}), "anthropic.claude"),
    ],
)
@pytest.mark.parametrize("target", HIDDEN)
def test_a_request_shows_the_model(
    target: str, body: dict[str, Any], model: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "chatmend"):
        name = name_for(target, body)
    assert name == f"{target}/{model}"
    assert caplog.messages == []
    assert resolve(name).maker == ("anthropic" if "claude" in model else "")
    assert name_for(name, body) == name


@pytest.mark.parametrize(
    "name",
    [
        "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5",
        "bedrock/arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5",
        "bedrock/us.amazon.nova-pro-v1:0",
        f"bedrock/nova/{PROFILE}",
        "arn:unknown",
    ],
)
def test_other_names_stay(name: str) -> None:
    assert name_for(name, converse(thinking=ENABLED)) == name


def test_unsigned_thinking_is_removed_if_the_request_shows_claude() -> None:
    body = native(anthropic_version="bedrock-2023-05-31")
    body["messages"][1]["content"][0]["signature"] = ""
    done = chatmend.repair_request(body, HIDDEN[0])
    assert [change.code for change in done.changes] == ["THINK001"]


def test_a_model_that_nothing_shows_is_named_in_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    target = f"bedrock/{PROFILE}-once"
    with caplog.at_level(logging.WARNING, "chatmend"):
        for _ in range(3):
            chatmend.repair_request(converse(), target)
            chatmend.repair(converse()["messages"], target)
    (message,) = caplog.messages
    assert target in message
    assert "base_model" in message
    assert "target=" in message


@pytest.mark.parametrize("path", ["converse", "converse-stream", "invoke"])
def test_requests_over_http_show_the_model(path: str) -> None:
    body = native(anthropic_version="bedrock-2023-05-31") if path == "invoke" else converse()
    host = "https://bedrock-runtime.us-east-1.amazonaws.com"
    url = f"/model/{PROFILE.replace(':', '%3A').replace('/', '%2F')}/{path}"
    call = RequestRepair().repair(f"{host}{url}", url, {}, json.dumps(body).encode())
    assert call.report.changes == ()
    assert call.report.target.startswith(f"bedrock/{PROFILE}")
