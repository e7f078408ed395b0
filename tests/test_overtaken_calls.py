"""When the model answers before a call has its result, the result is placed between the call and that answer.

This holds on every target. Only an assistant message without calls shows that the model went on.
"""

from __future__ import annotations

from itertools import groupby, product
from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from chatmend import Policy
from chatmend.dialects import DIALECTS
from chatmend.placeholders import NO_RESULT
from chatmend.transcript import Text, ToolCall, ToolResult, texts
from tests.promises import broken_promises
from tests.scale import sampled
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Callable

Messages = list[Any]
TARGETS = [
    (dialect, target)
    for dialect, target in ALL
    if target not in ("other", "hosted_vllm/google/gemma-2-9b-it")
]
"""All targets except one without tools and the unknown target."""
ANSWER, GO, MORE = "It is 18 degrees.", "How warm is it?", "And tomorrow?"
PROOF = "EqQBCkYIAhgCKkAxEqQBCkYIAhgCKkAx"
SEAL = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


class Chat:
    """Builds OpenAI chat messages."""

    @staticmethod
    def user(words: str) -> Messages:
        return [{"role": "user", "content": words}]

    @staticmethod
    def calls(*ids: str, thought: bool = False) -> Messages:
        calls = [
            {"id": one, "type": "function", "function": {"name": f"f{one}", "arguments": "{}"}}
            for one in ids
        ]
        said = {"role": "assistant", "content": None, "tool_calls": calls}
        if thought:
            said["thinking_blocks"] = [
                {"type": "thinking", "thinking": "I look it up.", "signature": PROOF}
            ]
        return [said]

    @staticmethod
    def answer(words: str = ANSWER, *, thought: bool = False) -> Messages:
        said: dict[str, Any] = {"role": "assistant", "content": words}
        if thought:
            said["thinking_blocks"] = [
                {"type": "thinking", "thinking": "I know it.", "signature": PROOF}
            ]
        return [said]

    @staticmethod
    def result(call_id: str, words: str) -> Messages:
        return [{"role": "tool", "tool_call_id": call_id, "content": words}]


class Blocks:
    """Builds Anthropic messages."""

    @staticmethod
    def user(words: str) -> Messages:
        return [{"role": "user", "content": words}]

    @staticmethod
    def calls(*ids: str, thought: bool = False) -> Messages:
        thinks = (
            [{"type": "thinking", "thinking": "I look it up.", "signature": PROOF}]
            if thought
            else []
        )
        uses = [{"type": "tool_use", "id": one, "name": f"f{one}", "input": {}} for one in ids]
        return [{"role": "assistant", "content": [*thinks, *uses]}]

    @staticmethod
    def answer(words: str = ANSWER, *, thought: bool = False) -> Messages:
        thinks = (
            [{"type": "thinking", "thinking": "I know it.", "signature": PROOF}] if thought else []
        )
        return [{"role": "assistant", "content": [*thinks, {"type": "text", "text": words}]}]

    @staticmethod
    def result(call_id: str, words: str) -> Messages:
        return [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": call_id, "content": words}],
            }
        ]


class Items:
    """Builds Responses items."""

    @staticmethod
    def user(words: str) -> Messages:
        return [{"role": "user", "content": words}]

    @staticmethod
    def calls(*ids: str, thought: bool = False) -> Messages:
        thinks = [{"type": "reasoning", "id": f"rs_{ids[0]}", "summary": []}] if thought else []
        calls = [
            {"type": "function_call", "call_id": one, "name": f"f{one}", "arguments": "{}"}
            for one in ids
        ]
        return [*thinks, *calls]

    @staticmethod
    def answer(words: str = ANSWER, *, thought: bool = False) -> Messages:
        thinks = [{"type": "reasoning", "id": "rs_answer", "summary": []}] if thought else []
        return [*thinks, {"role": "assistant", "content": words}]

    @staticmethod
    def result(call_id: str, words: str) -> Messages:
        return [{"type": "function_call_output", "call_id": call_id, "output": words}]


