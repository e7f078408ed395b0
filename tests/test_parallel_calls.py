"""Several calls in one message, for targets that take one, or that fold equal ones into one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import chatmend
from chatmend import Effect, Policy, Target
from chatmend.lessons import Lesson
from chatmend.signatures import SKIP_SIGNATURE
from tests.judges import judge
from tests.sandbox.posting import post

LLAMA, GPT = "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct", "openai/gpt-4o"
USER = {"role": "user", "content": "go"}


def folding() -> Target:
    """Gemini behind a converter that folds equal calls of a message into one, as LiteLLM's does."""
    target = chatmend.resolve("gemini/gemini-2.5-flash")
    limits = [replace(held, equal_calls=False) for held in (target.limits, target.hygiene)]
    return replace(target, limits=limits[0], hygiene=limits[1], spoken={})


FLASH = folding()


def call(call_id: str, arguments: Any = "{}", name: str = "look") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: Any, content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(call_id: str, content: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def called(messages: list[Any]) -> list[list[str]]:
    """The ids of the calls by message, and of the results, in order."""
    return [
        [one["id"] for one in message["tool_calls"]]
        if "tool_calls" in message
        else [message["tool_call_id"]]
        for message in messages
        if "tool_calls" in message or "tool_call_id" in message
    ]


@pytest.mark.parametrize(
    ("messages", "target"),
    [
        pytest.param([USER, asks(call("a")), result("a")], LLAMA, id="one call"),
        pytest.param(
            [USER, asks(call("a")), result("a"), asks(call("b")), result("b")],
            LLAMA,
            id="one after another",
        ),
        pytest.param(
            [USER, {"role": "assistant", "content": "no call"}, USER], LLAMA, id="no call"
        ),
        pytest.param(
            [USER, asks(call("a"), call("b")), result("a"), result("b")],
            GPT,
            id="a target that takes two",
        ),
        pytest.param(
            [USER, asks(call("a", '{"at": 1}'), call("b", '{"at": 2}')), result("a"), result("b")],
            FLASH,
            id="other arguments",
        ),
        pytest.param(
            [USER, asks(call("a"), call("b", name="see")), result("a"), result("b")],
            FLASH,
            id="another name",
        ),
    ],
)
def test_calls_that_the_target_takes_stay_together(
    messages: list[Any], target: str | Target
) -> None:
    done = chatmend.repair(messages, target, dialect="openai_chat")
    assert done.messages is messages
    assert done.changes == ()


def many(number: int) -> list[Any]:
    """A message with as many calls, and their results in the order of the calls."""
    ids = [f"c{at}" for at in range(number)]
    return [
        USER,
        asks(*(call(name) for name in ids), content="I look."),
        *(result(name, f"result of {name}") for name in ids),
        {"role": "assistant", "content": "All done."},
        USER,
    ]


MOST = ["openai/gpt-5.2", "azure/gpt-4o", "github_copilot/gpt-5"]


@pytest.mark.parametrize("target", MOST)
def test_as_many_calls_as_the_target_takes_stay_together(target: str) -> None:
    for number in (127, 128):
        messages = many(number)
        assert chatmend.repair(messages, target).messages is messages
    more = many(129)
    for other in ("anthropic/claude-opus-4-8", "openrouter/openai/gpt-5", "my-server/m"):
        assert chatmend.repair(more, other).messages is more


@pytest.mark.parametrize("target", MOST)
def test_too_many_calls_get_further_messages_and_each_is_followed_by_its_results(
    target: str, own_sandbox: Any
) -> None:
    messages = many(300)
    done = chatmend.repair(messages, target)
    assert [change.code for change in done.changes] == ["TOOL009"]
    assert [len(ids) for ids in called(done.messages) if len(ids) > 1] == [128, 128, 44]
    assert done.messages[1]["content"] == "I look."
    assert [m for m in done.messages if m["role"] == "tool"] == messages[2:302]
    assert done.messages[130]["tool_calls"][0]["id"] == "c128"
    assert done.messages[131] == messages[130]
    assert done.messages[-2:] == messages[-2:]
    assert chatmend.repair(done.messages, target).messages is done.messages
    assert chatmend.replay(messages, done.changes) == done.messages
    assert chatmend.repair(messages[:-2], target).messages == done.messages[:-2]
    if not target.startswith("github"):
        assert judge("openai_chat", target, messages)
        assert judge("openai_chat", target, done.messages) == []
    url = own_sandbox.url("openai/v1/chat/completions")
    refused = post(url, json={"model": "gpt-5.2", "messages": messages})
    assert "array too long" in refused.json()["error"]["message"]
    sent = post(url, json={"model": "gpt-5.2", "messages": done.messages})
    assert sent.status_code == 200


def test_too_many_calls_in_blocks_are_split_and_items_are_not() -> None:
    uses = [{"type": "tool_use", "id": f"c{at}", "name": "f", "input": {}} for at in range(200)]
    given = [{"type": "tool_result", "tool_use_id": f"c{at}", "content": "x"} for at in range(200)]
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": uses},
        {"role": "user", "content": given},
    ]
    done = chatmend.repair(messages, MOST[0], dialect="anthropic_messages")
    assert [message["content"] for message in done.messages[1:]] == [
        *(uses[:128], given[:128], uses[128:], given[128:]),
    ]
    items = [
        {"type": "function_call", "call_id": f"c{at}", "name": "f", "arguments": "{}"}
        for at in range(200)
    ]
    outputs = [
        {"type": "function_call_output", "call_id": f"c{at}", "output": "x"} for at in range(200)
    ]
    talk = [USER, *items, *outputs]
    assert chatmend.repair(talk, MOST[0], dialect="openai_responses").messages is talk


