"""Messages as partner packages return them take the fast path: no rule runs on a known structure."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
)

import chatmend
from chatmend.engine import Run
from chatmend.langchain.partners import find_destination, find_destination_by_name
from chatmend.langchain.settings import RepairSettings
from tests.every_rule import every_rule, forget
from tests.langchain.classes import DESTINATIONS
from tests.langchain.repairing import repaired


def items(number: int, call: dict[str, Any]) -> list[Any]:
    """Return the blocks of an answer of OpenAI's Responses API that makes a call."""
    text = {"type": "text", "text": f"I read {number}.", "annotations": [], "id": f"msg_{number}"}
    return [
        {
            "type": "reasoning", "id": f"rs_{number}", "encrypted_content": f"gAAAA{number}",
            "summary": [{"type": "summary_text", "text": f"I must read {number}."}],
        },
        text,
        {
            "type": "function_call", "id": f"fc_{number}", "call_id": call["id"],
            "name": call["name"], "arguments": json.dumps(call["args"]), "status": "completed",
        },
    ]  # fmt: skip


def returned(provider: str, turns: int) -> list[BaseMessage]:
    """Return a conversation with the keys, ids and metadata that a partner package adds."""
    messages: list[BaseMessage] = []
    for number in range(turns):
        call: Any = {
            "name": "read",
            "args": {"path": f"{number}.py"},
            "id": f"call_{number:05d}",
            "type": "tool_call",
        }
        blocks: Any = [
            {"type": "text", "text": f"I read {number}."},
            {"type": "tool_use", "id": call["id"], "name": "read", "input": call["args"]},
        ]
        common: Any = {
            "additional_kwargs": {"refusal": None} if provider == "openai" else {},
            "response_metadata": {
                "model_provider": "anthropic" if provider == "anthropic" else "openai",
                "model_name": "m",
                "id": f"r{number}",
            },
        }
        contents = {"openai": "", "anthropic": blocks, "responses": items(number, call)}
        content = contents[provider]
        messages += [
            HumanMessage(f"question {number}"),
            AIMessage(content, tool_calls=[call], id=f"run-{number}", **common),
            ToolMessage(f"text {number}", tool_call_id=call["id"], name="read"),
            AIMessage(f"answer {number}", id=f"run-{number}-2", **common),
        ]
    return [*messages, HumanMessage("and now?")]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "responses"])
def test_no_rule_runs_on_structures_that_are_known(provider: str) -> None:
    destination = find_destination(DESTINATIONS[provider].model("http://127.0.0.1:1"), {}, None)
    settings = RepairSettings(on_error="raise")
    forget()
    repaired(returned(provider, 3), destination, settings)
    messages = returned(provider, 50)
    with patch.object(Run, "_read_window", side_effect=AssertionError("a window was read")):
        done = repaired(messages, destination, settings)
    assert done.messages is messages
    assert done.changes == ()


def test_white_space_at_the_end_is_removed_from_messages_of_known_structure() -> None:
    ends = ("Yes.", "Yes. ", "No.")
    chats: list[list[BaseMessage]] = [[HumanMessage("go"), AIMessage(end)] for end in ends * 3]
    done = [chatmend.repair(chat, "anthropic/claude-sonnet-4-5").messages for chat in chats]
    assert [messages[-1].content for messages in done] == ["Yes.", "Yes.", "No."] * 3


def test_refused_ids_are_replaced_in_every_window() -> None:
    messages: list[BaseMessage] = [HumanMessage("go")]
    for number in range(6):
        call: Any = {"name": "f", "args": {}, "id": f"call.{number}", "type": "tool_call"}
        messages += [AIMessage("", tool_calls=[call]), ToolMessage("18", tool_call_id=call["id"])]
    for _ in range(3):
        done = chatmend.repair(messages, "anthropic/claude-sonnet-4-5").messages
        made = [m.tool_calls[0]["id"] for m in done if isinstance(m, AIMessage)]
        assert made == [m.tool_call_id for m in done if isinstance(m, ToolMessage)]
        assert len({*made}) == 6
        assert not any("." in call_id for call_id in made)


def test_messages_of_a_known_structure_are_found_before_a_repair_begins() -> None:
    """The first repair learns the windows of the transcript, the second the whole transcript."""
    destination = find_destination_by_name("openai/gpt-4o")
    settings = RepairSettings(on_error="raise")
    for tools in (None, [{"type": "function", "function": {"name": "read"}}]):
        forget()
        for _ in range(2):
            repaired(returned("openai", 3), destination, settings, tools=tools)
        messages = returned("openai", 3)
        with patch.object(Run, "start", side_effect=AssertionError("a repair began")):
            done = repaired(messages, destination, settings, tools=tools)
        assert done.messages is messages
        assert done.tools is tools


