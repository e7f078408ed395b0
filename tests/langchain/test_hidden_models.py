"""The classes for Bedrock tell the maker of a model that an ARN hides."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

pytest.importorskip("langchain_aws")

import langchain_aws
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from chatmend.langchain.partners import find_destination

ARN = "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abcdefghijkl"
SONNET = "anthropic.claude-sonnet-4-5-20250929-v1:0"
SIGNATURE = "ErUBCkYIBhgCIkAx" + "A" * 200
ENABLED = {"type": "enabled", "budget_tokens": 1024}


def client() -> Any:
    """Return a client that answers every request."""
    made = MagicMock()
    made.meta.region_name = "us-east-1"
    made.converse.return_value = {
        "output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "ResponseMetadata": {"HTTPHeaders": {}},
        "metrics": {"latencyMs": [1]},
    }
    return made


def model_of(name: str, **options: Any) -> Any:
    """Return a model of a class for Bedrock."""
    made = client()
    own = {"client": made, "bedrock_client": made} if name != "ChatAnthropicBedrock" else {}
    return getattr(langchain_aws, name)(region_name="us-east-1", **own, **options)


@pytest.mark.parametrize(
    ("name", "options", "target", "maker"),
    [
        ("ChatBedrockConverse", {"model": SONNET}, f"bedrock/{SONNET}", "anthropic"),
        (
            "ChatBedrockConverse",
            {"model": ARN, "provider": "anthropic"},
            f"bedrock/{ARN}/anthropic.claude",
            "anthropic",
        ),
        (
            "ChatBedrockConverse",
            {"model": ARN, "provider": "anthropic", "base_model": SONNET},
            f"bedrock/{ARN}/{SONNET}",
            "anthropic",
        ),
        (
            "ChatBedrockConverse",
            {"model": ARN, "provider": "amazon"},
            f"bedrock/{ARN}/amazon.nova",
            "",
        ),
        ("ChatBedrockConverse", {"model": ARN, "provider": "meta"}, f"bedrock/{ARN}/meta.", ""),
        (
            "ChatBedrock",
            {"model": ARN, "provider": "anthropic"},
            f"bedrock/invoke/{ARN}/anthropic.claude",
            "anthropic",
        ),
        (
            "ChatAnthropicBedrock",
            {"model": ARN, "aws_access_key_id": "a", "aws_secret_access_key": "b"},
            f"bedrock/invoke/{ARN}/anthropic.claude",
            "anthropic",
        ),
    ],
)
def test_the_class_tells_the_model_behind_an_arn(
    name: str, options: dict[str, Any], target: str, maker: str
) -> None:
    if not hasattr(langchain_aws, name):
        pytest.skip(f"this version of langchain-aws has no {name}")
    found = find_destination(model_of(name, **options), {}).target
    assert (found.name, found.maker) == (target, maker)


@pytest.mark.parametrize("fields", [{}, {"thinking": ENABLED}])
def test_signed_thinking_behind_an_arn_is_sent(fields: dict[str, Any]) -> None:
    model = model_of(
        "ChatBedrockConverse",
        model=ARN,
        provider="anthropic",
        additional_model_request_fields=fields or None,
    )
    use = {"type": "tool_use", "id": "tooluse_1", "name": "f", "input": {}}
    reasoning = {"text": "t", "signature": SIGNATURE}
    answer = AIMessage(
        [{"type": "reasoning_content", "reasoning_content": reasoning}, use],
        tool_calls=[{"name": "f", "args": {}, "id": "tooluse_1"}],
    )
    tools = [{"name": "f", "description": "d", "input_schema": {"type": "object"}}]
    mend(model).bind_tools(tools).invoke(
        [HumanMessage("a"), answer, ToolMessage("r", tool_call_id="tooluse_1")]
    )
    sent = model.client.converse.call_args.kwargs["messages"][1]["content"]
    assert sent[0] == {"reasoningContent": {"reasoningText": reasoning}}
