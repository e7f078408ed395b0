"""Thinking that a class stores in ``additional_kwargs``: thinking stays enabled where the class sends it."""

from __future__ import annotations

import json
from copy import deepcopy
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from packaging.version import Version

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from tests.langchain.answers import BODIES
from tests.langchain.classes import CLASSES, DESTINATIONS
from tests.langchain.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages import BaseMessage

MANUAL = {"type": "enabled", "budget_tokens": 2000}
MODELS: dict[str, dict[str, Any]] = {
    "litellm-anthropic": {"max_tokens": 4000, "model_kwargs": {"thinking": MANUAL}},
    "openrouter": {"model": "anthropic/claude-haiku-4.5", "reasoning": {"effort": "low"}},
}


@tool
def look(city: str) -> str:
    """Look."""
    return city


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as server:
        yield server


def body_with_one_thought(name: str) -> Any:
    """Return the response body with one thinking block, which langchain-litellm can send again."""
    body = deepcopy(BODIES[name])
    if name == "litellm-anthropic":
        kinds: dict[str, Any] = {block["type"]: block for block in body["content"][::-1]}
        body["content"] = [kinds["thinking"], kinds["text"], kinds["tool_use"]]
    return body


def model_of(name: str, recorder: Recorder) -> Any:
    if name == "litellm-anthropic":
        pytest.importorskip("langchain_litellm")
        if Version(version("langchain-litellm")) < Version("0.10"):
            pytest.skip("langchain-litellm stores no thinking before version 0.10")
    return CLASSES[name].model(recorder.url(CLASSES[name].wire), **MODELS[name])


def loop(model: Any, recorder: Recorder, name: str) -> list[BaseMessage]:
    """Return a question, the answer of a model, and the results of its calls."""
    recorder.body = body_with_one_thought(name)
    answer = model.bind_tools([look]).invoke("go")
    results = [ToolMessage("18", tool_call_id=call["id"]) for call in answer.tool_calls]
    return [HumanMessage("go"), answer, *results]


@pytest.mark.parametrize("name", MODELS)
def test_the_request_is_that_of_the_class(name: str, recorder: Recorder) -> None:
    bare = model_of(name, recorder)
    sent = []
    for model in (bare, mend(bare)):
        answer = model.bind_tools([look]).invoke(loop(model, recorder, name))
        assert "chatmend" not in answer.response_metadata
        sent.append(recorder.requests[-1])
    assert sent[0] == sent[1]
    assert "signature" in json.dumps(sent[1])