def _variants() -> dict[str, list[BaseMessage]]:
    """Return conversations that differ from a clean one only in values."""
    chats = {name: returned("openai", 2) for name in ("clean", "blank", "nan", "half", "twice")}
    chats["blank"][0] = HumanMessage(" ")
    chats["nan"][1].tool_calls[0]["args"]["path"] = float("nan")  # type: ignore[attr-defined]
    chats["half"][1].tool_calls[0]["args"]["path"] = "\ud83d"  # type: ignore[attr-defined]
    first = chats["twice"][1].tool_calls[0]["id"]  # type: ignore[attr-defined]
    chats["twice"][5].tool_calls[0]["id"] = first  # type: ignore[attr-defined]
    chats["twice"][6] = ToolMessage("text", tool_call_id=first, name="read")
    chats["missing"] = [*returned("openai", 2)[:-3], HumanMessage("and now?")]
    chats["role"] = [ChatMessage("hello", role="user"), *returned("openai", 2)]
    return chats


def _item_variants() -> dict[str, list[BaseMessage]]:
    """Return conversations of the Responses API that differ in one value of a content block."""
    changes: dict[str, Any] = {
        "clean": {},
        "blank text": {(1, "text"): " "},
        "half a character": {(1, "text"): "\ud83d"},
        "no reasoning": {(0, "encrypted_content"): ""},
        "foreign item": {(0, "id"): "thinking_1"},
        "item twice": {(0, "id"): "rs_0"},
        "same id": {(2, "id"): "rs_1"},
        "call not among the calls": {(2, "call_id"): "call_x"},
        "two calls": {(2, "call_id"): "call_00000"},
        "other type": {(0, "type"): "web_search_call"},
        "wrapped": {(0, "type"): "non_standard", (0, "value"): {"type": "computer_call"}},
        "generated image": {(0, "type"): "image", (0, "base64"): "iVBO", (0, "id"): "ig_1"},
        "image": {(0, "type"): "image", (0, "base64"): "iVBO", (0, "id"): "xx_1"},
        "number as id": {(0, "id"): 7},
        "set": {(0, "summary"): {"not JSON"}},
    }
    chats = {name: returned("responses", 2) for name in changes}
    for name, edits in changes.items():
        answer = chats[name][5]
        assert isinstance(answer.content, list)
        for (at, key), value in edits.items():
            answer.content[at][key] = deepcopy(value)  # type: ignore[index]
    chats["standard"] = returned("responses", 2)
    chats["standard"][5].response_metadata["output_version"] = "v1"
    return chats


@pytest.mark.parametrize("tools", [None, [], [{"type": "function", "function": {"name": "read"}}]])
@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-6", "mistral/mistral-large-latest"]
)
def test_what_is_known_does_not_affect_a_repair(target: str, tools: list[Any] | None) -> None:
    destination, settings = find_destination_by_name(target), RepairSettings(on_error="raise")

    def repair(messages: list[BaseMessage]) -> tuple[list[BaseMessage], list[Any]]:
        done = repaired(messages, destination, settings, tools=tools)
        return done.messages, [(change.code, change.index, change.why) for change in done.changes]

    expected = {}
    for name, messages in _variants().items():
        forget()
        expected[name] = repair(messages)
    forget()
    for _ in range(3):
        for name, messages in _variants().items():
            assert str(repair(messages)) == str(expected[name]), name


@pytest.mark.parametrize(
    "name", ["responses", "openai", "anthropic", "bedrock claude", "gemini 3", "mistral"]
)
def test_what_is_known_does_not_affect_a_repair_of_items(name: str) -> None:
    model = DESTINATIONS[name].model("http://127.0.0.1:1")
    destination, settings = find_destination(model, {}, None), RepairSettings(on_error="raise")

    def repair(messages: list[BaseMessage]) -> str:
        done = repaired(messages, destination, settings)
        changes = [(change.code, change.index, change.why) for change in done.changes]
        return str((done.messages, changes))

    with every_rule():
        expected = {name: repair(messages) for name, messages in _item_variants().items()}
    forget()
    for _ in range(3):
        for variant, messages in _item_variants().items():
            assert repair(messages) == expected[variant], variant
