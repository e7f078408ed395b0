"""A refused request is sent again, repaired by what the provider's error message says."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from chatmend.transport import async_client, client, repair_boto3
from chatmend.transport.calls import EXTENSION
from tests.transport.recording import recording
from tests.transport.sdks import CHAT, CLAUDE, CONVERSE, CONVERSE_TOOLS

NAMED = [{"role": "user", "name": "ann", "content": "hi"}]
REFUSAL = "Unknown parameter: 'messages[0].name'."


def has_name(body: dict[str, Any]) -> bool:
    return any("name" in message for message in body["messages"])


@pytest.fixture
def openai_url(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    found: str = sandbox.url("openai/v1")
    monkeypatch.setenv("CHATMEND_HOSTS", f"{found}=openai")
    sandbox.refuse(has_name, REFUSAL, model="gpt-4o*")
    return found


def test_a_refused_request_is_sent_again_and_the_next_one_at_once(
    openai_url: str, sandbox: Any
) -> None:
    openai = pytest.importorskip("openai")
    http = client(react=1)
    reacted: list[int] = []
    http.event_hooks = {"response": [lambda r: reacted.append(r.extensions[EXTENSION].reacted)]}
    sdk = openai.OpenAI(base_url=openai_url, api_key="k", max_retries=0, http_client=http)
    for stream in (False, True):
        answer = sdk.chat.completions.create(model="gpt-4o", messages=NAMED, stream=stream)
        assert not stream or list(answer)
    assert reacted == [1, 0]
    assert len(sandbox.refusals) == 1


def test_asynchronous_clients_react_too(openai_url: str, sandbox: Any) -> None:
    openai = pytest.importorskip("openai")

    async def send() -> Any:
        http = async_client(react=1)
        sdk = openai.AsyncOpenAI(base_url=openai_url, api_key="k", max_retries=0, http_client=http)
        return await sdk.chat.completions.create(model="gpt-4o", messages=NAMED)

    assert "hi" in asyncio.run(send()).choices[0].message.content
    assert len(sandbox.refusals) == 1


def test_conversations_of_different_keys_do_not_share_what_was_learnt(
    openai_url: str, sandbox: Any
) -> None:
    openai = pytest.importorskip("openai")
    http = client(react=1)
    for key in ("a", "b"):
        sdk = openai.OpenAI(base_url=openai_url, api_key=key, max_retries=0, http_client=http)
        assert sdk.chat.completions.create(model="gpt-4o", messages=NAMED)
    assert len(sandbox.refusals) == 2


def test_without_react_the_refusal_arrives(openai_url: str) -> None:
    openai = pytest.importorskip("openai")
    sdk = openai.OpenAI(base_url=openai_url, api_key="k", max_retries=0, http_client=client())
    with pytest.raises(openai.BadRequestError, match="Unknown parameter"):
        sdk.chat.completions.create(model="gpt-4o", messages=NAMED)


def test_the_retries_of_an_sdk_send_the_same_repaired_bytes() -> None:
    openai = pytest.importorskip("openai")
    answer = {"id": "1", "choices": [], "created": 1, "model": "m", "object": "chat.completion"}
    busy = (503, {"content-type": "application/json", "retry-after-ms": "1"}, b"{}")
    with recording(
        busy, (200, {"content-type": "application/json"}, json.dumps(answer).encode())
    ) as server:
        http = client(target="openai")
        sdk = openai.OpenAI(base_url=server.url, api_key="k", max_retries=1, http_client=http)
        sdk.chat.completions.create(model="gpt-4o", messages=CHAT)
    first, second = [request[3] for request in server.requests]
    assert first == second
    assert [message["role"] for message in json.loads(first)["messages"]][-2:] == ["tool", "user"]


@pytest.mark.parametrize("stream", [False, True])
def test_boto3_repairs_before_it_signs(
    *, stream: bool, sandbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_of = boto_client(sandbox, monkeypatch)
    call = {"modelId": CLAUDE, "messages": CONVERSE, "toolConfig": CONVERSE_TOOLS}
    with pytest.raises(Exception, match="toolResult"):
        client_of().converse(**call)
    sandbox.clear()
    client = repair_boto3(client_of())
    answer = client.converse_stream(**call) if stream else client.converse(**call)
    assert not stream or list(answer["stream"])
    report = answer["ResponseMetadata"][EXTENSION]
    assert report.target == f"bedrock/{CLAUDE}"
    assert [change.code for change in report.changes] == ["TOOL007"]
    assert not sandbox.refusals


def test_boto3_sends_again_after_a_refusal(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = repair_boto3(boto_client(sandbox, monkeypatch)(), react=1)
    two_texts = [{"role": "user", "content": [{"text": "a"}]}] * 2
    sandbox.refuse(
        lambda body: [m["role"] for m in body["messages"]] == ["user", "user"],
        "A conversation must alternate between user and assistant roles.",
        provider="bedrock",
    )
    answer = client.converse(modelId="us.amazon.nova-pro-v1:0", messages=two_texts)
    assert answer["ResponseMetadata"][EXTENSION].changes
    assert answer["output"]["message"]["content"]


def test_boto3_of_another_service_is_refused() -> None:
    boto3 = pytest.importorskip("boto3")
    with pytest.raises(TypeError, match="bedrock-runtime"):
        repair_boto3(boto3.client("s3", region_name="us-east-1"))


def boto_client(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    boto3 = pytest.importorskip("boto3")
    url = sandbox.url("bedrock")
    monkeypatch.setenv("CHATMEND_HOSTS", f"{url}=bedrock")
    return lambda: boto3.client(
        "bedrock-runtime", region_name="us-east-1", endpoint_url=url,
        aws_access_key_id="a", aws_secret_access_key="b",
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["repair", "report"])
def test_thinking_behind_a_changed_prompt_is_removed(
    mode: Any, sandbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    anthropic = pytest.importorskip("anthropic")
    url = sandbox.url("anthropic")
    monkeypatch.setenv("CHATMEND_HOSTS", f"{url}=anthropic")
    http = client("httpx2", mode=mode)
    sdk = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0, http_client=http)
    adaptive = {"type": "adaptive"}
    call: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 900, "thinking": adaptive}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
    first = sdk.messages.create(**call, system="It is 9:00.", messages=messages)
    messages += [
        {
            "role": "assistant",
            "content": [block.model_dump(exclude_none=True) for block in first.content],
        },
        {"role": "user", "content": "go on"},
    ]
    assert first.content[0].type == "thinking"
    changed = {**call, "system": "It is 9:05.", "messages": messages}
    if mode == "report":
        with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
            sdk.messages.create(**changed)
        return
    assert sdk.messages.create(**changed)
    assert not sandbox.refusals
