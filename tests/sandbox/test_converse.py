"""Broken Converse transcripts, repaired, are accepted by the sandbox."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest

import chatmend
from tests.broken import broken
from tests.sandbox.triggers import image
from tests.scale import examples
from tests.targets import BEDROCK_CONVERSE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

TOOLS = {"tools": [{"toolSpec": {"name": "search", "inputSchema": {"json": {"type": "object"}}}}]}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
TARGETS = [target for target in BEDROCK_CONVERSE if target.startswith("bedrock/")]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """One client for all requests: a new one reads the certificates each time."""
    with httpx.Client() as client:
        yield client


def send(client: httpx.Client, sandbox: Sandbox, target: str, body: Any) -> str:
    """What the sandbox says to a body: empty if it accepts it."""
    model = quote(target.removeprefix("bedrock/"), safe="")
    url = sandbox.url(f"bedrock/model/{model}/converse")
    text = json.dumps(body, default=lambda data: data.decode("latin-1"))
    answer = client.post(url, content=text)
    return "" if answer.status_code == httpx.codes.OK else answer.text


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_repaired_is_accepted(client: httpx.Client, sandbox: Sandbox, target: str) -> None:
    refused = 0
    for seed in range(examples(14, 400)):
        body = {"messages": broken(seed, "bedrock_converse"), "toolConfig": TOOLS}
        if "claude-sonnet-4-5" in target:  # without it, thinking in the last turn is refused
            body["additionalModelRequestFields"] = THINKING
        done = chatmend.repair_request(body, target, dialect="bedrock_converse").body
        assert not send(client, sandbox, target, done), seed
        try:
            refused += bool(send(client, sandbox, target, body))
        except (TypeError, ValueError, RecursionError):  # no JSON text can hold it
            refused += 1
    assert refused > 8


@pytest.mark.parametrize(
    "model", ["global.openai.gpt-6-astra", "xai.grok-4.6", "google.gemma-3-27b-it"]
)
def test_an_image_in_a_result_is_accepted_only_after_it_moved(
    client: httpx.Client, sandbox: Sandbox, model: str
) -> None:
    block = {"image": {"format": "png", "source": {"bytes": image()}}}
    use = {"toolUse": {"toolUseId": "c1", "name": "search", "input": {}}}
    messages = [
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [block]}}]},
    ]
    body = {"messages": messages, "toolConfig": TOOLS}
    assert "support the image field" in send(client, sandbox, f"bedrock/{model}", body)
    for target in (f"bedrock/{model}", "bedrock/us.anthropic.claude-opus-4-8"):
        done = chatmend.repair_request(body, target, dialect="bedrock_converse").body
        assert not send(client, sandbox, target, done)
