"""Changes that a report lists as applied are in the request body, for every partner class."""

from __future__ import annotations

import json
import logging
from collections import Counter
from itertools import product
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from chatmend import repair
from chatmend.langchain import mend, repair_node
from chatmend.langchain.partners import find_destination_by_name
from chatmend.langchain.payloads import RepairedMessages, verify
from chatmend.placeholders import CONTINUED, NO_RESULT
from tests.langchain.classes import DESTINATIONS
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import DAMAGE, ONE, Q, assistant_calls
from tests.langchain.test_damage import look
from tests.langchain.test_reasoning import sender
from tests.scale import sampled

SOME = ("mistral to deepseek", "openai to kimi", "litellm to kimi")
SENT = list(product([*DESTINATIONS, *SOME], DAMAGE))
RENAMED = [
    ("mistral to deepseek", row)
    for row in ("two calls of one id", "id used again and not answered", "call without an id")
]
"""The class sends a hash of each id that is not in Mistral's format."""


def applied(answer: AIMessage) -> Counter[str]:
    reported = answer.response_metadata.get("chatmend", {"changes": []})["changes"]
    return Counter(change["code"] for change in reported if change["applied"])


@pytest.mark.parametrize(("name", "row"), sampled(SENT, [*SENT[::41], *RENAMED]))
def test_additions_that_are_reported_as_applied_are_in_the_body(
    sandbox: Any, name: str, row: str
) -> None:
    if name in DESTINATIONS:
        model, target = DESTINATIONS[name].model(sandbox), None
    else:
        model, target = sender(sandbox, name)
    wrapped = mend(model, target=target, on_error="raise", report="all")
    answer = wrapped.bind_tools([look]).invoke(DAMAGE[row])
    assert not sandbox.refusals
    body = sandbox.requests[-1].body
    done, text = applied(answer), json.dumps(body)
    assert text.count(NO_RESULT) == done["TOOL007"]
    added = [change for change in _changes(answer) if change["effect"] == "adds"]
    assert text.count(CONTINUED) >= [change["code"] for change in added].count("TURN005")
    thoughts = [message.get("reasoning_content") for message in body.get("messages", [])]
    assert thoughts.count(" ") == done["THINK002"]
    assert all(change["applied"] for change in _changes(answer))


def test_a_result_whose_id_the_class_replaces_by_a_hash_is_reported_as_applied(
    sandbox: Any,
) -> None:
    """DeepSeek accepts the id, and ChatAnthropic sends a hash of it."""
    history = [Q, assistant_calls("call.1"), HumanMessage("And now?")]
    model = DESTINATIONS["anthropic"].model(sandbox)
    wrapped = mend(model, target="deepseek/deepseek-chat", on_error="raise", report="all")
    answer = wrapped.bind_tools([look]).invoke(history)
    _, calls, results = sandbox.requests[-1].body["messages"]
    assert calls["content"][0]["id"] == results["content"][0]["tool_use_id"] != "call.1"
    assert [(change["code"], change["applied"]) for change in _changes(answer)] == [
        ("TOOL007", True)
    ]


@pytest.mark.parametrize("name", ["openai", "responses", "mistral", "anthropic", "gemini"])
def test_a_short_text_in_the_arguments_of_a_call_is_reported_as_applied(
    sandbox: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Most partner packages send arguments as JSON text, with quotes that are escaped."""
    call = {"name": "look", "args": {"city": "\ud83d"}, "id": "call_abcd", "type": "tool_call"}
    history = [
        Q,
        AIMessage("", tool_calls=[call]),
        ToolMessage("18 degrees", tool_call_id="call_abcd", name="look"),
    ]
    model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise", report="all")
    answer = model.bind_tools([look]).invoke(history)
    assert "\ufffd" in json.dumps(sandbox.requests[-1].body, ensure_ascii=False)
    assert [change["applied"] for change in _changes(answer) if change["code"] == "TEXT001"] == [
        True
    ]
    assert not caplog.records


def _changes(answer: AIMessage) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer.response_metadata.get("chatmend", {}).get("changes", [])
    return found


METHODS = {
    "openai": "_get_request_payload",
    "mistral": "_create_message_dicts",
    "gemini": "_prepare_request",
}


def dropping(name: str, how: str) -> Any:
    """Return a subclass of a partner class that sends only the messages of the user."""
    base, method = CONFIGURATIONS[name].load(), METHODS[name]

    def build(self: Any, messages: Any, *args: Any, **options: Any) -> Any:
        kept = [message for message in messages if isinstance(message, HumanMessage)]
        return getattr(base, method)(self, kept, *args, **options)

    # The warning is logged once for each name.
    namespace = {method: build, "__module__": __name__, "__qualname__": f"Dropping{name}{how}"}
    return type(base)(base.__name__, (base,), namespace)


@pytest.mark.parametrize("how", ["invoke", "stream", "node"])
@pytest.mark.parametrize("name", METHODS)
def test_a_repair_that_the_class_does_not_send_is_reported_as_not_applied(
    sandbox: Any, caplog: Any, name: str, how: str
) -> None:
    configuration = CONFIGURATIONS[name]
    model = dropping(name, how)(**configuration.values(sandbox))
    history = [Q, assistant_calls(ONE), HumanMessage("And now?")]
    with caplog.at_level(logging.WARNING, "chatmend.langchain"):
        for _ in range(2):
            match how:
                case "invoke":
                    last: Any = mend(model, on_error="raise").invoke(history)
                case "stream":
                    last = next(iter(mend(model, on_error="raise").stream(history)))
                case _:
                    last = repair_node(model)({"messages": history})["llm_input_messages"][-1]
    assert caplog.text.count("does not send the repair TOOL007") == 1
    changes = {change["code"]: change for change in _changes(last)}
    assert not changes["TOOL007"]["applied"]
    assert changes["TOOL007"]["why"].endswith("the partner package does not send this repair")


class Unreadable:
    """A payload that cannot be searched."""

    @property
    def __dict__(self) -> Any:
        raise RuntimeError("no fields")


def test_a_payload_that_cannot_be_read_fails_no_call_and_is_logged(caplog: Any) -> None:
    sent = RepairedMessages.of([ToolMessage(NO_RESULT, tool_call_id=ONE)])
    sent.finish({"messages": [Unreadable()]}, list)
    changes = repair(DAMAGE["dangling call in the middle"], "openai/gpt-4o").changes
    destination = find_destination_by_name("openai/gpt-4o")
    with caplog.at_level(logging.WARNING, "chatmend.langchain"):
        assert verify(changes, sent, destination, object()) == changes
    assert "the payload cannot be searched for the repairs: RuntimeError" in caplog.text


def test_texts_are_found_in_other_forms(sandbox: Any) -> None:
    """Arguments are JSON within JSON, and images are bytes or parts of a data URL."""
    odd = {"at": 'a "quoted" näme\\\n', "to": "\U0001f600"}
    call = {"name": "look at/it", "args": odd, "id": None, "type": "tool_call"}
    history = [Q, AIMessage("", tool_calls=[call]), HumanMessage("And now?")]
    some = ["openai", "anthropic", "gemini", "bedrock claude"]
    for name in sampled(list(DESTINATIONS), some):
        model = mend(DESTINATIONS[name].model(sandbox), on_error="raise", report="all").bind_tools(
            [look]
        )
        answer = model.invoke(history)
        assert {change["applied"] for change in _changes(answer)} == {True}, name
