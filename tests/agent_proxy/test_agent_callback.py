"""The transport for pass-through requests repairs those that the callback repairs, with the same policy."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.transport.recording import recording

pytest.importorskip("litellm")

import litellm
from litellm.llms.custom_httpx.http_handler import get_async_httpx_client
from litellm.passthrough.timeout_utils import resolve_pass_through_request_timeout
from litellm.types.llms.custom_http import httpxSpecialProvider

from chatmend.litellm import aws_signing
from chatmend.litellm.agent_callback import AgentChatMend

ROUTE = "/openai/v1/chat/completions"
CONVERSE = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse"
OK = (200, {"content-type": "application/json"}, b"{}")
ORPHAN = {
    "model": "gpt-4o",
    "messages": [
        {"role": "user", "content": "go"},
        {"role": "tool", "tool_call_id": "gone", "content": "42 degrees"},
    ],
}


def arrived(monkeypatch: pytest.MonkeyPatch, alias: str, **options: Any) -> dict[str, Any]:
    """Send a request like LiteLLM: after the hook, with LiteLLM's own client; return what arrives."""
    key = SimpleNamespace(
        request_route=ROUTE, api_key="k", key_alias=alias, team_id=None, team_alias=None,
        metadata={}, team_metadata=None,
    )  # fmt: skip

    async def send(url: str) -> None:
        callback = AgentChatMend(react=1, on_error="raise", **options)
        await callback.async_pre_call_hook(key, None, dict(ORPHAN), "pass_through_endpoint")
        client = get_async_httpx_client(
            llm_provider=httpxSpecialProvider.PassThroughEndpoint,
            params={"timeout": resolve_pass_through_request_timeout(None)},
        ).client
        await client.post(f"{url}/v1/chat/completions", json=ORPHAN)
        await client.aclose()
        litellm.in_memory_llm_clients_cache.flush_cache()  # the client belongs to this event loop

    with recording(OK) as server:
        monkeypatch.setenv("CHATMEND_HOSTS", f"{server.url}=openai")
        asyncio.run(send(server.url))
    [(_, _, _, body)] = server.requests
    sent: dict[str, Any] = json.loads(body)
    return sent


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "off"},
        {"mode": "report"},
        {"deny": ("gpt-*", "openai/*")},
        {"overrides": [{"keys": ["ann"], "mode": "report"}]},
        {"sample": 0.0},
    ],
)
def test_what_the_callback_does_not_repair_is_sent_unchanged(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert arrived(monkeypatch, "ann", **options) == ORPHAN


def test_a_request_is_repaired_with_the_policy_of_its_override(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {"overrides": [{"keys": ["ann"], "policy": {"orphans": "drop"}}]}
    dropped = arrived(monkeypatch, "ann", **options)["messages"]
    noted = arrived(monkeypatch, "bob", **options)["messages"]
    assert dropped == ORPHAN["messages"][:1]
    assert "42 degrees" in noted[1]["content"]
    assert noted[1]["role"] == "user"


def test_a_signed_request_is_repaired_after_a_refusal_and_signed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    credentials = pytest.importorskip("botocore.credentials").Credentials("AKIAPROXY", "secret")
    monkeypatch.setattr(aws_signing, "_credentials", lambda: credentials)
    user = {"role": "user", "content": [{"text": "go"}]}
    last = {"role": "assistant", "content": [{"text": "So far"}]}
    body = {"messages": [user, last]}
    signature = (
        "AWS4-HMAC-SHA256 Credential=AKIAAGENT/20261124/us-east-1/bedrock/aws4_request, "
        "SignedHeaders=host, Signature=00"
    )
    key = SimpleNamespace(request_route=f"/to/bedrock{CONVERSE}", api_key=None)
    refused = b'{"message": "This model does not support assistant message prefill. The '
    refused += b'conversation must end with a user message."}'

    async def send(url: str) -> Any:
        callback = AgentChatMend(react=1, on_error="raise")
        await callback.async_pre_call_hook(key, None, dict(body), "pass_through_endpoint")
        client = get_async_httpx_client(
            llm_provider=httpxSpecialProvider.PassThroughEndpoint,
            params={"timeout": resolve_pass_through_request_timeout(None)},
        ).client
        answer = await client.post(
            f"{url}{CONVERSE}", json=body, headers={"authorization": signature}
        )
        await client.aclose()
        litellm.in_memory_llm_clients_cache.flush_cache()  # the client belongs to this event loop
        return answer

    with recording((400, {"content-type": "application/json"}, refused), OK) as server:
        monkeypatch.setenv("CHATMEND_HOSTS", f"{server.url}=bedrock")
        assert asyncio.run(send(server.url)).status_code == 200
    first, second = server.requests
    assert json.loads(first[3]) == body
    assert json.loads(second[3])["messages"][:2] == [user, last]
    assert json.loads(second[3])["messages"][-1]["role"] == "user"
    headers = [{k.lower(): v for k, v in request[2].items()} for request in (first, second)]
    signed = [one["authorization"] for one in headers]
    assert all("Credential=AKIAPROXY/" in one for one in signed)
    assert signed[0] != signed[1]
