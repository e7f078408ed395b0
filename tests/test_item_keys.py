"""Items of the Responses API have the keys of their type: those of OpenAI's SDK."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect
from chatmend.dialects.entries import PREFIXES
from chatmend.dialects.formats import ITEM_KEYS

GPT = "openai/gpt-4.1"
USER = {"role": "user", "content": "go"}
SAID = {"role": "assistant", "content": "done"}
WORDS: dict[str, Any] = {
    "action": {"type": "search", "query": "q"},
    "queries": ["q"],
    "pending_safety_checks": [],
    "tools": [],
    "outputs": [],
    "summary": [],
    "approve": True,
    "call_id": "call_1",
    "role": "developer",
    "status": "completed",
    "async": True,
    "encrypted_content": "gAAAA",
    "operation": {"type": "delete_file", "path": "a"},
}
PAIRED = {
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
}
ALONE = sorted(
    set(ITEM_KEYS) - PAIRED - {f"{kind}_output" for kind in PAIRED} - {"message", "item_reference"}
)


def item(kind: str) -> dict[str, Any]:
    """An item with all keys of its type."""
    required, others = ITEM_KEYS[kind]
    values = {key: WORDS.get(key, f"{key} of it") for key in sorted(required | others)}
    ids = {"id": f"{PREFIXES.get(kind, 'x')}_1", "approval_request_id": "mcpr_1", "type": kind}
    if kind == "reasoning":
        values["content"] = []  # OpenAI refuses texts
    return values | {key: value for key, value in ids.items() if key in values}


def repaired(*items: Any) -> tuple[list[Any], list[tuple[str, Effect]]]:
    done = chatmend.repair([USER, *items], GPT, dialect="openai_responses")
    assert chatmend.replay([USER, *items], done.changes) == done.messages
    again = chatmend.repair(done.messages, GPT, dialect="openai_responses")
    assert again.messages is done.messages
    return done.messages[1:], [(change.code, change.effect) for change in done.changes]


@pytest.mark.parametrize("kind", ALONE)
def test_an_item_with_every_key_of_its_type_is_unchanged(kind: str) -> None:
    assert repaired(item(kind), SAID, USER) == ([item(kind), SAID, USER], [])


@pytest.mark.parametrize("kind", sorted(PAIRED))
def test_a_call_and_its_output_with_every_key_are_unchanged(kind: str) -> None:
    call, output = item(kind), {**item(f"{kind}_output"), "output": "it is done"}
    known = frozenset.union(*ITEM_KEYS[f"{kind}_output"])
    if kind == "function_call":
        call["arguments"] = "{}"
    if "name" in call:
        call["name"] = output["name"] = "f"
    output = {key: value for key, value in output.items() if key in known}
    output |= {"id": "y_1", "call_id": call["call_id"]}
    output = {key: output[key] for key in output if key != "id" or "id" in known}
    thought = item("reasoning")
    assert repaired(thought, call, output, USER) == ([thought, call, output, USER], [])


@pytest.mark.parametrize("kind", ALONE)
def test_a_key_that_the_type_does_not_have_is_removed(kind: str) -> None:
    sent, changes = repaired({**item(kind), "trace": {"span": 7}}, SAID, USER)
    assert sent == [item(kind), SAID, USER]
    assert [code for code, _ in changes] == ["KEY001"]


@pytest.mark.parametrize(
    ("kind", "gone", "filled"),
    [
        ("file_search_call", "status", "completed"),
        ("web_search_call", "status", "completed"),
        ("web_search_call", "action", {"type": "search", "query": ""}),
        ("code_interpreter_call", "outputs", None),
        ("reasoning", "summary", []),
    ],
)
def test_a_missing_key_with_a_neutral_value_is_added(kind: str, gone: str, filled: Any) -> None:
    given = {key: value for key, value in item(kind).items() if key != gone}
    sent, changes = repaired(given, SAID, USER)
    assert sent == [{**given, gone: filled}, SAID, USER]
    assert {effect for _, effect in changes} == {Effect.RESHAPES}


@pytest.mark.parametrize(
    ("kind", "gone"),
    [
        ("mcp_list_tools", "server_label"),
        ("mcp_call", "name"),
        ("mcp_approval_response", "approve"),
    ],
)
def test_an_item_without_what_only_the_caller_knows_becomes_a_text(kind: str, gone: str) -> None:
    given = {key: value for key, value in item(kind).items() if key != gone}
    sent, changes = repaired(given, SAID, USER)
    assert sent[0]["role"] in ("assistant", "user")
    assert sent[0]["content"].startswith("Recorded tool ")
    assert all(value in sent[0]["content"] for key, value in given.items() if key == "arguments")
    assert changes == [("ITEM003", Effect.DEGRADES)]


@pytest.mark.parametrize("given", [{"type": "compaction"}, {"type": "item_reference"}])
def test_an_item_without_readable_content_is_dropped(given: dict[str, Any]) -> None:
    assert repaired(given, SAID, USER) == ([SAID, USER], [("ITEM003", Effect.DROPS)])


@pytest.mark.parametrize("kind", ["mcp_call", "file_search_call", "image_generation_call"])
def test_an_item_that_needs_an_id_gets_a_new_one(kind: str) -> None:
    """A wrong or repeated id is replaced, and a missing one is made."""
    without = {key: value for key, value in item(kind).items() if key != "id"}
    copies = [item(kind), item(kind), {**item(kind), "status": "incomplete"}, without]
    sent, _ = repaired(*copies, SAID, USER)
    ids = [one["id"] for one in sent[:4]]
    assert len(set(ids)) == 4
    assert ids[0] == item(kind)["id"]
    assert [{**one, "id": 0} for one in sent[:4]] == [{**one, "id": 0} for one in copies]


def test_what_refers_to_an_approval_request_follows_its_new_id() -> None:
    request = {**item("mcp_approval_request"), "id": "call_7"}
    response = {**item("mcp_approval_response"), "approval_request_id": "call_7"}
    call = {**item("mcp_call"), "approval_request_id": "call_7"}
    sent, changes = repaired(request, response, call, SAID, USER)
    assert sent[0]["id"] == sent[1]["approval_request_id"] == sent[2]["approval_request_id"]
    assert sent[0]["id"].startswith("mcpr_")
    assert {effect for _, effect in changes} == {Effect.RESHAPES}


def test_a_patch_keeps_the_status_that_it_must_have_without_its_id() -> None:
    call, output = item("apply_patch_call"), item("apply_patch_call_output")
    sent, _ = repaired({**call, "id": None}, output, USER)
    assert sent[0] == {key: value for key, value in call.items() if key != "id"}


def test_an_unknown_server_gets_its_items_unchanged() -> None:
    items = [USER, {"type": "web_search_call", "id": "ws_1", "trace": 1}, SAID, USER]
    for target in ("openai_compatible/qwen", "https://models.example/v1/a"):
        assert chatmend.repair(items, target, dialect="openai_responses").messages is items


def test_the_texts_of_an_answer_have_annotations() -> None:
    text = {"type": "output_text", "text": "a"}
    answer = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    for target in (GPT, "hosted_vllm/openai/gpt-oss-120b"):
        messages = [USER, {**answer, "content": [text]}, USER]
        done = chatmend.repair(messages, target, dialect="openai_responses")
        assert done.messages[1]["content"] == [{**text, "annotations": []}]
    messages = [USER, {"role": "assistant", "content": [text]}, USER]
    done = chatmend.repair(messages, GPT, dialect="openai_responses")
    assert done.messages is messages, "accepted: recorded"


ANSWER: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": '{"a": "b"}', "annotations": [], "logprobs": []}],
}


def test_a_parsed_answer_loses_what_the_sdk_has_parsed() -> None:
    (text,) = ANSWER["content"]
    clean = [USER, ANSWER, USER]
    assert chatmend.repair(clean, GPT).messages is clean
    done = chatmend.repair(
        [USER, {**ANSWER, "content": [{**text, "parsed": {"a": "b"}}]}, USER], GPT
    )
    assert done.messages == clean
    (change,) = done.changes
    assert (change.code, change.effect) == ("KEY001", Effect.RESHAPES)


def test_a_call_loses_the_arguments_that_the_sdk_has_parsed() -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"a": "b"}'}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "o"}
    done = chatmend.repair([USER, {**call, "parsed_arguments": {"a": "b"}}, output, USER], GPT)
    assert done.messages == [USER, call, output, USER]
    (change,) = done.changes
    assert (change.code, change.effect) == ("KEY001", Effect.RESHAPES)


@pytest.mark.parametrize(
    ("action", "key", "effect"),
    [
        (
            {"type": "find_in_page", "url": "https://a", "pattern": "p"},
            {"query": None},
            Effect.RESHAPES,
        ),
        ({"type": "open_page", "url": "https://a"}, {"query": "q"}, Effect.DROPS),
        (
            {"type": "search", "query": "q", "queries": ["q"]},
            {"url": None, "pattern": None},
            Effect.RESHAPES,
        ),
    ],
)
def test_the_action_of_a_web_search_has_no_key_of_another_action(
    action: dict[str, Any], key: dict[str, Any], effect: Effect
) -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    clean = [USER, search, ANSWER, USER]
    assert chatmend.repair(clean, GPT).messages is clean
    done = chatmend.repair([USER, {**search, "action": {**action, **key}}, ANSWER, USER], GPT)
    assert done.messages == clean
    (change,) = done.changes
    assert (change.code, change.effect) == ("KEY001", effect)


def test_a_new_key_of_an_action_stays() -> None:
    action = {"type": "search", "query": "q", "freshness": "day"}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    messages = [USER, search, ANSWER, USER]
    assert chatmend.repair(messages, GPT).messages is messages


def test_a_gateway_that_stores_nothing_gets_no_reference() -> None:
    messages = [USER, {"type": "item_reference", "id": "msg_1"}, SAID, USER]
    done = chatmend.repair(messages, "openrouter/openai/gpt-4.1", dialect="openai_responses")
    assert done.messages == [USER, SAID, USER]
    assert chatmend.repair(messages, GPT, dialect="openai_responses").messages is messages