def test_the_number_of_calls_is_read_from_a_refusal() -> None:
    error = (
        "Invalid 'messages[1].tool_calls': array too long. Expected an array with maximum length "
        "64, but got an array with length 65 instead."
    )
    body = {"messages": many(65), "model": "m"}
    reaction = chatmend.react(body, "my-server/m", error)
    assert reaction is not None
    assert (reaction.lesson.limit, reaction.lesson.value) == ("max_calls_per_message", 64)
    assert next(len(ids) for ids in called(reaction.body["messages"])) == 64


def test_each_call_gets_a_message_of_its_own_with_its_result_behind() -> None:
    messages = [
        USER,
        asks(call("a"), call("b"), content="I look."),
        result("b", "two"),
        result("a", "one"),
    ]
    done = chatmend.repair(messages, LLAMA)
    assert done.messages == [
        USER,
        asks(call("a"), content="I look."),
        result("a", "one"),
        asks(call("b"), content=""),
        result("b", "two"),
    ]
    assert "TOOL009" in [change.code for change in done.changes]
    assert judge("openai_chat", LLAMA, done.messages) == []


def test_what_the_user_types_among_the_results_comes_behind_them() -> None:
    typed = {"role": "user", "content": "hurry"}
    done = chatmend.repair(
        [USER, asks(call("a"), call("b")), result("a"), typed, result("b"), USER], LLAMA
    )
    assert called(done.messages) == [["a"], ["a"], ["b"], ["b"]]
    assert done.messages[5:] == [typed, USER]


def test_a_message_with_one_call_keeps_its_place_before_one_with_two() -> None:
    single = asks(call("a"))
    messages = [USER, single, asks(call("b"), call("c")), result("a"), result("b"), result("c")]
    done = chatmend.repair(messages, LLAMA)
    assert called(done.messages)[0] == ["a"]
    assert sorted(sum(called(done.messages), [])) == ["a", "a", "b", "b", "c", "c"]  # noqa: RUF017 - six texts
    assert judge("openai_chat", LLAMA, done.messages) == []


def test_equal_calls_are_sent_one_after_the_other() -> None:
    equal = [
        call("a", '{"at": 1, "of": 2}'),
        call("b", '{"of": 2, "at": 1}'),
        call("c", '{"at": 9}'),
    ]
    messages = [USER, asks(*equal), result("a", "one"), result("b", "two"), result("c", "three")]
    done = chatmend.repair(messages, FLASH)
    assert called(done.messages) == [["a"], ["a"], ["b", "c"], ["b"], ["c"]]
    assert [m["content"] for m in done.messages if m["role"] == "tool"] == ["one", "two", "three"]
    assert done.messages[3]["content"] is None


def test_calls_without_a_result_yet_are_separated_with_placeholders() -> None:
    done = chatmend.repair([USER, asks(call("a"), call("b")), USER], LLAMA)
    assert called(done.messages) == [["a"], ["a"], ["b"], ["b"]]
    assert judge("openai_chat", LLAMA, done.messages) == []


@pytest.mark.parametrize(
    "arguments", ['{"at": ', '[{"deep": [1, {"x": null}]}]', "12", '{"at": 1e999}', "[" * 9_000]
)
def test_arguments_of_any_kind_can_be_compared(arguments: str) -> None:
    messages = [
        USER,
        asks(call("a", arguments), call("b", arguments)),
        result("a", "one"),
        result("b", "two"),
    ]
    done = chatmend.repair(messages, FLASH)
    assert called(done.messages) == [["a"], ["a"], ["b"], ["b"]]
    assert chatmend.repair(done.messages, FLASH).messages is done.messages


