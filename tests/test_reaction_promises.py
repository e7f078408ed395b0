"""The promises of a reaction: it changes the refused body, and what it teaches weakens no limit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chatmend
from chatmend.dialects import DIALECTS
from chatmend.jsontext import is_same
from chatmend.lessons import Lesson, is_proof, with_lessons
from chatmend.reaction import Reaction
from chatmend.refusals import refusals
from chatmend.targets import Limits
from chatmend.targets.strictness import STRICTNESS, stricter
from tests.broken.strategies import transcripts
from tests.corpus import DIALECTS as DIALECTS_OF_FORMATS
from tests.corpus import rows, target_of, there
from tests.scale import examples
from tests.targets import ALL

ERRORS = [refusal.sample for refusal in refusals() if refusal.sample]
GPT = "openai/gpt-4o"
USER = {"role": "user", "content": "q"}


def broken_promises(
    body: dict[str, Any], target: str, error: object, dialect: str | None = None
) -> list[str]:
    """Return the promises that the reaction to an error breaks."""
    reaction = chatmend.react(body, target, error, dialect=dialect)
    if reaction is None:
        return []
    found = ["the body is the refused one"] if is_same(reaction.body, body) else []
    if reaction.lesson is not None and not is_proof(reaction.lesson):
        found += _weakened(body, target, dialect, reaction.lesson)
    return found


def _weakened(body: dict[str, Any], target: str, dialect: str | None, lesson: Lesson) -> list[str]:
    """Return what a lesson leaves in the body although the ordinary repair repairs it."""
    learnt = chatmend.repair_request(body, target, dialect=dialect, lessons=[lesson])
    again = chatmend.repair_request(learnt.body, target, dialect=dialect)
    codes = sorted({change.code for change in again.changes if change.applied})
    return [] if is_same(again.body, learnt.body) else [f"{lesson} leaves {codes}"]


@pytest.mark.skipif(not there("field_cases"), reason="the corpus is not on this machine")
def test_reactions_to_reported_failures_keep_the_promises() -> None:
    found = {
        case["id"]: broken_promises(case["body"], case["target"], case["error"])
        for case in rows("field_cases")
    }
    assert {name: broken for name, broken in found.items() if broken} == {}


@pytest.mark.skipif(not there("requests_rejected"), reason="the corpus is not on this machine")
def test_reactions_to_recorded_refusals_keep_the_promises() -> None:
    found = {
        row["id"]: broken_promises(
            row["body"],
            target_of(row),
            json.dumps(row["response_body"]),
            DIALECTS_OF_FORMATS[row["format"]],
        )
        for row in rows("requests_rejected")
        if row["format"] in DIALECTS_OF_FORMATS
    }
    assert {name: broken for name, broken in found.items() if broken} == {}


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@given(data=st.data())
@settings(max_examples=examples(40, 2000), suppress_health_check=list(HealthCheck), deadline=None)
def test_reactions_to_any_error_keep_the_promises(dialect: str, data: st.DataObject) -> None:
    targets = [name for form, name in ALL if form == dialect]
    target = data.draw(st.sampled_from([*targets, "my-server/m"]))
    key = DIALECTS[dialect].TRAITS.messages_key
    body = {"model": "m", key: data.draw(transcripts(dialect))}
    error = data.draw(st.sampled_from(ERRORS))
    assert broken_promises(body, target, error, dialect) == []


PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a user "
    "message."
)
UNPAIRED = (
    "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'."
)
ANSWER = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "content": [{"type": "output_text", "text": "a", "annotations": []}],
}


@pytest.mark.parametrize(
    ("target", "body", "error"),
    [
        (
            "anthropic/claude-sonnet-4-6",
            {"messages": [USER, {"role": "assistant", "content": "part"}], "max_tokens": 9},
            PREFILL,
        ),
        ("openai/gpt-5", {"input": [USER, ANSWER, USER]}, UNPAIRED),
    ],
)
def test_an_ordinary_repair_that_explains_the_error_is_the_reaction(
    target: str, body: dict[str, Any], error: str
) -> None:
    reaction = chatmend.react(body, target, error)
    done = chatmend.repair_request(body, target)
    assert done.body != body
    assert reaction == Reaction(done.body, done.changes)


@pytest.mark.parametrize(
    ("limit", "held", "given", "expected"),
    [
        ("trailing_assistant", "refused", "no-trailing-space", "refused"),
        ("trailing_assistant", "accepted", "no-trailing-space", "no-trailing-space"),
        ("system", "never", "leading", "never"),
        ("system", "leading", "first", "first"),
        ("thinking", "signed", "unsigned", "signed"),
        ("thinking", "unsigned", "refused", "refused"),
        ("pairing", True, False, True),
        ("pairing", False, True, True),
        ("mixed_parts", True, False, False),
        ("mixed_parts", False, True, False),
        ("trailing_calls", True, False, False),
        ("trailing_calls", False, True, False),
        ("max_call_id_length", None, 40, 40),
        ("max_call_id_length", 40, 64, 40),
        ("max_call_id_length", 64, 40, 40),
        ("images.min_side", 8, 4, 8),
        ("images.min_side", 8, 14, 14),
        ("refused_keys", {"a"}, {"b"}, {"a", "b"}),
        ("text_content", {"tool"}, {"assistant"}, {"tool", "assistant"}),
        ("null_content", None, {"user"}, {"user"}),
        ("roles", {"user", "assistant"}, {"user", "system"}, {"user"}),
        ("part_types", {"input_text"}, {"text"}, {"input_text"}),
        ("images.types", None, {"png"}, {"png"}),
        ("images.types", {"png"}, {"png", "jpeg"}, {"png"}),
        ("reasoning_key", "reasoning", "reasoning_content", "reasoning_content"),
        ("prefill_key", "prefix", "partial", "prefix"),
        ("call_id_pattern", None, "^a$", "^a$"),
    ],
)
def test_the_stricter_of_two_values(limit: str, held: Any, given: Any, expected: Any) -> None:
    values = [frozenset(one) if isinstance(one, set) else one for one in (held, given, expected)]
    assert stricter(limit, values[0], values[1]) == values[2]


@pytest.mark.parametrize("limit", sorted(STRICTNESS))
def test_a_stricter_value_holds_in_both_orders(limit: str) -> None:
    levels = STRICTNESS[limit]
    for one, level in levels.items():
        for other, other_level in levels.items():
            if level != other_level:
                strictest = max((one, other), key=levels.__getitem__)
                assert stricter(limit, one, other) == stricter(limit, other, one) == strictest


def test_an_item_of_reasoning_is_not_an_empty_message() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" * 9}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "r"}
    body = {"input": [USER, reasoning, call, result]}
    lesson = Lesson("openai/gpt-5", "empty_roles", ("assistant", "user"))
    assert chatmend.repair_request(body, "openai/gpt-5", lessons=[lesson]).body is body


def test_an_item_of_reasoning_is_not_a_list_of_texts() -> None:
    text = {"type": "reasoning_text", "text": "hm"}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [text]}
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a"}],
    }
    body = {"input": [USER, reasoning, said, USER]}
    target = "hosted_vllm/Qwen/Qwen3.5-32B"
    lesson = Lesson(target, "text_content", ("assistant",))
    sent = chatmend.repair_request(body, target, lessons=[lesson]).body["input"]
    assert sent == [USER, reasoning, {**said, "content": "a"}, USER]


def test_a_refused_empty_text_becomes_a_space_where_null_is_refused_too() -> None:
    """Grok refuses null."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    body = {"messages": [USER, asked, {"role": "tool", "tool_call_id": "c1", "content": "r"}]}
    error = "Unable to submit request because it has an empty text parameter."
    reaction = chatmend.react(body, "xai/grok-4", error)
    assert reaction is not None
    assert reaction.body["messages"][1] == {**asked, "content": " "}


def test_ids_must_match_the_patterns_of_the_table_and_of_the_lesson() -> None:
    call = {"id": "call.1:" + "x" * 70, "type": "function"}
    call |= {"function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "r"}
    target = "mistral/mistral-large-latest"
    lesson = Lesson(target, "call_id_pattern", "^[a-zA-Z0-9_-]+$")
    messages = [USER, asked, result]
    learnt = chatmend.repair(messages, target, lessons=[lesson])
    assert learnt.messages == chatmend.repair(messages, target).messages


def test_a_pattern_that_contradicts_the_table_replaces_it() -> None:
    limits = with_lessons(
        Limits(call_id_pattern="^[0-9]{4}$"), [Lesson("a/b", "call_id_pattern", "^[a-z]+$")], "a/b"
    )
    assert limits.call_id_pattern == "^[a-z]+$"
