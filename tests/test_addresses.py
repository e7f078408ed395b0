"""Clients that use another server's address: which rules apply there, and which apply to unknown servers."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect
from chatmend.options import known_hosts
from chatmend.targets import resolve
from chatmend.targets.addresses import target_at_address
from chatmend.targets.tables import host_tables
from tests import corpus

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
USER, RESULT = (
    {"role": "user", "content": "Look."},
    {"role": "tool", "tool_call_id": "c1", "content": "seen"},
)
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
SAID = {"role": "assistant", "content": "I looked."}
LENIENT = ("r01946", "r02542")
"""Accepted by hosts that allow calls without ids (Ollama's native API, Writer); other servers may refuse them."""
UNKNOWN = [
    "custom_openai/my-model",
    "openai_like/my-model",
    "nebius/my-model",
    "some-server/my-model",
    "openai_compatible/x",
]


def accepted() -> list[dict[str, Any]]:
    """Return the recorded chats that a provider accepted."""
    return [
        row
        for row in corpus.rows("requests_accepted")
        if row["format"] in ("openai_chat", "mistral_chat")
    ]


@pytest.mark.parametrize(
    ("name", "address", "target"),
    [
        ("openai/gpt-5", None, "openai/gpt-5"),
        ("openai/gpt-5", "https://api.openai.com/v1", "openai/gpt-5"),
        ("openai/gpt-5", "https://eu.api.openai.com/v1", "openai/gpt-5"),
        ("openai/deepseek-chat", "https://api.deepseek.com", "deepseek/deepseek-chat"),
        ("openai/kimi-k2-thinking", "https://api.moonshot.cn/v1", "moonshot/kimi-k2-thinking"),
        ("custom_openai/glm-4.6", "https://api.z.ai/api/paas/v4", "zai/glm-4.6"),
        (
            "openai/anthropic/claude-sonnet-4.5",
            "https://openrouter.ai/api/v1",
            "openrouter/anthropic/claude-sonnet-4.5",
        ),
        ("openai/gpt-4o", "https://acme.openai.azure.com/openai", "azure/gpt-4o"),
        ("openai/my-model", "http://10.0.0.7:8000/v1", "openai_compatible/my-model"),
        ("openai/gpt-4o", "https://llm.acme.example/v1", "openai_compatible/gpt-4o"),
        ("openai/x", "llm.acme.example/v1", "openai_compatible/x"),
        ("openai/x", "https://api.openai.com.evil.example/v1", "openai_compatible/x"),
        ("openai/x", "http://[broken", "openai_compatible/x"),
        ("anthropic/MiniMax-M2", "https://api.minimax.io/anthropic", "minimax/MiniMax-M2"),
        ("anthropic/claude-sonnet-4-5", "https://llm.acme.example", "anthropic/claude-sonnet-4-5"),
        ("anthropic/my-model", "https://llm.acme.example", "openai_compatible/my-model"),
        ("hosted_vllm/my-model", "http://10.0.0.7:8000/v1", "hosted_vllm/my-model"),
        ("azure/gpt-4o", "https://acme.openai.azure.com", "azure/gpt-4o"),
    ],
)
def test_the_address_decides_whose_rules_hold(name: str, address: str | None, target: str) -> None:
    assert target_at_address(name, address, {}) == target


ADDRESSES = {
    str(t["host"]): f"https://{h}/v1"
    for t in host_tables()
    for h in t.get("addresses", ())
    if "*" not in h
}


@pytest.mark.skipif(
    not corpus.there("requests_accepted"), reason="the recorded requests are not here"
)
def test_what_a_host_accepted_is_not_harmed_by_a_client_that_is_named_after_another() -> None:
    seen = set()
    for row in accepted():
        own, _, model = corpus.target_of(row).partition("/")
        if own in ADDRESSES and row["id"] not in corpus.CUT:
            seen.add(own)
            done = chatmend.repair_request(
                row["body"], target_at_address(f"openai/{model}", ADDRESSES[own], {})
            )
            assert [c.rule for c in done.changes if c.effect > Effect.RESHAPES] == [], row["id"]
    assert {"deepseek", "openai", "openrouter", "groq"} <= seen


@pytest.mark.skipif(
    not corpus.there("requests_accepted"), reason="the recorded requests are not here"
)
def test_at_a_server_that_nobody_knows_an_accepted_request_stays_as_it_is() -> None:
    for row in accepted():
        done = chatmend.repair_request(
            row["body"], target_at_address(f"openai/{row['model']}", "http://10.0.0.7:8000/v1", {})
        )
        changed = {c.rule for c in done.changes if c.applied}
        if chatmend.resolve(f"x/{row['model']}").maker == "mistral":
            changed -= {"invalid-call-id"}  # Mistral: nine characters on every host
        assert not changed or row["id"] in (*corpus.CUT, *LENIENT), row["id"]


KEPT: list[dict[str, Any]] = [
    {**SAID, "reasoning_content": "Hm."},
    {**SAID, "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]},
    {**SAID, "annotations": [], "refusal": None, "of_this_server": 1},
    {
        "role": "user",
        "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
    },
    {
        "role": "user",
        "content": [{"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}],
    },
    {
        "role": "user",
        "content": [{"type": "audio_url", "audio_url": {"url": "https://example.com/a.mp3"}}],
    },
    {"role": "user", "content": "hi", "name": "ann lee"},
]


@pytest.mark.parametrize("target", UNKNOWN)
@pytest.mark.parametrize("message", KEPT, ids=lambda message: "+".join(map(str, message)))
def test_at_a_server_that_nobody_knows_nothing_is_stripped(
    target: str, message: dict[str, Any]
) -> None:
    messages = [USER, message, {"role": "user", "content": "Go on."}]
    assert chatmend.repair(messages, target).messages is messages
    long = [
        USER,
        {**ASKS, "tool_calls": [{**CALL, "id": "x" * 90}]},
        {**RESULT, "tool_call_id": "x" * 90},
    ]
    assert chatmend.repair(long, target).messages is long


@pytest.mark.parametrize("target", UNKNOWN)
def test_at_a_server_that_nobody_knows_every_call_is_answered_once_directly_behind_it(
    target: str,
) -> None:
    late = chatmend.repair([USER, ASKS, USER, RESULT], target).messages
    assert [m["role"] for m in late] == ["user", "assistant", "tool", "user"]
    missing = chatmend.repair([USER, ASKS, USER], target)
    assert [m["role"] for m in missing.messages] == ["user", "assistant", "tool", "user"]
    assert [change.effect for change in missing.changes] == [Effect.ADDS]
    orphan = chatmend.repair([USER, SAID, RESULT, USER], target).messages
    assert "tool" not in [m["role"] for m in orphan]
    assert "seen" in str(orphan)
    twice = chatmend.repair([USER, ASKS, RESULT, RESULT], target).messages
    assert [m["role"] for m in twice].count("tool") == 1


@pytest.mark.parametrize("target", UNKNOWN)
def test_at_a_server_that_nobody_knows_calls_have_ids_and_lists_of_none_go(target: str) -> None:
    unnamed = {key: value for key, value in CALL.items() if key != "id"}
    messages = [USER, {**ASKS, "tool_calls": [unnamed]}, {"role": "tool", "content": "seen"}, SAID]
    sent = chatmend.repair(messages, target).messages
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] != ""
    assert (
        "tool_calls"
        not in chatmend.repair([USER, {**SAID, "tool_calls": []}, USER], target).messages[1]
    )


@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-V4-Flash", "moonshotai/kimi-k2-thinking"])
def test_what_a_maker_wants_back_is_added_wherever_the_model_is_served(model: str) -> None:
    done = chatmend.repair([USER, ASKS, RESULT], f"openai_compatible/{model}", thinking=True)
    assert done.messages[1]["reasoning_content"]
    assert {change.effect for change in done.changes} == {Effect.ADDS}


def test_other_named_by_the_caller_means_images_only() -> None:
    messages = [USER, ASKS, USER]
    assert chatmend.repair(messages, "other").messages is messages
    assert resolve("other").limits.roles is None


def test_an_operator_says_whose_rules_hold_behind_an_address_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(
        "CHATMEND_HOSTS", "https://llm.acme.example/openai/=openai, 10.0.0.7:8000=hosted_vllm"
    )
    for address, target in (
        ("https://llm.acme.example/openai/v1", "openai/m"),
        ("https://llm.acme.example/openai2/v1", "openai_compatible/m"),
        ("http://10.0.0.7:8000/v1", "hosted_vllm/m"),
        ("http://10.0.0.7:80001/v1", "openai_compatible/m"),
    ):
        assert target_at_address("openai/m", address, known_hosts()) == target


@pytest.mark.parametrize("text", ["nowhere", "http://a=opneai", "=openai"])
def test_an_entry_that_says_nothing_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATMEND_HOSTS", text)
    with pytest.raises(chatmend.TargetError, match="CHATMEND_HOSTS"):
        known_hosts()