def events_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events with which Anthropic's API streams a body of thinking, texts and calls."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(body["content"]):
        start, deltas = {
            "thinking": (
                {"type": "thinking", "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": block.get("thinking")},
                    {"type": "signature_delta", "signature": block.get("signature")},
                ],
            ),
            "text": (
                {"type": "text", "text": ""},
                [{"type": "text_delta", "text": block.get("text")}],
            ),
            "tool_use": (
                {**block, "input": {}},
                [{"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))}],
            ),
        }[block["type"]]
        place = {"index": index}
        events.append({"type": "content_block_start", **place, "content_block": start})
        events += [{"type": "content_block_delta", **place, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", **place})
    end = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    return [
        *events,
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def test_the_request_with_a_streamed_answer_is_that_of_the_class(recorder: Recorder) -> None:
    name = "litellm-anthropic"
    bare = model_of(name, recorder)
    recorder.events = events_of(body_with_one_thought(name))
    recorder.body = body_with_one_thought(name)
    sent = []
    for model in (bare, mend(bare)):
        bound = model.bind_tools([look])
        first, *rest = bound.stream("go")
        answer = sum(rest, first)
        results = [ToolMessage("18", tool_call_id=call["id"]) for call in answer.tool_calls]
        report = bound.invoke([HumanMessage("go"), answer, *results]).response_metadata
        assert "chatmend" not in report
        sent.append(recorder.requests[-1])
    assert sent[0] == sent[1]
    assert sent[1]["thinking"] == MANUAL
    assert "signature" in json.dumps(sent[1])


def test_thinking_that_another_endpoint_signed_counts_as_missing(recorder: Recorder) -> None:
    name = "litellm-anthropic"
    history = loop(model_of(name, recorder), recorder, name)
    with Recorder() as other:
        other.body = body_with_one_thought(name)
        answer = mend(model_of(name, other)).bind_tools([look]).invoke(history)
    (change,) = answer.response_metadata["chatmend"]["changes"]
    assert (change["code"], change["applied"]) == ("THINK008", True)
    assert other.requests[-1]["thinking"] == {"type": "disabled"}


def test_thinking_counts_as_missing_after_a_change_of_the_history(recorder: Recorder) -> None:
    name = "litellm-anthropic"
    model = mend(model_of(name, recorder))
    _, *rest = loop(model, recorder, name)
    model.bind_tools([look]).invoke([HumanMessage("go on"), *rest])
    assert recorder.requests[-1]["thinking"] == {"type": "disabled"}


def answers_of_one_turn(answer: AIMessage, raw: bool) -> list[BaseMessage]:  # noqa: FBT001
    """Return two answers with a call each, both with the thinking of another answer, and results.

    ``raw``: ``additional_kwargs`` hold the calls, too, and an id that is replaced.
    """
    ids = ("toolu.1", "toolu_2") if raw else ("toolu_1", "toolu_2")
    messages: list[BaseMessage] = []
    for call_id in ids:
        call: Any = {"id": call_id, "name": "look", "args": {"city": "x"}, "type": "tool_call"}
        function = {"name": "look", "arguments": '{"city": "x"}'}
        kwargs = {"thinking_blocks": deepcopy(answer.additional_kwargs["thinking_blocks"])}
        if raw:
            kwargs["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
        messages.append(AIMessage("", tool_calls=[call], additional_kwargs=kwargs))
    return [*messages, *(ToolMessage("18", tool_call_id=call_id) for call_id in ids)]


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("is_same", [True, False])
def test_thinking_in_rewritten_answers_counts_if_it_is_sent(
    recorder: Recorder, *, is_same: bool, raw: bool
) -> None:
    """A rewritten or merged message has another list of the same blocks.

    With raw calls, the first answer is rewritten without thinking that its merged form lost.
    """
    name = "litellm-anthropic"
    question, answer, _ = loop(model_of(name, recorder), recorder, name)
    assert isinstance(answer, AIMessage)
    history = [question, *answers_of_one_turn(answer, raw)]
    with Recorder() as other:
        other.body = body_with_one_thought(name)
        target = recorder if is_same else other
        mend(model_of(name, target)).bind_tools([look]).invoke(history)
        sent = target.requests[-1]
    is_sent = is_same and not raw
    assert sent["thinking"] == (MANUAL if is_sent else {"type": "disabled"})
    assert ("signature" in json.dumps(sent["messages"])) == is_sent


def test_a_class_that_does_not_show_what_it_sends_is_named_in_the_log(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = "litellm-anthropic"
    history = loop(model_of(name, recorder), recorder, name)
    model = model_of(name, recorder)
    monkeypatch.delattr(f"{type(model).__module__}.{type(model).__name__}._merge_call_params")
    call = prepare(mend(model), history, {})
    assert [change.code for change in call.changes if change.where == "thinking"] == ["THINK008"]
    assert "does not show which of its stored thinking it sends" in caplog.text


def test_tools_that_chatmend_declares_belong_to_the_history(recorder: Recorder) -> None:
    name = "litellm-anthropic"
    model = mend(model_of(name, recorder))
    earlier = [*loop(model_of(name, recorder), recorder, name), AIMessage("It is mild.")]
    history: list[Any] = [*earlier, HumanMessage("and Rome?")]
    answer = model.invoke(history)
    answer.tool_calls[0]["id"] = "toolu_9"  # the recorded body has the same id each time
    model.invoke([*history, answer, ToolMessage("20", tool_call_id="toolu_9")])
    sent = recorder.requests[-1]
    assert sent["thinking"] == MANUAL
    assert "signature" in json.dumps(sent["messages"][-2])


@pytest.mark.parametrize("blocks", [["a"], [None], [{}], [{"type": "thinking"}], None, "text"])
def test_malformed_thinking_is_unchanged(blocks: Any) -> None:
    model = DESTINATIONS["litellm anthropic"].model(
        "http://127.0.0.1:1", model="anthropic/claude-haiku-4-5"
    )
    answer = AIMessage("hi", additional_kwargs={"thinking_blocks": blocks})
    history = [HumanMessage("go"), answer, HumanMessage("on")]
    call = prepare(mend(model), history, {})
    assert list(call.messages) == history
    assert call.changes == ()


def test_thinking_in_the_content_is_not_sent(recorder: Recorder) -> None:
    """The class drops it; the request kept thinking enabled and was refused."""
    name = "litellm-anthropic"
    thought = {"type": "thinking", "thinking": "hm", "signature": "EqQBCkYIAhgCKkAx"}
    call: Any = {"id": "toolu_1", "name": "look", "args": {"city": "Paris"}, "type": "tool_call"}
    answer = AIMessage(
        [thought], tool_calls=[call], response_metadata={"model_provider": "anthropic"}
    )
    history = [HumanMessage("go"), answer, ToolMessage("18", tool_call_id="toolu_1")]
    done = mend(model_of(name, recorder)).bind_tools([look]).invoke(history)
    changes = done.response_metadata["chatmend"]["changes"]
    assert [change["code"] for change in changes] == ["PART002", "THINK008"]


def test_stored_thinking_is_no_concern_of_other_models() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "EqQBCkYIAhgCKkAx"}]
    answer = AIMessage("hi", additional_kwargs={"thinking_blocks": blocks})
    history = [HumanMessage("go"), answer, HumanMessage("on")]
    for name in ("litellm openai", "litellm anthropic", "openrouter", "anthropic", "openai"):
        call = prepare(mend(DESTINATIONS[name].model("http://127.0.0.1:1")), history, {})
        assert list(call.messages) == history
        assert call.changes == ()
