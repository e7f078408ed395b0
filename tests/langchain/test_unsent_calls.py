"""Calls in fields of a message that a partner package sends only sometimes, or never."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from chatmend.langchain.partners import find_destination
from tests.langchain.classes import DESTINATIONS
from tests.langchain.fuzz import refusal
from tests.langchain.shapes import call, raw
from tests.langchain.test_converters import sent, unchanged
from tests.langchain.test_damage import look

Q, NEXT = HumanMessage("q"), HumanMessage("go on")
CLASSES = ["responses", *{one.path: name for name, one in DESTINATIONS.items()}.values()]
"""One destination of each class, and the other API of ChatOpenAI."""
NEVER_SENT = ["anthropic", "bedrock claude", "bedrock invoke", "gemini", "ollama", "cohere"]


def withdrawn() -> AIMessage:
    """Return an answer whose call a middleware has removed from ``tool_calls``."""
    answer = AIMessage(
        "a",
        additional_kwargs={"tool_calls": [raw()]},
        response_metadata={"model_provider": "groq"},
    )
    answer.tool_calls = []
    return answer


@pytest.mark.parametrize("name", NEVER_SENT)
def test_a_withdrawn_call_that_the_class_never_sends_needs_no_result(name: str) -> None:
    assert unchanged(name, [Q, withdrawn(), NEXT])


@pytest.mark.parametrize("name", CLASSES)
def test_the_table_knows_which_classes_send_withdrawn_calls(sandbox: Any, name: str) -> None:
    sandbox.clear()
    model = DESTINATIONS[name].model(sandbox)
    try:
        model.invoke([Q, withdrawn(), NEXT])
    except Exception:  # noqa: BLE001 - a dangling call is refused
        assert sandbox.refusals
    body = json.dumps(sandbox.requests[-1].body)
    assert ('"look"' in body) is find_destination(model, {}).converter.spare_raw_calls


def test_a_withdrawn_call_that_the_class_sends_gets_a_result() -> None:
    (_, answer, result, _) = sent("groq", [Q, withdrawn(), NEXT])
    assert isinstance(answer, AIMessage)
    assert isinstance(result, ToolMessage)
    assert result.tool_call_id == "call_1"


def test_the_result_of_a_withdrawn_call_that_is_never_sent_becomes_text() -> None:
    messages: list[BaseMessage] = [Q, withdrawn(), ToolMessage("18", tool_call_id="call_1"), NEXT]
    assert not any(isinstance(one, ToolMessage) for one in sent("anthropic", messages))


OTHER = {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {"at": "Rome"}}


def foreign(provider: str, *calls: Any) -> AIMessage:
    """Return an answer of another provider with a call that only its content holds."""
    content: list[Any] = [{"type": "text", "text": "a"}, OTHER]
    return AIMessage(
        content, tool_calls=list(calls), response_metadata={"model_provider": provider}
    )


@pytest.mark.parametrize("provider", ["anthropic", "bedrock_converse"])
def test_a_call_in_the_content_that_bedrock_gets_is_unchanged(provider: str) -> None:
    result = ToolMessage("18", tool_call_id="toolu_2")
    assert unchanged("bedrock claude", [Q, foreign(provider), result, NEXT])


@pytest.mark.parametrize("calls", [(), (call(),)])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "groq", "mistralai", "unknown"])
def test_a_call_in_the_content_of_another_provider_reaches_bedrock_with_its_result(
    sandbox: Any, provider: str, calls: tuple[Any, ...]
) -> None:
    """ChatBedrockConverse drops these calls, but not their results."""
    model = mend(DESTINATIONS["bedrock claude"].model(sandbox), on_error="raise").bind_tools([look])
    results = [ToolMessage("18", tool_call_id=one["id"]) for one in (*calls, OTHER)]
    assert refusal(model, sandbox, [Q, foreign(provider, *calls), *results, NEXT]) is None
    assert '"toolu_2"' in json.dumps(sandbox.requests[-1].body)


# The class sends the only call of an answer of Anthropic.
@pytest.mark.parametrize(
    ("provider", "calls"),
    [("openai", ()), ("openai", (call(),)), ("anthropic", (call(),)), ("groq", ()), ("groq", (call(),))],
)  # fmt: skip
def test_a_withdrawn_call_in_the_content_of_another_provider_gets_no_result(
    sandbox: Any, provider: str, calls: tuple[Any, ...]
) -> None:
    bare = DESTINATIONS["bedrock claude"].model(sandbox).bind_tools([look])
    results = [ToolMessage("18", tool_call_id=one["id"]) for one in calls]
    messages = [Q, foreign(provider, *calls), *results, NEXT]
    bodies = []
    for model in (bare, mend(bare, on_error="raise")):
        assert refusal(model, sandbox, messages) is None
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]


def test_a_withdrawn_call_is_sent_if_the_policy_does_not_allow_to_drop_it(sandbox: Any) -> None:
    bare = DESTINATIONS["bedrock claude"].model(sandbox).bind_tools([look])
    model = mend(bare, on_error="raise", policy={"allow": "degrades"})
    assert refusal(model, sandbox, [Q, foreign("openai"), NEXT]) is None
    assert '"toolu_2"' in json.dumps(sandbox.requests[-1].body)


ONCE: dict[str, Any] = {**OTHER, "input": {"at": "Paris"}}
REPEATED = [
    ([ONCE, ONCE], None),
    ([ONCE, OTHER], "bedrock_converse"),
    ([ONCE, ONCE], "anthropic"),
    ([{**call("toolu_2")}] * 2, "v1"),
]


@pytest.mark.parametrize(("content", "provider"), REPEATED)
@pytest.mark.parametrize("name", ["anthropic", "bedrock claude", "bedrock invoke"])
def test_a_call_that_the_content_repeats_is_sent_once(
    sandbox: Any, name: str, content: list[Any], provider: str | None
) -> None:
    metadata = {"output_version": "v1"} if provider == "v1" else {"model_provider": provider}
    answer = AIMessage(content, tool_calls=[call("toolu_2")], response_metadata=metadata)
    result = ToolMessage("18", tool_call_id="toolu_2")
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise").bind_tools([look])
    assert refusal(model, sandbox, [Q, answer, result, NEXT]) is None
    body = json.dumps(sandbox.requests[-1].body["messages"])
    assert body.count("Paris") == 1


@pytest.mark.parametrize("name", ["openai", "groq", "ollama"])
def test_a_repeated_call_in_a_content_that_is_not_sent_is_unchanged(name: str) -> None:
    content: list[Any] = [{"type": "text", "text": "a"}, ONCE, ONCE]
    answer = AIMessage(content, tool_calls=[call("toolu_2")])
    assert unchanged(name, [Q, answer, ToolMessage("18", tool_call_id="toolu_2"), NEXT])


def test_a_repeated_call_that_bedrock_s_class_does_not_send_is_unchanged() -> None:
    content: list[Any] = [{"type": "text", "text": "a"}, ONCE, ONCE]
    metadata = {"model_provider": "openai"}
    answer = AIMessage(content, tool_calls=[call("toolu_2")], response_metadata=metadata)
    result = ToolMessage("18", tool_call_id="toolu_2")
    assert unchanged("bedrock claude", [Q, answer, result, NEXT])
