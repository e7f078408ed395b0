"""Claude's thinking is bound to the system prompt, the tools and all messages before it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import anthropic
import httpx
import pytest

from chatmend.sandbox import Reply, signed_thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

Body = dict[str, Any]
BETA = "thinking-binding-controls-2026-08-01"
MODEL = "claude-opus-5-5"
BEDROCK = "global.anthropic.claude-opus-5-5-v1:0"
GOOGLE = "vertex/v1/projects/p/locations/global/publishers/anthropic/models"
ENFORCED = [
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
]
NOT_ENFORCED = ["claude-opus-5", "claude-sonnet-5", "claude-fable-5", "claude-mythos-5-1"]
CACHE = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "search", "input_schema": {"type": "object"}}
ASK = {"role": "user", "content": "Begin."}
MORE = {"role": "user", "content": "Go on."}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
_AT = "thinking.adaptive.block_binding.prefix_mismatch_behavior"
VALUE = f"{_AT}: Input should be 'error' or 'drop_block'"
TEXT = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
    "different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=30) as made:
        yield made


def conversation(model: str = MODEL, **more: Any) -> Body:
    """A request that sends back signed thinking."""
    body = {"model": model, "max_tokens": 999, "system": "Be brief.", "tools": [TOOL], **more}
    thinking = signed_thinking({**body, "messages": [ASK]}, "A plan.")
    said = {"role": "assistant", "content": [thinking, {"type": "text", "text": "Done."}]}
    return {**body, "messages": [ASK, said, MORE]}


def send(sandbox: Sandbox, client: httpx.Client, body: Body, **headers: str) -> httpx.Response:
    return client.post(sandbox.url("anthropic/v1/messages"), json=body, headers=headers)


def changed(body: Body, **change: Any) -> Body:
    return {**deepcopy(body), **change}


def cached(body: Body) -> Body:
    """The same request with cache markers, and texts as blocks."""
    system = [{"type": "text", "text": body["system"], **CACHE}]
    ask = {"role": "user", "content": [{"type": "text", "text": ASK["content"], **CACHE}]}
    tools = [{**TOOL, **CACHE}]
    return changed(body, system=system, tools=tools, messages=[ask, *body["messages"][1:]])


SAME = {
    "unchanged": lambda body: body,
    "cache-markers": cached,
    "appended": lambda body: changed(
        body, messages=[*body["messages"], {"role": "assistant", "content": "Yes."}, MORE]
    ),
    "deferred-tool": lambda body: changed(
        body, tools=[TOOL, {**TOOL, "name": "later", "defer_loading": True}]
    ),
    "other-parameters": lambda body: changed(body, max_tokens=99, metadata={"user_id": "u"}),
    "later-message": lambda body: changed(
        body, messages=[*body["messages"][:2], {"role": "user", "content": "Other."}]
    ),
}
OTHER = {
    "system": lambda body: changed(body, system="Be long."),
    "no-system": lambda body: {key: body[key] for key in body if key != "system"},
    "another-tool": lambda body: changed(body, tools=[TOOL, {**TOOL, "name": "more"}]),
    "first-message": lambda body: changed(
        body, messages=[{"role": "user", "content": "Start."}, *body["messages"][1:]]
    ),
}


@pytest.mark.parametrize("change", SAME)
def test_thinking_after_the_same_prefix_is_accepted(
    sandbox: Sandbox, client: httpx.Client, change: str
) -> None:
    assert send(sandbox, client, SAME[change](conversation())).status_code == 200


@pytest.mark.parametrize("change", OTHER)
@pytest.mark.parametrize("model", ENFORCED)
def test_thinking_after_a_changed_prefix_is_refused(
    sandbox: Sandbox, client: httpx.Client, model: str, change: str
) -> None:
    answer = send(sandbox, client, OTHER[change](conversation(model)))
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, TEXT)


@pytest.mark.parametrize("model", NOT_ENFORCED)
def test_other_models_accept_a_changed_prefix(
    sandbox: Sandbox, client: httpx.Client, model: str
) -> None:
    assert send(sandbox, client, OTHER["system"](conversation(model))).status_code == 200


def test_an_answer_is_signed_for_its_request(sandbox: Sandbox, client: httpx.Client) -> None:
    body = conversation(thinking={"type": "adaptive"})
    sandbox.script([Reply(thought="More.", calls=(("search", {}),))])
    content = send(sandbox, client, body).json()["content"]
    assert [block["type"] for block in content] == ["thinking", "tool_use"]
    result = {"type": "tool_result", "tool_use_id": content[1]["id"], "content": "Found."}
    said = [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    longer = changed(body, messages=[*body["messages"], *said])
    assert send(sandbox, client, longer).status_code == 200
    without_first = deepcopy(longer)
    del without_first["messages"][1]["content"][0]
    refused = send(sandbox, client, without_first).json()["error"]["message"]
    assert refused.startswith("messages.3.content.0: Invalid `signature`"), (
        "an earlier block is gone"
    )


def test_a_foreign_signature_is_accepted(sandbox: Sandbox, client: httpx.Client) -> None:
    body = OTHER["system"](conversation())
    body["messages"][1]["content"][0]["signature"] = "EtsBCkYIChgCKkANrO4e7QOyBt" + "q" * 200
    assert send(sandbox, client, body).status_code == 200


def test_tokens_are_not_counted_after_a_changed_prefix(
    sandbox: Sandbox, client: httpx.Client
) -> None:
    body = OTHER["system"](conversation())
    del body["max_tokens"]
    url = sandbox.url("anthropic/v1/messages/count_tokens")
    assert client.post(url, json=body).json()["error"]["message"] == TEXT


def test_drop_block_accepts_and_reports_the_dropped_blocks(
    sandbox: Sandbox, client: httpx.Client
) -> None:
    body = OTHER["system"](conversation(thinking=DROP))
    second = signed_thinking({"model": MODEL, "messages": []}, "Another plan.")
    body["messages"][1]["content"].insert(1, second)
    answer = send(sandbox, client, body, **{"anthropic-beta": f"other, {BETA}"})
    assert answer.json()["input_transformations"] == [
        {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
        for path in ("messages.1.content.0", "messages.1.content.1")
    ]


def test_with_the_beta_a_response_reports_that_nothing_was_dropped(
    sandbox: Sandbox, client: httpx.Client
) -> None:
    body = conversation(thinking=DROP)
    assert "input_transformations" not in send(sandbox, client, conversation()).json()
    answer = send(sandbox, client, body, **{"anthropic-beta": BETA})
    assert answer.json()["input_transformations"] == []


def test_a_conversation_continues_after_a_drop(sandbox: Sandbox, client: httpx.Client) -> None:
    """The new thinking is bound to the prompt without the dropped block."""
    body, headers = OTHER["system"](conversation(thinking=DROP)), {"anthropic-beta": BETA}
    content = send(sandbox, client, body, **headers).json()["content"]
    longer = [*body["messages"], {"role": "assistant", "content": content}, MORE]
    again = send(sandbox, client, changed(body, messages=longer), **headers)
    assert [entry["path"] for entry in again.json()["input_transformations"]] == [
        "messages.1.content.0"
    ]
    del longer[1]["content"][0]
    assert send(sandbox, client, changed(body, messages=longer), **headers).status_code == 200


def test_the_sdk_reads_the_report_from_a_stream(sandbox: Sandbox) -> None:
    body = OTHER["system"](conversation(thinking=DROP))
    sdk = anthropic.Anthropic(base_url=sandbox.url("anthropic"), api_key="any")
    with sdk.beta.messages.stream(betas=[BETA], **body) as stream:
        found = stream.get_final_message().input_transformations
    assert found is not None
    assert [entry.path for entry in found] == ["messages.1.content.0"]


@pytest.mark.parametrize(
    ("thinking", "headers", "text"),
    [
        (DROP, {}, "thinking.adaptive.block_binding: Extra inputs are not permitted"),
        (
            {"type": "adaptive", "block_binding": {}},
            {},
            "thinking.adaptive.block_binding: Extra inputs are not permitted",
        ),
        (
            {"type": "disabled", "block_binding": {}},
            {"anthropic-beta": BETA},
            "thinking.disabled.block_binding: Extra inputs are not permitted",
        ),
        (
            {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "allow"}},
            {"anthropic-beta": BETA},
            VALUE,
        ),
    ],
)
def test_block_binding_needs_the_beta_and_adaptive_thinking(
    sandbox: Sandbox, client: httpx.Client, thinking: Body, headers: Body, text: str
) -> None:
    body = conversation("claude-haiku-5-5", thinking=thinking)
    answer = send(sandbox, client, body, **headers)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, text)


def test_error_is_the_default_behavior(sandbox: Sandbox, client: httpx.Client) -> None:
    strict = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
    body = OTHER["system"](conversation(thinking=strict))
    assert send(sandbox, client, body, **{"anthropic-beta": BETA}).status_code == 400


def cloud(body: Body, host: str) -> tuple[str, Body]:
    """The path and the body of a Messages request at a cloud host."""
    inner = {key: value for key, value in body.items() if key != "model"}
    if host == "bedrock":
        path = f"bedrock/model/{BEDROCK}/invoke"
        return path, {**inner, "anthropic_version": "bedrock-2023-05-31"}
    return f"{GOOGLE}/{MODEL}:rawPredict", {**inner, "anthropic_version": "vertex-2023-10-16"}


@pytest.mark.parametrize("host", ["bedrock", "vertex"])
def test_cloud_hosts_enforce_it(sandbox: Sandbox, client: httpx.Client, host: str) -> None:
    model = BEDROCK if host == "bedrock" else MODEL
    for body, status in ((conversation(model), 200), (OTHER["system"](conversation(model)), 400)):
        path, sent = cloud(body, host)
        assert client.post(sandbox.url(path), json=sent).status_code == status
    path, sent = cloud({**body, "thinking": DROP}, host)
    assert "Extra inputs" in client.post(sandbox.url(path), json=sent).text
    path, sent = cloud({**body, "thinking": DROP, "anthropic_beta": [BETA]}, host)
    answer = client.post(sandbox.url(path), json=sent).json()
    assert len(answer["input_transformations"]) == 1


def converse(sandbox: Sandbox, client: httpx.Client, messages: list[Body], **more: Any) -> Any:
    body = {"messages": messages, "system": [{"text": "Be brief."}], **more}
    return client.post(sandbox.url(f"bedrock/model/{BEDROCK}/converse"), json=body)


def test_converse_enforces_it(sandbox: Sandbox, client: httpx.Client) -> None:
    ask, more = ({"role": "user", "content": [{"text": text}]} for text in ("Begin.", "Go on."))
    sandbox.script([Reply(text="Done.", thought="A plan.")])
    said = converse(sandbox, client, [ask]).json()["output"]["message"]
    assert "reasoningContent" in said["content"][0]
    cached = {**ask, "content": [*ask["content"], {"cachePoint": {"type": "default"}}]}
    assert converse(sandbox, client, [cached, said, more]).status_code == 200
    other = [{"role": "user", "content": [{"text": "Start."}]}, said, more]
    refused = converse(sandbox, client, other)
    prefix = "The model returned the following errors: "
    assert (refused.status_code, refused.json()["message"]) == (400, prefix + TEXT)
    dropped = converse(
        sandbox,
        client,
        other,
        additionalModelRequestFields={"thinking": DROP, "anthropic_beta": [BETA]},
        additionalModelResponseFieldPaths=["/input_transformations"],
    ).json()["additionalModelResponseFields"]["input_transformations"]
    assert [entry["path"] for entry in dropped] == ["messages.1.content.0"]


def test_a_script_binds_the_thinking_of_a_model(sandbox: Sandbox, client: httpx.Client) -> None:
    body = OTHER["system"](conversation("claude-opus-4-8"))
    assert send(sandbox, client, body).status_code == 200
    with sandbox.bind_thinking("claude-opus-4-*"):
        assert send(sandbox, client, body).json()["error"]["message"] == TEXT
        assert send(sandbox, client, conversation("claude-opus-4-8")).status_code == 200
        other = OTHER["system"](conversation("claude-sonnet-5"))
        assert send(sandbox, client, other).status_code == 200
    assert send(sandbox, client, body).status_code == 200
    assert [verdict.rule for verdict in sandbox.refusals] == [
        "anthropic-thinking-bound-conversation"
    ]
