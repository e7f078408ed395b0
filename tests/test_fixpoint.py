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
