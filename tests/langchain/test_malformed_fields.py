"""Messages whose fields for further values are malformed, for example after ``model_construct``."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from chatmend.langchain import hooks, mend, repair_messages, repair_node
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import DAMAGE
from tests.langchain.loop import run

CALL = {"name": "look", "args": {}, "id": "call_abcd1", "type": "tool_call"}
TARGET = CONFIGURATIONS["openai"].target


def with_field(message: Any, name: str, value: Any) -> Any:
    message.__dict__[name] = value
    return message


FIELDS = [("response_metadata", None), ("response_metadata", "text"), ("additional_kwargs", None)]
each = pytest.mark.parametrize(("name", "value"), FIELDS)


@each
def test_malformed_fields_need_no_repair(name: str, value: Any) -> None:
    history = [
        with_field(HumanMessage("q"), name, value),
        with_field(AIMessage("", tool_calls=[CALL]), name, value),
        with_field(ToolMessage("r", tool_call_id="call_abcd1"), name, value),
        with_field(AIMessage([{"type": "text", "text": "a"}]), name, value),
        with_field(HumanMessage("next"), name, value),
    ]
    assert repair_messages(history, target=TARGET, on_error="raise") is history


@each
@pytest.mark.parametrize("door", ["invoke", "ainvoke", "stream", "function", "node"])
def test_a_message_with_malformed_fields_is_repaired(
    sandbox: Any, name: str, value: Any, door: str
) -> None:
    bare = CONFIGURATIONS["openai"].model(sandbox)
    model = mend(bare, on_error="raise", react=1, session_memory="all")
    broken = [
        HumanMessage("q"),
        AIMessage("", tool_calls=[CALL]),
        with_field(HumanMessage.model_construct(content="go"), name, value),
    ]
    if name == "additional_kwargs":  # langchain-openai itself raises
        assert len(repair_messages(broken, target=TARGET, on_error="raise")) > len(broken)
        return
    if door == "function":
        bare.invoke(repair_messages(broken, target=TARGET, on_error="raise"))
    elif door == "node":
        bare.invoke(repair_node(bare, on_error="raise")({"messages": broken})["llm_input_messages"])
    elif door == "ainvoke":
        run(model.ainvoke(broken))
    elif door == "stream":
        assert list(model.stream(broken))
    else:
        model.invoke(broken)
    assert not sandbox.refusals


def test_a_failure_around_the_repair_sends_the_original_messages(
    sandbox: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(hooks, "report_of_input", fail)
    model = CONFIGURATIONS["openai"].model(sandbox)
    assert mend(model).invoke([HumanMessage("hello")]).content
    assert "sent unchanged" in caplog.text
    with pytest.raises(RuntimeError):
        mend(model, on_error="raise").invoke(DAMAGE["one of two calls unanswered"])
