"""Where thinking must be, and where it must not, by generation of Claude and by host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from chatmend.sandbox import signed_thinking
from tests.sandbox.posting import post

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

Body = dict[str, Any]
MANUAL = ["claude-3-7-sonnet-20250219", "claude-sonnet-4-20250514", "claude-opus-4-1", "claude-haiku-4-5"]  # fmt: skip
ALWAYS = ["claude-fable-5", "claude-fable-5-2", "claude-mythos-5-1", "claude-mythos-preview", "claude-opus-5-5"]  # fmt: skip
ENABLED = {"type": "enabled", "budget_tokens": 1024}
ADAPTIVE, DISABLED = {"type": "adaptive"}, {"type": "disabled"}
TOOL = {"name": "search", "input_schema": {"type": "object"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Found."}
FIRST = (
    "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled"
)
NONE = (
    "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position "
    "cannot contain `thinking`."
)


def loop(model: str, thinking: Body | None, *, has_thinking: bool = False) -> Body:
    """A request in a tool loop, with or without thinking in its assistant turn."""
    ask = {"role": "user", "content": "q"}
    body = {"model": model, "max_tokens": 2000, "tools": [TOOL], "messages": [ask]}
    blocks = [signed_thinking(body, "A plan."), CALL] if has_thinking else [CALL]
    said = [{"role": "assistant", "content": blocks}, {"role": "user", "content": [RESULT]}]
    more = {} if thinking is None else {"thinking": thinking}
    return {**body, "messages": [ask, *said], **more}


def error(sandbox: Sandbox, body: Body) -> str:
    """The error text of the Messages API; empty if the request is accepted."""
    answer = post(sandbox.url("anthropic/v1/messages"), json=body, timeout=30).json()
    return str(answer.get("error", {}).get("message", ""))


@pytest.mark.parametrize("model", [*MANUAL, "claude-sonnet-4-6"])
def test_a_loop_that_begins_with_thinking_is_accepted(sandbox: Sandbox, model: str) -> None:
    assert not error(sandbox, loop(model, ENABLED, has_thinking=True))
    assert not error(sandbox, loop(model, DISABLED))
    assert not error(sandbox, loop(model, None))


@pytest.mark.parametrize("model", [*MANUAL, "claude-sonnet-4-6"])
def test_with_manual_thinking_a_loop_must_begin_with_thinking(sandbox: Sandbox, model: str) -> None:
    text = error(sandbox, loop(model, ENABLED))
    assert text.startswith(f"messages.1.content.0.type: {FIRST}")


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-6", "claude-opus-4-8", "claude-sonnet-5", "claude-opus-5-5"]
)
def test_with_adaptive_thinking_a_loop_need_not_begin_with_thinking(
    sandbox: Sandbox, model: str
) -> None:
    assert not error(sandbox, loop(model, ADAPTIVE))
    assert not error(sandbox, loop(model, ADAPTIVE, has_thinking=True))


@pytest.mark.parametrize("thinking", [DISABLED, None])
@pytest.mark.parametrize("model", MANUAL)
def test_without_thinking_a_loop_must_contain_none(
    sandbox: Sandbox, model: str, thinking: Body | None
) -> None:
    assert error(sandbox, loop(model, thinking, has_thinking=True)).startswith(NONE)


@pytest.mark.parametrize("model", MANUAL)
def test_a_request_that_disables_thinking_is_accepted_after_a_repair(
    sandbox: Sandbox, model: str
) -> None:
    body = loop(model, DISABLED, has_thinking=True)
    assert not error(sandbox, chatmend.repair_request(body, f"anthropic/{model}").body)


@pytest.mark.parametrize("thinking", [DISABLED, None])
@pytest.mark.parametrize("model", MANUAL)
def test_one_reaction_to_this_refusal_is_enough(
    sandbox: Sandbox, model: str, thinking: Body | None
) -> None:
    body = loop(model, thinking, has_thinking=True)
    reaction = chatmend.react(body, f"anthropic/{model}", error(sandbox, body))
    assert not error(sandbox, reaction.body)
    assert reaction.body["messages"][1]["content"] == [CALL]


@pytest.mark.parametrize("thinking", [DISABLED, None])
@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-opus-5", "claude-sonnet-5"])
def test_later_models_accept_thinking_while_it_is_disabled(
    sandbox: Sandbox, model: str, thinking: Body | None
) -> None:
    assert not error(sandbox, loop(model, thinking, has_thinking=True))


def test_thinking_of_earlier_turns_is_accepted_while_it_is_disabled(sandbox: Sandbox) -> None:
    body = loop("claude-sonnet-4-5", DISABLED, has_thinking=True)
    body["messages"] += [{"role": "assistant", "content": "a"}, {"role": "user", "content": "q"}]
    assert not error(sandbox, body)


@pytest.mark.parametrize("model", [*ALWAYS, "claude-sonnet-5-5"])
def test_models_that_always_think_refuse_disabled(sandbox: Sandbox, model: str) -> None:
    assert '"thinking.type.disabled" is not supported' in error(sandbox, loop(model, DISABLED))
    assert not error(sandbox, loop(model, None))


def test_sonnet_5_5_thinks_between_tools(sandbox: Sandbox) -> None:
    assert not error(sandbox, loop("claude-sonnet-5-5", {"type": "between_tools"}))


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-haiku-5-5", "claude-sonnet-5"])
def test_thinking_can_be_disabled(sandbox: Sandbox, model: str) -> None:
    assert not error(sandbox, loop(model, DISABLED))


@pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-opus-4-8", "claude-opus-5-5"])
def test_later_models_have_no_manual_thinking(sandbox: Sandbox, model: str) -> None:
    assert '"thinking.type.enabled" is not supported' in error(sandbox, loop(model, ENABLED))


@pytest.mark.parametrize("host", ["invoke", "vertex"])
def test_cloud_hosts_have_the_same_rules(sandbox: Sandbox, host: str) -> None:
    model = (
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
        if host == "invoke"
        else "claude-sonnet-4-5@20250929"
    )
    google = "vertex/v1/projects/p/locations/global/publishers/anthropic/models"
    path = f"bedrock/model/{model}/invoke" if host == "invoke" else f"{google}/{model}:rawPredict"
    for thinking, has_thinking, text in (
        (ENABLED, True, ""),
        (ENABLED, False, FIRST),
        (None, True, NONE),
    ):
        body = loop(model, thinking, has_thinking=has_thinking)
        del body["model"]
        body["anthropic_version"] = "any"
        answer = post(sandbox.url(path), json=body, timeout=30)
        assert (answer.status_code == 200) is (not text)
        assert text in answer.text


def test_converse_has_the_same_rules(sandbox: Sandbox) -> None:
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    url = sandbox.url(f"bedrock/model/{model}/converse")
    tools = {
        "tools": [{"toolSpec": {"name": "search", "inputSchema": {"json": {"type": "object"}}}}]
    }
    call = {"toolUse": {"toolUseId": "t1", "name": "search", "input": {}}}
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "Found."}]}}
    plan = {"reasoningContent": {"reasoningText": {"text": "A plan.", "signature": "x" * 200}}}
    for thinking, blocks, text in (
        (ENABLED, [plan, call], ""),
        (None, [call], ""),
        (ENABLED, [call], f"The model returned the following errors: messages.1.content.0.type: {FIRST}"),
        (None, [plan, call], f"The model returned the following errors: {NONE}"),
        (ADAPTIVE, [plan, call], "adaptive thinking is not supported"),
    ):  # fmt: skip
        messages = [
            {"role": "user", "content": [{"text": "q"}]},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": [result]},
        ]
        fields = {"additionalModelRequestFields": {"thinking": thinking}} if thinking else {}
        answer = post(url, json={"messages": messages, "toolConfig": tools, **fields})
        assert (answer.status_code == 200) is (not text)
        assert text in answer.json().get("message", "")


@pytest.mark.parametrize(
    ("model", "reasoning", "details", "status"),
    [
        ("anthropic/claude-sonnet-4.5", {"max_tokens": 2000}, [{"type": "reasoning.text"}], 200),
        ("anthropic/claude-sonnet-4.5", {"enabled": False}, None, 200),
        ("anthropic/claude-opus-4.8", {"effort": "high"}, None, 200),
        ("anthropic/claude-sonnet-4.5", {"max_tokens": 2000}, None, 400),
        ("anthropic/claude-3.7-sonnet", {"effort": "high"}, None, 400),
    ],
)
def test_openrouter_passes_the_error_on(
    sandbox: Sandbox, model: str, reasoning: Body, details: Any, status: int
) -> None:
    function = {"name": "search", "arguments": "{}"}
    said = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        **({"reasoning_details": details} if details else {}),
    }
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "q"},
        said,
        {"role": "tool", "tool_call_id": "c1", "content": "Found."},
    ]
    body = {"model": model, "messages": messages, "reasoning": reasoning}
    answer = post(sandbox.url("openrouter/api/v1/chat/completions"), json=body, timeout=30)
    assert answer.status_code == status
    if status != 200:
        raw = answer.json()["error"]["metadata"]["raw"]
        assert raw.startswith(f"messages.1.content.0.type: {FIRST}")