class Contents:
    """Builds Gemini contents."""

    @staticmethod
    def user(words: str) -> Messages:
        return [{"role": "user", "parts": [{"text": words}]}]

    @staticmethod
    def calls(*ids: str, thought: bool = False) -> Messages:
        thinks = [{"text": "I look it up.", "thought": True}] if thought else []
        calls = [
            {"functionCall": {"id": one, "name": f"f{one}", "args": {}}, "thoughtSignature": SEAL}
            for one in ids
        ]
        return [{"role": "model", "parts": [*thinks, *calls]}]

    @staticmethod
    def answer(words: str = ANSWER, *, thought: bool = False) -> Messages:
        thinks = [{"text": "I know it.", "thought": True}] if thought else []
        return [{"role": "model", "parts": [*thinks, {"text": words}]}]

    @staticmethod
    def result(call_id: str, words: str) -> Messages:
        response = {"id": call_id, "name": f"f{call_id}", "response": {"output": words}}
        return [{"role": "user", "parts": [{"functionResponse": response}]}]


class Converse:
    """Builds messages of Bedrock's Converse API."""

    @staticmethod
    def user(words: str) -> Messages:
        return [{"role": "user", "content": [{"text": words}]}]

    @staticmethod
    def calls(*ids: str, thought: bool = False) -> Messages:
        text = {"text": "I look it up.", "signature": SEAL}
        thinks = [{"reasoningContent": {"reasoningText": text}}] if thought else []
        calls = [{"toolUse": {"toolUseId": one, "name": f"f{one}", "input": {}}} for one in ids]
        return [{"role": "assistant", "content": [*thinks, *calls]}]

    @staticmethod
    def answer(words: str = ANSWER, *, thought: bool = False) -> Messages:
        text = {"text": "I know it.", "signature": SEAL}
        thinks = [{"reasoningContent": {"reasoningText": text}}] if thought else []
        return [{"role": "assistant", "content": [*thinks, {"text": words}]}]

    @staticmethod
    def result(call_id: str, words: str) -> Messages:
        held = {"toolUseId": call_id, "content": [{"text": words}]}
        return [{"role": "user", "content": [{"toolResult": held}]}]


class Ollama(Chat):
    """How Ollama's ``/api/chat`` says it."""

    @staticmethod
    def calls(*ids: str, thought: bool = False) -> Messages:
        calls = [{"id": one, "function": {"name": f"f{one}", "arguments": {}}} for one in ids]
        thinks = {"thinking": "I look it up."} if thought else {}
        return [{"role": "assistant", "content": "", "tool_calls": calls, **thinks}]

    @staticmethod
    def answer(words: str = ANSWER, *, thought: bool = False) -> Messages:
        thinks = {"thinking": "I know it."} if thought else {}
        return [{"role": "assistant", "content": words, **thinks}]


SAYS: dict[str, Any] = {
    "openai_chat": Chat, "anthropic_messages": Blocks, "openai_responses": Items, "gemini_contents": Contents,
    "bedrock_converse": Converse, "ollama_chat": Ollama,
}  # fmt: skip
A, B = "abcdefgh1", "abcdefgh2"

RESULTS = (NO_RESULT, "18", "19")
SHAPES: dict[str, tuple[Callable[[Any], Messages], list[str]]] = {
    "no result": (lambda say: [*say.calls(A), *say.answer()], ["call", NO_RESULT, ANSWER]),
    "a late result": (lambda say: [*say.calls(A), *say.answer(), *say.result(A, "18")], ["call", "18", ANSWER]),
    "one of two results, late": (
        lambda say: [*say.calls(A, B), *say.answer(), *say.result(B, "18")],
        ["call", "call", NO_RESULT, "18", ANSWER],
    ),
    "one of two results, the first": (
        lambda say: [*say.calls(A, B), *say.answer(), *say.result(A, "18")],
        ["call", "call", "18", NO_RESULT, ANSWER],
    ),
    "two late results": (
        lambda say: [*say.calls(A, B), *say.answer(), *say.result(A, "18"), *say.result(B, "19")],
        ["call", "call", "18", "19", ANSWER],
    ),
    "parallel calls in two messages": (
        lambda say: [*say.calls(A), *say.calls(B), *say.answer()],
        ["call", "call", NO_RESULT, NO_RESULT, ANSWER],
    ),
    "parallel calls in two messages, late results": (
        lambda say: [*say.calls(A), *say.calls(B), *say.answer(), *say.result(A, "18"), *say.result(B, "19")],
        ["call", "call", "18", "19", ANSWER],
    ),
    "thinking before the answer": (
        lambda say: [*say.calls(A), *say.answer(thought=True), *say.result(A, "18")],
        ["call", "18", ANSWER],
    ),
    "thinking before the call": (
        lambda say: [*say.calls(A, thought=True), *say.answer()],
        ["call", NO_RESULT, ANSWER],
    ),
    "another call after the answer": (
        lambda say: [*say.calls(A), *say.answer(), *say.calls(B), *say.result(B, "19")],
        ["call", NO_RESULT, ANSWER, "call", "19"],
    ),
    "another call after the answer, results together": (
        lambda say: [*say.calls(A), *say.answer(), *say.calls(B), *say.result(A, "18"), *say.result(B, "19")],
        ["call", "18", ANSWER, "call", "19"],
    ),
    "two answers": (
        lambda say: [*say.calls(A), *say.answer(), *say.answer("Rather 19.")],
        ["call", NO_RESULT, ANSWER, "Rather 19."],
    ),
}  # fmt: skip
"""The messages of each case, and the expected order of texts, calls and results after the repair."""


