"""The memory of a conversation: what was accepted is sent in the same form again."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend import Effect, Policy, SessionMemory
from chatmend.dialects import DIALECTS
from chatmend.jsontext import equality_key, is_same
from chatmend.lessons import digest_of
from chatmend.rules.refused_block import WHY_OUTDATED
from chatmend.session_memory import digest_of_message
from chatmend.transcript import Thinking
from tests.broken import broken, torn
from tests.promises import boundaries
from tests.scale import examples

SPOKEN = [
    ("openai_chat", "openai/gpt-4o"),
    ("anthropic_messages", "anthropic/claude-sonnet-4-6"),
    ("openai_responses", "openai/gpt-5"),
    ("gemini_contents", "gemini/gemini-2.5-flash"),
    ("bedrock_converse", "bedrock/us.amazon.nova-pro-v1:0"),
    ("ollama_chat", "ollama_chat/llama3.1"),
]
BOUND, FREE = "anthropic/claude-opus-5-5", "anthropic/claude-sonnet-4-5"
MISTRAL = "mistral/mistral-large-latest"
TEXT = {"type": "text", "text": "a"}
USER, NEXT, LAST = ({"role": "user", "content": text} for text in ("q", "n", "l"))


def thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "EqoB" + text * 200}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [thinking(text), TEXT]}


def thoughts(messages: list[Any]) -> list[str]:
    blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


def repaired(
    messages: list[Any], memory: SessionMemory, target: str = BOUND, **options: Any
) -> Any:
    return chatmend.repair(messages, target, dialect="anthropic_messages", memory=memory, **options)


def turns(messages: list[Any], target: str = BOUND, **options: Any) -> SessionMemory:
    """The memory after each request of a conversation, whose answers are its assistant messages."""
    memory = SessionMemory()
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            memory = repaired(messages[:at], memory, target, **options).memory
    return memory


def test_without_a_memory_nothing_is_returned() -> None:
    assert chatmend.repair([USER], BOUND).memory is None
    assert chatmend.repair_request({"messages": [USER]}, BOUND).memory is None


def test_a_sound_conversation_stays_the_same_object() -> None:
    messages = [USER, answer("x"), NEXT, answer("y"), LAST]
    done = repaired(messages, turns(messages, system="s", tools=[]), system="s", tools=[])
    assert done.messages is messages
    assert done.changes == ()


def repeats_thinking(messages: list[Any]) -> bool:
    """Whether a thinking block occurs twice; the provider refuses it behind the second prompt."""
    read = DIALECTS["anthropic_messages"].read
    parts = [part for message in messages for part in read(message).parts]
    blocks = [digest_of(part.extra) for part in parts if isinstance(part, Thinking)]
    return len(set(blocks)) < len(blocks)


@pytest.mark.parametrize("target", [BOUND, FREE, MISTRAL, "openai/gpt-4o"])
@pytest.mark.parametrize("make", [broken, torn])
def test_a_memory_changes_nothing_while_nothing_else_changes(target: str, make: Any) -> None:
    dialect = "anthropic_messages" if target.startswith("anthropic") else "openai_chat"
    for seed in range(examples(4, 200)):
        messages = make(seed, dialect)
        if target == BOUND and repeats_thinking(messages):
            continue
        memory = SessionMemory()
        for end in [*boundaries(messages, dialect), len(messages)]:
            before = equality_key(messages[:end])
            plain = chatmend.repair(messages[:end], target, dialect=dialect)
            done = chatmend.repair(messages[:end], target, dialect=dialect, memory=memory)
            assert is_same(done.messages, plain.messages), seed
            assert [(c.code, c.why) for c in done.changes] == [
                (c.code, c.why) for c in plain.changes
            ]
            assert is_same(chatmend.replay(messages[:end], done.changes), done.messages)
            assert equality_key(messages[:end]) == before, "the input is not modified"
            memory = SessionMemory.from_dict(done.memory.to_dict())


LATE = [
    USER,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
    NEXT,
    {"role": "assistant", "content": [TEXT]},
    LAST,
]
"""A call without a result, which a repair answers with a placeholder."""


@pytest.mark.parametrize("target", [BOUND, FREE])
def test_another_policy_changes_only_what_comes_later(target: str) -> None:
    memory = turns(LATE, target)
    sent = repaired(LATE[:3], SessionMemory(), target).messages
    lenient = Policy(allow=Effect.RESHAPES)
    assert repaired(LATE, SessionMemory(), target, policy=lenient).messages == LATE
    done = repaired(LATE, memory, target, policy=lenient)
    assert done.messages[: len(sent)] == sent
    assert done.messages[len(sent) :] == LATE[3:]
    assert [change.code for change in done.changes if change.applied] == ["PREFIX001"]
    assert chatmend.replay(LATE, done.changes) == done.messages


@pytest.mark.parametrize(("dialect", "target"), SPOKEN)
def test_no_policy_changes_what_was_accepted(dialect: str, target: str) -> None:
    """Whatever is wrong with a transcript: sent unrepaired before, and repaired from now on."""
    raw = Policy(allow=Effect.RESHAPES)
    kept = 0
    for seed in range(examples(5, 300)):
        messages = broken(seed, dialect)
        memory, sent = SessionMemory(), []
        for end in boundaries(messages, dialect):
            done = chatmend.repair(
                messages[:end], target, dialect=dialect, policy=raw, memory=memory
            )
            memory, sent = done.memory, done.messages
        done = chatmend.repair(messages, target, dialect=dialect, memory=memory)
        if any(change.rule == "too-many-images" for change in done.changes):
            continue
        begins = done.messages[: len(sent)]
        assert list(map(digest_of_message, begins)) == list(map(digest_of_message, sent)), seed
        assert is_same(chatmend.replay(messages, done.changes), done.messages)
        kept += any(change.code == "PREFIX001" for change in done.changes)
    assert kept or dialect == "ollama_chat"


def test_an_accepted_request_is_remembered_until_the_next_one_is_accepted() -> None:
    raw = Policy(allow=Effect.RESHAPES)
    memory = turns(LATE, policy=raw)
    refused = repaired([*LATE, {"role": "user", "content": ""}], memory, policy=raw)
    edited = [*LATE[:4], {"role": "user", "content": "edited"}]
    assert repaired(edited, refused.memory).messages[:3] == LATE[:3]


def test_a_transcript_that_was_accepted_unrepaired_is_not_repaired_later() -> None:
    raw = Policy(allow=Effect.RESHAPES)
    memory = turns(LATE, policy=raw)
    assert [change.code for change in repaired(LATE[:3], SessionMemory()).changes] == ["TOOL007"]
    done = repaired(LATE, memory)
    assert done.messages is LATE
    later = [*LATE, LATE[1], LAST]
    changed = repaired(later, done.memory).messages
    assert changed[:5] == LATE
    assert len(changed) == len(chatmend.repair(later[4:], BOUND).messages) + 4, "only the new one"


def test_a_request_without_an_answer_is_repaired_anew() -> None:
    """Nothing shows that the provider has accepted it."""
    memory = repaired(LATE[:3], SessionMemory(), policy=Policy(allow=Effect.RESHAPES)).memory
    assert [change.code for change in repaired(LATE[:3], memory).changes] == ["TOOL007"]


def test_a_lesson_takes_precedence_over_what_was_accepted() -> None:
    memory = turns(LATE, FREE)
    lesson = chatmend.Lesson(FREE, "refused_keys", ("x",))
    messages = [{**USER, "x": 1}, *LATE[1:]]
    done = repaired(messages, turns(messages, FREE), FREE, lessons=[lesson])
    assert "x" not in done.messages[0]
    assert memory.turns


def test_thinking_stays_while_the_prompt_stays() -> None:
    messages = [USER, answer("x"), NEXT, answer("y"), LAST]
    done = repaired(messages, turns(messages))
    assert thoughts(done.messages) == ["x", "y"]


MOVED = {**USER, "content": [{**TEXT, "text": "q", "cache_control": {"type": "ephemeral"}}]}


def test_a_cache_marker_that_moves_changes_no_prompt() -> None:
    messages = [USER, answer("x"), NEXT, answer("y"), LAST]
    done = repaired([MOVED, *messages[1:]], turns(messages))
    assert thoughts(done.messages) == ["x", "y"]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"system": "another"}, []),
        ({"tools": [{"name": "f", "input_schema": {"type": "object"}}]}, []),
        ({"first": {**USER, "content": "edited"}}, []),
        ({"middle": {**NEXT, "content": "edited"}}, ["x"]),
        ({"last": {**LAST, "content": "edited"}}, ["x", "y"]),
    ],
)
def test_thinking_behind_a_changed_prompt_is_removed(change: Any, left: list[str]) -> None:
    messages = [USER, answer("x"), NEXT, answer("y"), LAST]
    memory = turns(messages)
    given = {"system": change.get("system"), "tools": change.get("tools")}
    for name, at in (("first", 0), ("middle", 2), ("last", 4)):
        messages[at] = change.get(name, messages[at])
    done = repaired(messages, memory, **given)
    assert thoughts(done.messages) == left
    assert {one.why for one in done.changes} <= {WHY_OUTDATED}

    longer = [*messages, answer("z"), USER]
    again = repaired(longer, done.memory, **given)
    assert thoughts(again.messages) == [*left, "z"], "new thinking follows the changed prompt"
    assert again.messages[: len(done.messages)] == done.messages
    free = repaired(messages, turns(messages, FREE), FREE, **given)
    assert thoughts(free.messages) == ["x", "y"], "other models do not compare"


def test_it_is_only_reported_if_the_policy_says_so() -> None:
    messages = [USER, answer("x"), NEXT]
    policy = Policy(bound_thinking="report")
    done = repaired(messages, turns(messages), system="another", policy=policy)
    assert done.messages is messages
    assert [(c.code, c.applied, c.finding) for c in done.changes] == [("BLOCK001", False, True)]


def test_an_unknown_conversation_keeps_its_thinking() -> None:
    """A process that has just started, or another conversation with the same opening."""
    messages = [USER, answer("x"), NEXT, answer("y"), LAST]
    other = [USER, answer("v"), LAST, answer("w"), LAST]
    assert thoughts(repaired(messages, SessionMemory()).messages) == ["x", "y"]
    assert thoughts(repaired(messages, turns(other)).messages) == ["x", "y"]


def test_a_memory_as_json_is_the_same_memory() -> None:
    memory = turns(LATE)
    assert memory.turns[-1].edits
    read = SessionMemory.from_dict(json.loads(json.dumps(memory.to_dict())))
    assert read == memory
    assert [turn.edits for turn in read.turns] == [turn.edits for turn in memory.turns]


def test_an_invalid_stored_memory_is_an_error() -> None:
    for stored in ({}, {"turns": [{}], "prompts": {}}, {"turns": 1}):
        with pytest.raises(chatmend.PolicyError, match="stored session memory"):
            SessionMemory.from_dict(stored)


@pytest.mark.parametrize(
    ("parameter", "left"),
    [
        ({"type": "adaptive"}, ["x"]),
        ({"type": "enabled", "budget_tokens": 2000}, []),
        ({"type": "disabled"}, []),
        ("low", []),
        (None, []),
    ],
)
def test_the_provider_can_ignore_thinking_behind_a_changed_prompt(
    parameter: Any, left: list[str]
) -> None:
    messages = [USER, answer("x"), NEXT]
    body = {"messages": messages, "system": "another", "max_tokens": 9, "thinking": parameter}
    done = chatmend.repair_request(
        body, BOUND, dialect="anthropic_messages", memory=turns(messages),
        policy=Policy(bound_thinking="drop_block"),
    )  # fmt: skip
    assert thoughts(done.body["messages"]) == left
    expected = {**parameter, **IGNORE} if left else parameter
    assert done.body["thinking"] == expected
    assert {change.why for change in done.changes} == {WHY_OUTDATED}


IGNORE = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def test_new_thinking_behind_ignored_thinking_stays_with_another_policy() -> None:
    """The provider leaves ignored blocks out of the prompt to which it binds new thinking."""
    messages = [USER, answer("x"), NEXT]
    adaptive = {"type": "adaptive"}
    ignoring = Policy(bound_thinking="drop_block")
    given: Any = {"system": "another", "thinking": adaptive}
    done = repaired(messages, turns(messages), **given, policy=ignoring)
    assert (thoughts(done.messages), done.thinking) == (["x"], {**adaptive, **IGNORE})
    messages = [*messages, answer("y"), LAST]
    again = repaired(messages, done.memory, **given, policy=ignoring)
    assert thoughts(again.messages) == ["x", "y"]
    stripped = repaired(messages, again.memory, **given)
    assert thoughts(stripped.messages) == ["y"]


def test_only_the_second_of_two_equal_blocks_is_behind_another_prompt() -> None:
    messages = [USER, answer("x"), NEXT]
    memory = turns([*messages, answer("y")])
    messages = [*messages, answer("x"), NEXT, answer("y"), LAST]
    done = repaired(messages, memory)
    assert done.messages[:3] == messages[:3]
    assert done.messages[3]["content"] == [TEXT]
    assert chatmend.replay(messages, done.changes) == done.messages
    again = repaired([*messages, answer("z"), NEXT], done.memory)
    assert again.messages[: len(done.messages)] == done.messages
    assert thoughts(again.messages)[-1] == "z"


def test_equal_blocks_that_were_sent_together_stay() -> None:
    messages = [USER, answer("x"), NEXT, answer("x"), LAST]
    memory = repaired(messages, SessionMemory()).memory
    longer = [*messages, answer("y"), NEXT]
    assert thoughts(repaired(longer, memory).messages) == ["x", "x", "y"]


def test_thinking_of_a_turn_that_the_memory_has_not_seen_stays() -> None:
    """Another process has sent that request, or another provider has answered it."""
    messages = [USER, answer("x"), NEXT, answer("y"), NEXT, answer("z"), LAST]
    memory = repaired(messages[:1], SessionMemory()).memory
    for end in (5, 7):
        assert thoughts(repaired(messages[:end], memory).messages) == ["x", "y", "z"][: end // 2]
    edited = [USER, answer("x"), {**NEXT, "content": "edited"}, answer("y"), LAST]
    known = repaired(messages[:3], memory).memory
    assert thoughts(repaired(edited, known).messages) == ["x"], "y answers another request"


@pytest.mark.parametrize("policy", [Policy(late_results="move", duplicates="messages"), "offline"])
def test_a_policy_for_stored_transcripts_changes_nothing_that_was_accepted(policy: Any) -> None:
    memory = turns([USER, USER, answer("x")])
    messages = [USER, USER, answer("x"), NEXT, NEXT]
    done = repaired(messages, memory, policy=policy)
    assert done.messages == messages[:4]
    assert [(change.code, change.index) for change in done.changes] == [("OFF001", 4)]
    assert chatmend.replay(messages, done.changes) == done.messages


def test_a_request_that_failed_was_not_accepted() -> None:
    """The answer in the conversation comes from another provider."""
    raw = Policy(allow=Effect.RESHAPES)
    memory = repaired(LATE[:3], SessionMemory(), policy=raw).memory
    assert repaired(LATE, memory).messages is LATE
    refused = memory.refused()
    assert repaired(LATE, refused).messages == chatmend.repair(LATE, BOUND).messages
    accepted = repaired(LATE[:3], refused, policy=raw).memory
    assert repaired(LATE, accepted).messages is LATE, "it was sent again"
    assert SessionMemory().refused() == SessionMemory()
    assert memory.refused(refused.turns[0]) == memory


def test_a_request_that_is_sent_without_a_repair_is_remembered() -> None:
    body = {"messages": LATE[:3], "system": "s", "tools": [], "max_tokens": 9}
    memory = chatmend.remember_request(
        body, BOUND, memory=SessionMemory(), dialect="anthropic_messages"
    )
    done = chatmend.repair_request(
        {**body, "messages": LATE}, BOUND, dialect="anthropic_messages", memory=memory
    )
    assert done.body["messages"] is LATE
    unknown = chatmend.remember_request({"prompt": "q"}, BOUND, memory=memory)
    assert unknown is memory


def test_two_requests_at_the_same_time_are_both_remembered() -> None:
    first = repaired([USER], SessionMemory()).memory
    both = [repaired([USER, answer("x"), {**NEXT, "content": text}], first) for text in "ab"]
    merged = both[0].memory.merged(both[1].memory)
    for text in "ab":
        longer = [USER, answer("x"), {**NEXT, "content": text}, answer(text), LAST]
        assert thoughts(repaired(longer, merged, system="another").messages) == []
    failed = both[0].memory.refused()
    assert failed.merged(both[1].memory).turns[0].has_failed
    assert not failed.merged(both[0].memory).turns[-1].has_failed, "it was sent again"


def test_two_repaired_requests_at_the_same_time_are_both_remembered() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    opening = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    one, two = (
        chatmend.repair(
            [*opening, {"role": "user", "content": text}], "openai/gpt-4o", memory=SessionMemory()
        ).memory
        for text in "ab"
    )
    merged = one.merged(two)
    assert merged.turns == (*one.turns, *two.turns)
    assert all(turn.edits for turn in merged.turns)
    assert one.merged(one).turns == one.turns
    assert one.refused().merged(two).turns[0].has_failed
    assert hash(two.turns[0]) == hash(SessionMemory.from_dict(two.to_dict()).turns[0])


def test_only_what_was_changed_is_stored() -> None:
    memory = repaired(LATE[:3], SessionMemory()).memory
    (turn,) = memory.turns
    ((start, stop, becomes),) = turn.edits
    assert (start, stop) == (2, 2)
    assert [part["type"] for message in becomes for part in message["content"]] == ["tool_result"]
    marked = [MOVED, *LATE[1:]]
    done = repaired(marked, memory, policy=Policy(allow=Effect.RESHAPES))
    assert done.messages[0] is MOVED, "its cache marker stays"
