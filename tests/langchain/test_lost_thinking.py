"""Tool loops without their thinking, through ChatAnthropic: the call disables thinking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_anthropic")
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from chatmend.langchain import RepairMiddleware, mend
from chatmend.langchain.thinking import thinking_of, without_thinking
from tests.langchain.classes import DESTINATIONS
from tests.langchain.loop import run

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from chatmend.sandbox import Sandbox

MANUAL, OFF = {"type": "enabled", "budget_tokens": 2048}, {"type": "disabled"}
THOUGHT = {"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"}
CALL = {"id": "toolu_1", "name": "look", "args": {}, "type": "tool_call"}
REFUSAL = "must start with a thinking block"


@tool
def look() -> str:
    """Look."""
    return "r1"


def loop(*blocks: Any) -> list[BaseMessage]:
    metadata = {"model_provider": "anthropic"} if blocks else {}
    answer = AIMessage(list(blocks), tool_calls=[CALL], response_metadata=metadata)
    return [HumanMessage("go"), answer, ToolMessage("r1", tool_call_id="toolu_1")]


def claude(sandbox: Sandbox, **fields: Any) -> ChatAnthropic:
    return ChatAnthropic(
        model="claude-sonnet-4-5",
        api_key="any",
        base_url=sandbox.url("anthropic"),
        max_retries=0,
        max_tokens=4096,
        **fields,
    )


def sent(sandbox: Sandbox) -> Any:
    return sandbox.requests[-1].body.get("thinking")


def test_without_chatmend_the_request_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(Exception, match=REFUSAL):
        claude(sandbox, thinking=MANUAL).bind_tools([look]).invoke(loop())


@pytest.mark.parametrize("fields", [{"thinking": MANUAL}, {"model_kwargs": {"thinking": MANUAL}}])
def test_a_parameter_of_the_model_is_disabled_for_the_call(sandbox: Sandbox, fields: Any) -> None:
    model = mend(claude(sandbox, **fields))
    answer = model.bind_tools([look]).invoke(loop())
    assert sent(sandbox) == OFF
    (change,) = answer.response_metadata["chatmend"]["changes"]
    assert (change["code"], change["effect"], change["applied"]) == ("THINK008", "degrades", True)
    model.bind_tools([look]).invoke(loop(THOUGHT))
    assert sent(sandbox) == MANUAL


@pytest.mark.parametrize("fields", [{"thinking": OFF}, {"model_kwargs": {"thinking": OFF}}])
def test_a_loop_has_no_thinking_while_the_model_disables_it(sandbox: Sandbox, fields: Any) -> None:
    model = claude(sandbox, **fields)
    with pytest.raises(Exception, match="When thinking is disabled"):
        model.bind_tools([look]).invoke(loop(THOUGHT))
    answer = mend(model).bind_tools([look]).invoke(loop(THOUGHT))
    content = sandbox.requests[-1].body["messages"][1]["content"]
    assert [block["type"] for block in content] == ["tool_use"]
    (change,) = answer.response_metadata["chatmend"]["changes"]
    assert (change["code"], change["effect"], change["applied"]) == ("THINK008", "drops", True)


def test_an_option_of_the_call_is_disabled(sandbox: Sandbox) -> None:
    mend(claude(sandbox)).bind_tools([look]).invoke(loop(), thinking=MANUAL)
    assert sent(sandbox) == OFF


SIGNATURE = "EqQBCkYIBxgCKkDyZ2ljYWxzaWduYXR1cmV0aGF0aXNsb25nZW5vdWdo"
SIGNED = {"text": "Plan.", "signature": SIGNATURE}
BEDROCK = [
    {"type": "reasoning_content", "reasoning_content": SIGNED},
    {"type": "reasoning_content", "reasoning_content": SIGNED, "index": 0},
    {"type": "reasoning_content", "reasoningContent": SIGNED},
    {"type": "reasoning_content", "reasoning_content": {"redacted_content": b"abc"}},
    {"type": "thinking", "thinking": "Plan.", "signature": SIGNATURE},
]
"""Thinking as langchain-aws stores it, and Claude's own block."""


def bedrock_loop(*blocks: Any) -> list[BaseMessage]:
    metadata = {"model_provider": "bedrock_converse"}
    answer = AIMessage(list(blocks), tool_calls=[CALL], response_metadata=metadata)
    return [HumanMessage("go"), answer, ToolMessage("r1", tool_call_id="toolu_1")]


