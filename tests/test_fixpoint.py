"""A second repair changes nothing, for any input, policy, dialect and target."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect, Policy
from tests import fixpoint
from tests.scale import examples
from tests.targets import ALL

CLAUDE, GPT, KIMI = "anthropic/claude-sonnet-4-5", "openai/gpt-4o", "moonshot/kimi-k2.5"
USER, CALL = (
    {"role": "user", "content": "a"},
    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
)
DATA = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PIXEL = f"data:image/png;base64,{DATA}"
IMAGE = {"type": "input_image", "image_url": PIXEL}
UNREADABLE = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "t"}],
    "encrypted_content": 1.5,
}
SIGNED = {"name": [], "thoughtSignature": "data:x"}
TARGETS = sorted({target for _, target in ALL})


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_pass_changes_nothing(target: str) -> None:
    first = TARGETS.index(target) * examples(6, 0)  # each target with other policies
    assert fixpoint.run(target, first, examples(6, 720)) == []


@pytest.mark.parametrize(
    ("messages", "target", "dialect", "policy"),
    [
        ([{"parts": [SIGNED]}], "gemini/gemini-2.5-pro", "gemini_contents", Policy()),
        (
            [{"parts": [SIGNED]}, {"role": "model", "parts": [{}]}],
            "vertex_ai/gemini-2.5-pro",
            None,
            Policy(),
        ),
        ([{"parts": [SIGNED]}], CLAUDE, "gemini_contents", Policy()),
        (
            [{"parts": [{"thought": True, "thoughtSignature": {"ok": True}, "result": "a"}]}],
            "gemini/gemini-2.5-flash",
            "gemini_contents",
            Policy(),
        ),
        (
            [{"parts": [{"thought": {}, "thought_signature": 1.5, "type": "a"}]}],
            "vertex_ai/gemini-2.5-pro",
            "gemini_contents",
            Policy(),
        ),
        (
            [
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {
                    "type": "function_call_output",
                    "call_id": "c",
                    "content": [{"type": "output_text", "text": "a", "annotations": []}],
                },
            ],
            "openrouter/openai/gpt-5",
            "openai_responses",
            Policy(),
        ),
        (
            [{"type": "reasoning", "tool_calls": [{}]}],
            "xai/grok-4",
            "openai_responses",
            Policy(),
        ),
        (
            [{"type": "reasoning", "function_call": 5}],
            "xai/grok-4",
            "openai_responses",
            Policy(),
        ),
        (
            [USER, {"role": "assistant", "tool_calls": [None]}, USER],
            GPT,
            None,
            Policy(allow=Effect.ADDS),
        ),
        (
            [USER, {"role": "assistant", "content": "x", "tool_calls": [None]}],
            CLAUDE,
            None,
            Policy(allow=Effect.ADDS),
        ),
        ([USER, {"role": "assistant"}, USER], GPT, None, Policy.offline()),
        (
            [USER, {"role": "assistant", "content": None}, USER, {"role": "assistant"}],
            CLAUDE,
            None,
            Policy.offline(),
        ),
        (
            [{"role": "assistant", "content": [IMAGE]}, USER],
            KIMI,
            "openai_responses",
            Policy(allow=Effect.RESHAPES),
        ),
        (
            [
                USER,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "image", "source": {"type": "url", "url": "https://a.example/b"}},
                        {"type": "tool_use", "id": "abcdefgh1", "name": "f", "input": {}},
                    ],
                },
            ],
            "strict",
            "anthropic_messages",
            Policy(),
        ),
        (
            [USER, UNREADABLE, {"role": "assistant", "content": "x"}],
            GPT,
            "openai_responses",
            Policy(),
        ),
        ([USER, UNREADABLE], "openrouter/openai/gpt-5", "openai_responses", Policy()),
        *(
            ([{"role": "user", "content": [part]}], CLAUDE, "anthropic_messages", Policy())
            for part in (
                {"type": "image", "thinking": "x", "signature": "y"},
                {"type": "image", "path": "/a.png"},
                {"type": "image", "file_id": 1},
            )
        ),
        (
            [USER, {"role": "assistant", "content": [IMAGE]}],
            GPT,
            "openai_responses",
            Policy(allow=Effect.RESHAPES),
        ),
    ],
)
def test_nor_where_it_did_before(
    messages: list[Any], target: str, dialect: str | None, policy: Policy
) -> None:
    assert fixpoint.faults(messages, target, dialect, policy) == []


def test_an_image_is_not_copied_by_a_policy_that_only_reshapes() -> None:
    items = [USER, {"role": "assistant", "content": [IMAGE, {"type": "output_text", "text": "x"}]}]
    for _ in range(3):
        items = chatmend.repair(
            items, KIMI, dialect="openai_responses", policy=Policy(allow=Effect.RESHAPES)
        ).messages
    assert str(items).count("base64") == 1


def test_a_part_of_gemini_that_nothing_is_left_of_is_removed() -> None:
    sent = chatmend.repair([{"role": "user", "parts": [SIGNED]}], "gemini/gemini-2.5-pro").messages
    assert sent == [{"role": "user", "parts": [{"text": "[continued]"}]}]


def test_images_in_contents_stay_images_for_a_claude_behind_gemini() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": DATA}}
    contents = [{"role": "user", "parts": [{"text": "look"}, image]}]
    assert (
        chatmend.repair(contents, "vertex_ai/claude-sonnet-4-5", dialect="gemini_contents").messages
        is contents
    )


def test_calls_that_a_target_takes_one_by_one_are_parted_once() -> None:
    calls = [{**CALL, "id": f"c{at}"} for at in range(2)]
    results = [{"role": "tool", "tool_call_id": f"c{at}", "content": "r"} for at in range(2)]
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": calls}, *results]
    target = "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct"
    done = chatmend.repair(messages, target, policy=Policy(allow=Effect.RESHAPES))
    assert [message["role"] for message in done.messages[1:]] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert chatmend.replay(messages, done.changes) == done.messages
    assert (
        chatmend.repair(done.messages, target, policy=Policy(allow=Effect.RESHAPES)).messages
        is done.messages
    )


def test_the_keys_of_messages_with_results_are_not_lost_when_the_results_move_together() -> None:
    call = {"functionCall": {"name": "f", "args": {}}}
    result = {"functionResponse": {"name": "f", "response": {"output": "r"}}}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": [result]},
        {"role": "user", "note": "a text", "parts": [result]},
    ]
    done = chatmend.repair(contents, "vertex_ai/gemini-2.5-pro")
    assert [(change.code, change.effect) for change in done.changes] == [
        ("TOOL018", Effect.RESHAPES),
        ("KEY001", Effect.DROPS),
    ]
    assert done.messages[2:] == [{"role": "user", "parts": [result, result]}]


def test_the_keys_of_a_message_are_not_lost_when_its_calls_move_behind_thinking() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    thinking = {"type": "thinking", "thinking": "t", "signature": "EqQBCkYIAhgCKkAx"}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}
    messages = [
        USER,
        {"role": "assistant", "note": "a text", "content": [call]},
        {"role": "assistant", "content": [thinking]},
        {"role": "user", "content": [result]},
    ]
    done = chatmend.repair(messages, "anthropic/claude-sonnet-4-6")
    assert [(change.code, change.effect) for change in done.changes] == [
        ("TURN001", Effect.RESHAPES),
        ("KEY001", Effect.DROPS),
        ("TEXT004", Effect.RESHAPES),
    ]
    assert done.messages[1] == {"role": "assistant", "content": [thinking, call]}


def test_the_changes_of_a_later_pass_are_counted_in_the_transcript_as_it_came() -> None:
    repeated = [USER, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}]
    messages = [
        USER,
        {"role": "assistant", "content": "b"},
        USER,
        {"role": "human", "content": "a"},
        *repeated,
    ]
    done = chatmend.repair(messages, "strict", policy=Policy.offline())
    assert chatmend.replay(messages, done.changes) == done.messages
    assert all(change.index is None or 0 <= change.index < len(messages) for change in done.changes)


ITEMS = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"},
    {"type": "function_call_output", "call_id": "c"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "item_reference", "id": "msg_1"},
    {"type": "unknown_item"},
]
OF_CHAT = {
    "role": ["tool", "user", "assistant", 5],
    "tool_calls": [[], [{}], None, "x", [CALL]],
    "function_call": [5, None, {"name": "f", "arguments": "{}"}],
    "tool_call_id": ["c", 5],
    "content": [None, "", "x", [], [{"type": "output_text", "text": "a"}], [IMAGE]],
    "name": ["", 5, "n"],
    "thinking_blocks": [[{"type": "thinking", "thinking": "t", "signature": "s"}]],
}
"""Keys of a chat message that an item of the Responses API may have by mistake."""


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["type"])
@pytest.mark.parametrize("key", OF_CHAT)
def test_nor_for_items_with_a_key_of_chat_messages(item: dict[str, Any], key: str) -> None:
    for value in OF_CHAT[key]:
        for target in sorted({target for form, target in ALL if form == "openai_responses"}):
            given = [{"type": "message", "role": "user", "content": "q"}, {**item, key: value}]
            once = chatmend.repair(given, target, dialect="openai_responses")
            again = chatmend.repair(once.messages, target, dialect="openai_responses")
            assert again.messages is once.messages, (target, value)


@pytest.mark.parametrize("role", OF_CHAT["role"])
def test_an_item_with_a_role_keeps_its_id(role: object) -> None:
    given = [USER, {"type": "item_reference", "id": "msg_1", "role": role}]
    sent = chatmend.repair(given, "openai/gpt-5", dialect="openai_responses").messages
    assert sent[1] == {"type": "item_reference", "id": "msg_1"}


THOUGHT = {"type": "thinking", "thinking": "t", "signature": "EqoBCkYIARgCKkA"}
UNREADABLE_KEYS = {
    "thinking_blocks": [
        {}, {"a": 1}, "x", [], [{}], ["x"], [THOUGHT, {}], [{"type": "text", "text": "a"}], THOUGHT,
    ],
    "reasoning_content": [5, {}, [], ["x"], [THOUGHT]],
    "tool_calls": ["a", {}, 5, [{}], ["x"], []],
    "function_call": ["a", 5, {}, []],
    "tool_call_id": ["a", 5, None],
}  # fmt: skip
"""Keys of Chat Completions with values that no client sends."""
EMPTY, EMPTY_OUTPUT = {"text": ""}, {"type": "output_text", "text": ""}
MESSAGES: list[dict[str, Any]] = [
    {},
    {"role": "user", "content": "hello"},
    {"role": "tool", "content": "hello"},
    {"role": "assistant", "content": "hello"},
    {"role": "assistant", "content": None},
]


@pytest.mark.parametrize(
    ("dialect", "target"),
    [
        ("openai_chat", "openai/gpt-4o"),
        ("anthropic_messages", CLAUDE),
        ("openai_responses", "openai/gpt-5"),
        ("gemini_contents", "gemini/gemini-2.5-flash"),
        ("bedrock_converse", "bedrock/anthropic.claude-sonnet-4-5-v1:0"),
        ("ollama_chat", "ollama_chat/llama3.1"),
    ],
)
@pytest.mark.parametrize("key", UNREADABLE_KEYS)
def test_nor_for_unreadable_values_of_chat_completions(dialect: str, target: str, key: str) -> None:
    for value in UNREADABLE_KEYS[key]:
        for message in MESSAGES:
            for beside in ({}, {"tool_calls": "a"}, {"thinking_blocks": [THOUGHT]}):
                given = [USER, {**message, **beside, key: value}]
                once = chatmend.repair(given, target, dialect=dialect)
                again = chatmend.repair(once.messages, target, dialect=dialect, system=once.system)
                assert again.messages is once.messages, given
                parts = [
                    part
                    for sent in once.messages
                    for part in sent.get("content") or sent.get("parts") or ()
                ]
                assert not [part for part in parts if part in ({}, EMPTY, EMPTY_OUTPUT)], given


HELD = [
    {"text": "a"},
    {"inlineData": {"data": "AAAA"}},
    {"inlineData": {"mimeType": "image/png", "data": DATA}},
    {"inlineData": {"mimeType": "application/zip", "data": "AAAA"}},
    {"fileData": {"fileUri": "s3://b/x.pdf"}},
    {"functionCall": {"name": "f", "args": {}}},
    {"executableCode": {"code": "x"}},
    {},
]
BESIDE = [
    {}, {"type": "x"}, {"type": "text"}, {"type": "image"}, {"type": "file"}, {"type": []}, {"foo": 1},
    {"thought": True}, {"thought": {}},
]  # fmt: skip
SIGNATURES = [{}, {"thoughtSignature": "x"}, {"thoughtSignature": {}}, {"thought_signature": 1.5}]


@pytest.mark.parametrize("held", HELD, ids=lambda held: "-".join(held) or "nothing")
@pytest.mark.parametrize("beside", BESIDE, ids=str)
def test_nor_for_parts_of_gemini_with_other_keys(
    held: dict[str, Any], beside: dict[str, Any]
) -> None:
    for signature in SIGNATURES:
        part = {**held, **beside, **signature}
        inner = {"functionResponse": {"name": "f", "response": {}, "parts": [part]}}
        for role, sent in (("user", part), ("model", part), ("user", inner)):
            given = [{"role": "user", "parts": [{"text": "q"}]}, {"role": role, "parts": [sent]}]
            once = chatmend.repair(given, "gemini/gemini-2.5-flash", dialect="gemini_contents")
            again = chatmend.repair(once.messages, "gemini/gemini-2.5-flash")
            assert again.messages is once.messages, (role, sent)


@pytest.mark.parametrize("kind", ["x", "file", "image", []])
def test_a_refused_file_of_gemini_is_replaced_even_if_its_part_has_a_type(kind: object) -> None:
    file = {"inlineData": {"mimeType": "application/zip", "data": "AAAA"}, "type": kind}
    given = [{"role": "user", "parts": [{"text": "q"}, file]}]
    (message,) = chatmend.repair(given, "gemini/gemini-2.5-flash").messages
    assert [list(part) for part in message["parts"]] == [["text"], ["text"]]