def order(dialect: str, messages: Messages) -> list[str]:
    """Return calls, results and texts in their order; consecutive results are sorted, because their order is free."""
    found: list[str] = []
    for message in map(DIALECTS[dialect].read, messages):
        for part in message.parts:
            if isinstance(part, ToolCall):
                found.append("call")
            elif isinstance(part, ToolResult):
                found.append("".join(texts(part.content)))
            elif isinstance(part, Text):
                found += [
                    words
                    for words in part.text.split("\n\n")
                    if words not in ("", GO, MORE, "[continued]")
                ]
    return settled(found)


def settled(found: list[str]) -> list[str]:
    """Sort consecutive results."""
    groups = groupby(found, key=lambda words: words in RESULTS)
    return [
        words for is_result, group in groups for words in (sorted(group) if is_result else group)
    ]


def expected_on(target: str, expected: list[str]) -> list[str]:
    """Return the order on a target: one that allows a single call per message gets each call with its result."""
    if "Llama-3.1" in target and expected[:2] == ["call", "call"]:
        return ["call", expected[2], "call", expected[3], *expected[4:]]
    return settled(expected)


ENDINGS = [
    (*target, shape, ending)
    for target, shape, ending in product(TARGETS, SHAPES, ["the model", "a user"])
]


@pytest.mark.parametrize(
    ("dialect", "target", "shape", "ends_with"), sampled(ENDINGS, ENDINGS[::13])
)
def test_the_result_stands_between_the_call_and_the_answer(
    dialect: str, target: str, shape: str, ends_with: str
) -> None:
    say, (make, expected) = SAYS[dialect], SHAPES[shape]
    messages = [*say.user(GO), *make(say), *(say.user(MORE) if ends_with == "a user" else [])]
    done = chatmend.repair(messages, target, dialect=dialect)
    assert order(dialect, done.messages) == expected_on(target, expected)
    assert not list(broken_promises(messages, target, dialect))


POLICIES = {
    "strict": Policy.strict_alternation(),
    "offline": Policy.offline(),
    "insert": Policy(turns="insert"),
    "insert, mild": Policy(turns="insert", alternation="always", allow=chatmend.Effect.RESHAPES),
    "mild": Policy(allow=chatmend.Effect.RESHAPES),
}
CHOICES = [(*target, shape, name) for target, shape, name in product(TARGETS, SHAPES, POLICIES)]


MERGED = ("anthropic_messages", "anthropic/claude-opus-4-8", "two answers", "insert, mild")
"""The calls must end the turn, and the turn must be one message."""


@pytest.mark.parametrize(
    ("dialect", "target", "shape", "name"), sampled(CHOICES, [*CHOICES[::43], MERGED])
)
def test_the_promises_hold_for_every_policy(
    dialect: str, target: str, shape: str, name: str
) -> None:
    policy = POLICIES[name]
    say = SAYS[dialect]
    messages = [*say.user(GO), *SHAPES[shape][0](say), *say.user(MORE), *say.answer("Cold.")]
    assert not list(broken_promises(messages, target, dialect, policy=policy, judged=False))