@pytest.mark.parametrize("target", [LLAMA, FLASH], ids=["one call", "no equal calls"])
def test_a_prefix_stays_a_prefix_when_calls_are_separated(target: str | Target) -> None:
    messages = [
        USER,
        asks(call("a"), call("b")),
        result("a"),
        result("b"),
        {"role": "assistant", "content": "x"},
        USER,
    ]
    done = chatmend.repair(messages, target)
    before = chatmend.repair(messages[:4], target)
    assert done.messages[: len(before.messages)] == before.messages
    assert chatmend.replay(messages, done.changes) == done.messages


def test_results_in_one_message_follow_each_its_call_and_none_is_sent_twice() -> None:
    calls = [
        {"type": "tool_use", "id": f"c{at}", "name": "look", "input": {"at": at}} for at in range(3)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"c{at}", "content": f"r{at}"} for at in range(3)
    ]
    said = {"type": "text", "text": "And then?"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": [*results, said]},
    ]
    target = "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct"
    done = chatmend.repair(messages, target, dialect="anthropic_messages")
    assert [message["content"] for message in done.messages[1:]] == [
        [calls[0]], [results[0]], [calls[1]], [results[1]], [calls[2]], [results[2], said],
    ]  # fmt: skip
    assert (
        chatmend.repair(done.messages, target, dialect="anthropic_messages").messages
        is done.messages
    )
    assert chatmend.replay(messages, done.changes) == done.messages


def test_the_first_of_the_split_messages_keeps_the_other_keys() -> None:
    said = {**asks(call("a"), call("b"), content="I look."), "refusal": None}
    typed = {"role": "user", "content": "hurry"}
    done = chatmend.repair([USER, said, result("a"), result("b"), typed], LLAMA)
    assert done.messages[1:] == [
        {**said, "tool_calls": [call("a")]},
        result("a"),
        asks(call("b"), content=""),
        result("b"),
        typed,
    ]
    (change,) = [change for change in done.changes if change.code == "TOOL009"]
    assert change.before == (said, result("a"), result("b"))
    assert done.messages[2] is change.before[1]


def test_arguments_that_are_nested_too_deeply_to_be_parsed_can_be_compared() -> None:
    nested = "[" * 100_000
    messages = [USER, asks(call("a", nested), call("b", nested)), result("a"), result("b")]
    done = chatmend.repair(messages, FLASH)
    assert called(done.messages) == [["a"], ["a"], ["b"], ["b"]]


def test_calls_without_results_stay_together_if_the_policy_allows_no_placeholder() -> None:
    messages = [USER, asks(call("a"), call("b")), USER]
    done = chatmend.repair(messages, LLAMA, policy=Policy(allow=Effect.RESHAPES))
    assert called(done.messages) == [["a", "b"]]


OTHER_FORMATS = {
    "anthropic/claude-sonnet-4-6": (
        "anthropic_messages",
        {"role": "user", "content": "go"},
        [{"type": "tool_use", "id": name, "name": name, "input": {}} for name in "ab"],
        [{"type": "tool_result", "tool_use_id": name, "content": "done"} for name in "ab"],
    ),
    "bedrock/us.amazon.nova-pro-v1:0": (
        "bedrock_converse",
        {"role": "user", "content": [{"text": "go"}]},
        [{"toolUse": {"toolUseId": name, "name": name, "input": {}}} for name in "ab"],
        [{"toolResult": {"toolUseId": name, "content": [{"text": "done"}]}} for name in "ab"],
    ),
    "gemini/gemini-3-pro-preview": (
        "gemini_contents",
        {"role": "user", "parts": [{"text": "go"}]},
        [{"functionCall": {"name": name, "args": {}}} for name in "ab"],
        [{"functionResponse": {"name": name, "response": {"output": "done"}}} for name in "ab"],
    ),
}


@pytest.mark.parametrize("target", OTHER_FORMATS)
def test_in_each_format_a_lesson_splits_calls_into_messages_that_are_complete(target: str) -> None:
    dialect, user, calls, results = OTHER_FORMATS[target]
    key, speaker = ("parts", "model") if "parts" in user else ("content", "assistant")
    messages = [user, {"role": speaker, key: calls}, {"role": "user", key: results}]
    lessons = [Lesson(target, "max_calls_per_message", 1)]
    done = chatmend.repair(messages, target, dialect=dialect, lessons=lessons)
    signature = {"thoughtSignature": SKIP_SIGNATURE} if "gemini-3" in target else {}
    assert done.messages == [
        user,
        {"role": speaker, key: [calls[0] | signature]},
        {"role": "user", key: results[:1]},
        {"role": speaker, key: [calls[1] | signature]},
        {"role": "user", key: results[1:]},
    ]
    again = chatmend.repair(done.messages, target, dialect=dialect, lessons=lessons)
    assert again.messages is done.messages, again.report()
    assert judge(dialect, target, done.messages) == []
