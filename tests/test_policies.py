"""The policies that people ask for by name: what agent gateways do per provider, and no more."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Policy

HYGIENE = Policy.provider_hygiene()
UNDERSCORED = "call_gone-1"


def messy() -> list[Any]:
    """Leading assistant with an open call, an odd id, two users in a row, a part of nothing but blanks."""
    call = {"id": UNDERSCORED, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "one"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "   "}],
        },
    ]


def kept_to(target: str) -> list[Any]:
    return chatmend.repair(messy(), target, policy=HYGIENE).messages


@pytest.mark.parametrize(
    "target",
    ["openai", "openai/gpt-4o", "codex/gpt-5-codex", "other", "xai/grok-4", "groq/llama-3"],
)
def test_hygiene_leaves_openai_and_all_others_alone(target: str) -> None:
    messages = messy()
    assert chatmend.repair(messages, target, policy=HYGIENE).messages is messages


@pytest.mark.parametrize("target", ["google", "gemini/gemini-2.5-pro"])
def test_hygiene_for_google_opens_with_a_user_pairs_takes_turns_and_spells_ids_without_signs(
    target: str,
) -> None:
    opened, asked, result, said = kept_to(target)
    assert opened == {"role": "user", "content": "[continued]"}
    (call,) = asked["tool_calls"]
    assert call["id"].isalnum()
    assert result["tool_call_id"] == call["id"]
    assert result["content"] == "No result was recorded for this tool call."
    assert [part["text"] for part in said["content"]] == ["one", "two", "   "]


@pytest.mark.parametrize(
    "target", ["anthropic", "anthropic/claude-sonnet-4-5", "minimax/MiniMax-M2"]
)
def test_hygiene_for_anthropic_and_minimax_pairs_and_merges_users(target: str) -> None:
    asked, result, said = kept_to(target)
    assert asked == messy()[0]
    assert (result["tool_call_id"], result["content"]) == (
        UNDERSCORED,
        "No result was recorded for this tool call.",
    )
    assert [part["text"] for part in said["content"]] == ["one", "two", "   "]


def test_hygiene_for_mistral_gives_nine_character_ids_and_nothing_else() -> None:
    asked, *rest = kept_to("mistral/mistral-large-latest")
    (call,) = asked["tool_calls"]
    assert len(call["id"]) == 9
    assert call["id"].isalnum()
    assert rest == messy()[1:]


@pytest.mark.parametrize(
    "target", ["openrouter/mistralai/mistral-large", "nebius/mistralai/Mistral-7B", "vllm/devstral"]
)
def test_hygiene_tells_mistral_by_the_model_behind_every_host(target: str) -> None:
    asked, *rest = kept_to(target)
    (call,) = asked["tool_calls"]
    assert len(call["id"]) == 9
    assert rest == messy()[1:]


def test_hygiene_for_openai_removes_reasoning_that_lost_its_answer_and_nothing_else() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a"}],
    }
    items = [{"role": "user", "content": "q"}, reasoning, {"role": "user", "content": "r"}]
    sent = chatmend.repair(
        items, "openai/gpt-5", policy=HYGIENE, dialect="openai_responses"
    ).messages
    assert sent == [items[0], items[2]]
    whole = [items[0], reasoning, {**said, "id": "msg_1"}, items[2]]
    done = chatmend.repair(whole, "openai/gpt-5", policy=HYGIENE, dialect="openai_responses")
    assert done.messages is whole


def test_hygiene_drops_unsigned_thinking_of_claude_behind_antigravity() -> None:
    thought = {"type": "thinking", "thinking": "Plan.", "thoughtSignature": "EqQBCkYIAhgCKkAx"}
    bare = {"type": "thinking", "thinking": "Hm."}
    text = {"type": "text", "text": "Done."}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [thought, bare, text]},
        {"role": "user", "content": [{"type": "text", "text": "on"}]},
    ]
    target = "google-antigravity/claude-sonnet-4-5"
    sent = chatmend.repair(messages, target, policy=HYGIENE, dialect="anthropic_messages").messages
    signed = {"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"}
    assert sent[1]["content"] == [signed, text]


def test_hygiene_for_gemini_behind_openrouter_takes_out_signatures_that_cannot_be_ones() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    odd = {**call, "provider_specific_fields": {"thought_signature": "msg_123 not base64"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [odd]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ]
    sent = chatmend.repair(messages, "openrouter/google/gemini-2.5-pro", policy=HYGIENE).messages
    assert sent == [messages[0], {**messages[1], "tool_calls": [call]}, messages[2]]


@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature", "thinkingSignature"])
def test_a_signature_that_google_spelled_is_kept_under_anthropics_key(key: str) -> None:
    thought = {"type": "thinking", "thinking": "Plan.", key: "EqQBCkYIAhgCKkAx"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Done."}]},
        {"role": "user", "content": [{"type": "text", "text": "on"}]},
    ]
    sent = chatmend.repair(
        messages, "google-antigravity/claude-sonnet-4-5", dialect="anthropic_messages"
    ).messages
    assert sent[1]["content"][0] == {
        "type": "thinking",
        "thinking": "Plan.",
        "signature": "EqQBCkYIAhgCKkAx",
    }
    assert sent[1]["content"][1] is messages[1]["content"][1]


THOUGHT = {"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"}


def test_a_repair_of_a_window_leaves_later_thinking_valid() -> None:
    """It is made in the same way at every turn, so the provider was sent the same messages."""
    messages = [
        {"role": "user", "content": ""},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "on"},
        {"role": "assistant", "content": "two", "thinking_blocks": [THOUGHT]},
        {"role": "user", "content": " "},
        {"role": "user", "content": "more"},
    ]
    done = chatmend.repair(messages, "anthropic/claude-sonnet-4-5")
    assert [(change.index, change.invalidates_thinking) for change in done.changes] == [
        (0, False),
        (5, False),
    ]


HISTORY = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "one"}]},
    {"role": "user", "content": "on"},
    {"role": "system", "content": "Be brief."},
]


def test_a_system_message_that_moves_in_front_of_signed_thinking_says_so() -> None:
    hoist = chatmend.Policy(system="hoist")
    done = chatmend.repair(
        HISTORY, "anthropic/claude-sonnet-4-5", dialect="anthropic_messages", policy=hoist
    )
    assert done.system == "Be brief."
    assert [change.invalidates_thinking for change in done.changes if change.where == "system"] == [
        True
    ]


@pytest.mark.parametrize("policy", [chatmend.Policy(), chatmend.Policy(system="hoist")])
def test_nothing_moves_in_front_of_bound_thinking(policy: chatmend.Policy) -> None:
    target = "anthropic/claude-opus-5-5"
    done = chatmend.repair(HISTORY, target, dialect="anthropic_messages", policy=policy)
    assert done.system is None
    assert done.messages[:3] == HISTORY[:3]
    assert not any(change.invalidates_thinking for change in done.changes)


def test_no_tools_are_declared_in_front_of_bound_thinking() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [THOUGHT, call]},
        {"role": "user", "content": [result]},
    ]
    for target, declared in (("claude-opus-5-5", []), ("claude-opus-4-8", ["f"])):
        done = chatmend.repair(
            messages, f"anthropic/{target}", dialect="anthropic_messages", tools=[]
        )
        assert [tool["name"] for tool in done.tools] == declared
        assert [change.code for change in done.changes] == ["TOOL014"], "reported in any case"