@pytest.mark.parametrize("target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "strict"])
def test_parallel_calls_in_several_messages_stay_one_turn(target: str) -> None:
    """Neither a message with another call nor an empty message shows that the model went on."""
    silent = {"role": "assistant", "content": ""}
    messages = [
        *Chat.user(GO),
        *Chat.calls(A),
        silent,
        *Chat.calls(B),
        *Chat.result(A, "18"),
        *Chat.result(B, "19"),
    ]
    done = chatmend.repair(messages, target)
    assert order("openai_chat", done.messages) == ["call", "call", "18", "19"]
    assert {change.code for change in done.changes}.isdisjoint({"TOOL006", "TOOL007"})


def test_reasoning_between_parallel_calls_does_not_part_them() -> None:
    between = {"type": "reasoning", "id": "rs_2", "summary": []}
    calls = [*Items.calls(A, thought=True), between, *Items.calls(B)]
    messages = [*Items.user(GO), *calls, *Items.result(A, "18"), *Items.result(B, "19")]
    assert chatmend.repair(messages, "openai/gpt-5").messages is messages


def test_the_changes_name_the_call_and_what_was_moved() -> None:
    late = [*Chat.user(GO), *Chat.calls(A), *Chat.answer(), *Chat.result(A, "18"), *Chat.user(MORE)]
    (change,) = chatmend.repair(late, "openai/gpt-4o").changes
    assert (change.code, change.index, change.effect) == ("TOOL006", 2, chatmend.Effect.RESHAPES)
    never = [*Chat.user(GO), *Chat.calls(A), *Chat.answer(), *Chat.user(MORE)]
    (change,) = chatmend.repair(never, "openai/gpt-4o").changes
    assert (change.code, change.index, change.effect) == ("TOOL007", 1, chatmend.Effect.ADDS)
    done = chatmend.repair(never, "openai/gpt-4o")
    assert chatmend.replay(never, done.changes) == done.messages


def test_a_window_that_loses_its_last_result_gets_a_turn_of_the_user_in_the_same_change() -> None:
    late = [*Chat.user(GO), *Chat.calls(A), *Chat.answer(), *Chat.result(A, "18")]
    done = chatmend.repair(late, "openai/gpt-4o")
    assert done.messages == [
        late[0],
        late[1],
        late[3],
        late[2],
        {"role": "user", "content": "[continued]"},
    ]
    assert [(change.code, change.effect) for change in done.changes] == [
        ("TOOL006", chatmend.Effect.ADDS)
    ]


def test_where_nothing_may_be_added_what_needs_no_addition_is_repaired() -> None:
    mild = Policy(allow=chatmend.Effect.RESHAPES)
    late = [*Chat.user(GO), *Chat.calls(A), *Chat.answer(), *Chat.result(A, "18"), *Chat.user(MORE)]
    assert order("openai_chat", chatmend.repair(late, "openai/gpt-4o", policy=mild).messages) == [
        "call",
        "18",
        ANSWER,
    ]
    never = [*Chat.user(GO), *Chat.calls(A), *Chat.answer(), *Chat.user(MORE)]
    done = chatmend.repair(never, "openai/gpt-4o", policy=mild)
    assert ("TOOL007", False) in [(change.code, change.applied) for change in done.changes]


def test_thinking_behind_calls_stays_before_its_text() -> None:
    thought = {"type": "thinking", "thinking": "And then?", "signature": PROOF}
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    text = {"type": "text", "text": "I ask."}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "18"}
    messages = [
        *Blocks.user(GO),
        {"role": "assistant", "content": [call, thought, text]},
        {"role": "user", "content": [result]},
    ]
    done = chatmend.repair(messages, "anthropic/claude-opus-4-8")
    assert done.messages[1]["content"] == [thought, text, call]
    assert not chatmend.check(done.messages, "anthropic/claude-opus-4-8")


@pytest.mark.parametrize(
    "target", [target for dialect, target in TARGETS if dialect == "openai_chat"]
)
@pytest.mark.parametrize("late", [True, False])
def test_a_refusal_without_content_is_an_answer(target: str, late: bool) -> None:  # noqa: FBT001 - of pytest
    call = {"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = [
        {"role": "user", "content": GO},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": None, "refusal": ANSWER},
    ]
    result = {"role": "tool", "tool_call_id": "abcdefgh1", "content": "18"}
    assert not list(broken_promises([*asked, result] if late else asked, target, "openai_chat"))