@pytest.mark.parametrize("block", BEDROCK)
def test_thinking_of_bedrock_stays_enabled_behind_its_own_thinking(
    sandbox: Sandbox, block: dict[str, Any]
) -> None:
    bare, bodies = DESTINATIONS["bedrock thinking"].model(sandbox), []
    for model in (bare, mend(bare, on_error="raise")):
        model.bind_tools([look]).invoke(bedrock_loop(block))
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]
    assert not sandbox.refusals


@pytest.mark.parametrize(
    "name", ["openai.gpt-oss-120b-1:0", "us.amazon.nova-2-lite-v1:0", "deepseek.v3-v1:0", "minimax.minimax-m2"]
)  # fmt: skip
def test_reasoning_without_a_signature_is_unchanged_for_models_of_bedrock_that_sign_none(
    sandbox: Sandbox, name: str
) -> None:
    bare, bodies = DESTINATIONS["bedrock nova"].model(sandbox, model=name), []
    thought = {"type": "reasoning_content", "reasoning_content": {"text": "Plan."}}
    for model in (bare, mend(bare, on_error="raise")):
        model.bind_tools([look]).invoke(bedrock_loop(thought))
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]
    assert not sandbox.refusals


UNSIGNED = {"type": "reasoning_content", "reasoning_content": {"text": "Plan."}}


@pytest.mark.parametrize("blocks", [[], [UNSIGNED], ["I look."]])
def test_thinking_of_bedrock_is_disabled_for_a_loop_without_it(
    sandbox: Sandbox, blocks: list[Any]
) -> None:
    model = DESTINATIONS["bedrock thinking"].model(sandbox)
    answer = mend(model, on_error="raise").bind_tools([look]).invoke(bedrock_loop(*blocks))
    assert sandbox.requests[-1].body["additionalModelRequestFields"]["thinking"] == OFF
    changes = answer.response_metadata["chatmend"]["changes"]
    assert [(one["code"], one["applied"]) for one in changes][-1] == ("THINK008", True)
    assert model.additional_model_request_fields["thinking"]["type"] == "enabled"
    assert not sandbox.refusals


def test_an_option_of_a_call_in_extra_body_is_disabled() -> None:
    options = {"extra_body": {"thinking": MANUAL, "other": 1}}
    assert thinking_of(object(), options) == MANUAL
    assert without_thinking(object(), options)[1] == {"extra_body": {"thinking": OFF, "other": 1}}


def test_streams_and_asynchronous_calls_disable_it(sandbox: Sandbox) -> None:
    model = mend(claude(sandbox, thinking=MANUAL)).bind_tools([look])

    async def calls() -> list[Any]:
        await model.ainvoke(loop())
        found = [sent(sandbox)]
        assert [chunk async for chunk in model.astream(loop())]
        return [*found, sent(sandbox)]

    assert run(calls()) == [OFF, OFF]
    assert list(model.stream(loop()))
    assert sent(sandbox) == OFF


def test_the_model_of_the_caller_is_unchanged(sandbox: Sandbox) -> None:
    model = mend(claude(sandbox, thinking=MANUAL))
    model.bind_tools([look]).invoke(loop())
    assert model.thinking == MANUAL


def test_in_report_mode_thinking_stays_enabled(sandbox: Sandbox) -> None:
    model = mend(claude(sandbox, thinking=MANUAL), mode="report")
    with pytest.raises(Exception, match=REFUSAL):
        model.bind_tools([look]).invoke(loop())


def test_the_middleware_disables_it_until_the_loop_ends(sandbox: Sandbox) -> None:
    model = claude(sandbox, thinking=MANUAL)
    agent = create_agent(model, [look], middleware=[RepairMiddleware()])
    agent.invoke({"messages": loop()})
    assert sent(sandbox) == OFF
    agent.invoke({"messages": loop(THOUGHT)})
    assert sent(sandbox) == MANUAL
    assert model.thinking == MANUAL


@pytest.mark.parametrize("name", ["anthropic thinking", "bedrock thinking"])
def test_reasoning_of_an_unknown_provider_is_not_sent_and_counts_as_missing(
    sandbox: Sandbox, name: str
) -> None:
    """Both classes leave it out; then Claude refuses the loop."""
    thought = {"type": "reasoning", "reasoning": "Plan.", "extras": {"signature": "EqQBCkYIAhgC"}}
    standard = {"output_version": "v1"}
    answer = AIMessage([thought, {**CALL}], tool_calls=[CALL], response_metadata=standard)
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise").bind_tools([look])
    model.invoke([HumanMessage("go"), answer, HumanMessage("go on")])
    assert sandbox.requests[-1].status == 200
    assert "Plan." not in str(sandbox.requests[-1].body)
