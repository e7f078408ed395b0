"""Long runs of clean windows are passed together: the result is that of every rule on every window."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from tests.every_rule import account, every_rule, forget
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGETS = {
    "openai_chat": ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "mistral/mistral-large-latest"),
    "anthropic_messages": ("anthropic/claude-sonnet-4-5", "minimax/MiniMax-M2"),
    "openai_responses": ("openai/gpt-4o", "openai/gpt-5.2", "xai/grok-4.6"),
    "gemini_contents": ("gemini/gemini-2.5-flash",),
    "bedrock_converse": ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",),
}
CLEAN = ("text", "one call", "two calls", "hosted call")
BROKEN = (
    "swapped results",
    "id again",
    "first id again",
    "no result",
    "two results",
    "other result",
    "marked",
)
KINDS = CLEAN + BROKEN


def _as_chat(ids: list[str], answered: list[str]) -> Iterator[dict[str, Any]]:
    calls = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
        for one in ids
    ]
    yield {"role": "assistant", "content": "I look.", **({"tool_calls": calls} if calls else {})}
    for one in answered:
        yield {"role": "tool", "tool_call_id": one, "content": "18"}


def _as_messages(ids: list[str], answered: list[str]) -> Iterator[dict[str, Any]]:
    calls = [{"type": "tool_use", "id": one, "name": "f", "input": {"a": 1}} for one in ids]
    yield {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *calls]}
    results = [{"type": "tool_result", "tool_use_id": one, "content": "18"} for one in answered]
    yield {"role": "user", "content": results or "Go on."}


def _as_items(ids: list[str], answered: list[str]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "I look."}
    for one in ids:
        call = {"type": "function_call", "id": f"fc_{one}", "call_id": one}
        yield {**call, "name": "f", "arguments": '{"a": 1}'}
    for one in answered:
        yield {"type": "function_call_output", "call_id": one, "output": "18"}


def _as_converse(ids: list[str], answered: list[str]) -> Iterator[dict[str, Any]]:
    calls = [{"toolUse": {"toolUseId": one, "name": "f", "input": {"a": 1}}} for one in ids]
    yield {"role": "assistant", "content": [{"text": "I look."}, *calls]}
    results = [{"toolResult": {"toolUseId": one, "content": [{"text": "18"}]}} for one in answered]
    yield {"role": "user", "content": results or [{"text": "Go on."}]}


def _as_contents(ids: list[str], answered: list[str]) -> Iterator[dict[str, Any]]:
    """Yield calls and results without ids: the name tells which belong together."""
    calls = [{"functionCall": {"name": one[:4], "args": {"a": 1}}} for one in ids]
    yield {"role": "model", "parts": [{"text": "I look."}, *calls]}
    results = [{"functionResponse": {"name": one[:4], "response": {"a": 1}}} for one in answered]
    yield {"role": "user", "parts": results or [{"text": "Go on."}]}


_WRITERS = {
    "gemini_contents": _as_contents,
    "openai_chat": _as_chat,
    "anthropic_messages": _as_messages,
    "openai_responses": _as_items,
    "bedrock_converse": _as_converse,
}


def _hosted(dialect: str, call_id: str) -> list[Any]:
    """Return what a hosted tool leaves, which a repair remembers; only two formats have it."""
    if dialect == "openai_responses":
        reasoning = {"type": "reasoning", "id": f"rs_{call_id}", "summary": []}
        return [{**reasoning, "encrypted_content": "gAAAAA" + "x" * 90}]
    if dialect != "anthropic_messages":
        return []
    call = {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": "a"}}
    found = {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}
    return [{"role": "assistant", "content": [call, found]}, {"role": "user", "content": "And?"}]


def session(dialect: str, kinds: list[str]) -> list[Any]:
    """Return a conversation with one window of each kind, in this order."""
    text = [{"text": "Hi."}] if dialect == "bedrock_converse" else "Hi."
    key, text = ("parts", [{"text": "Hi."}]) if dialect == "gemini_contents" else ("content", text)
    out: list[Any] = [{"role": "user", key: text}]
    used: list[str] = []
    for number, kind in enumerate(kinds):
        ids = [] if kind in ("text", "hosted call", "marked") else [f"call{number:05}"]
        if kind in ("two calls", "swapped results"):
            ids.append(f"also{number:05}")
        if kind == "id again":
            ids = used[-1:] or ids
        if kind == "first id again":
            ids = used[:1] or ids
        if kind == "hosted call":
            out += _hosted(dialect, f"srvtoolu_{number:05}")
        answered = [] if kind == "no result" else ids * (2 if kind == "two results" else 1)
        if kind == "marked" and dialect == "anthropic_messages":
            marked = {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}
            out += [
                {"role": "assistant", "content": "I look."},
                {"role": "user", "content": [marked]},
            ]
        if kind == "other result":
            answered = [f"other{number:05}"]
        if kind == "swapped results":
            answered = answered[::-1]
        used += ids
        out += _WRITERS[dialect](ids, answered)
        if dialect in ("openai_chat", "openai_responses") and kind == "text":
            out.append({"role": "user", "content": "Go on."})
    return out


@pytest.mark.parametrize(
    ("dialect", "target"),
    [(dialect, target) for dialect, targets in TARGETS.items() for target in targets],
)
def test_a_long_session_is_repaired_as_by_every_rule(dialect: str, target: str) -> None:
    rng = Random(target)
    for number in range(examples(12, 200)):
        share = rng.choice((0, 0.02, 0.1, 0.4))
        kinds = [
            rng.choice(KINDS if rng.random() < share else CLEAN) for _ in range(rng.randrange(80))
        ]
        if number % 2:
            kinds = sorted(kinds, key=KINDS.index)  # long runs of one kind
        messages = session(dialect, kinds)
        forget()
        done = [chatmend.repair(messages, target, dialect=dialect) for _ in range(2)]
        with every_rule():
            expected = chatmend.repair(messages, target, dialect=dialect)
        assert [account(one) for one in done] == [account(expected)] * 2, kinds


@pytest.mark.parametrize("dialect", _WRITERS)
@pytest.mark.parametrize("clean", ["one call", "two calls"])
def test_one_broken_window_in_a_long_run_is_repaired_as_by_every_rule(
    dialect: str, clean: str
) -> None:
    target = TARGETS[dialect][0]
    for kind in BROKEN:
        messages = session(dialect, [clean, "no result", *[clean] * 20, kind, *[clean] * 20])
        forget()
        chatmend.repair(session(dialect, [clean] * 41), target, dialect=dialect)
        done = [chatmend.repair(messages, target, dialect=dialect) for _ in range(2)]
        with every_rule():
            expected = chatmend.repair(messages, target, dialect=dialect)
        assert [account(one) for one in done] == [account(expected)] * 2, kind


def test_an_id_that_comes_again_after_a_long_run_is_found() -> None:
    messages = session("openai_chat", ["one call"] * 60)
    messages += _as_chat(["call00000"], ["call00000"])
    messages.append({"role": "user", "content": "Go on."})
    forget()
    for _ in range(3):
        done = chatmend.repair(messages, "anthropic/claude-sonnet-4-5")
        assert [(change.code, change.index) for change in done.changes] == [
            ("TOOL011", 121),
            ("TOOL011", 122),
        ]


@pytest.mark.parametrize("dialect", _WRITERS)
def test_a_clean_session_comes_back_as_the_same_object(dialect: str) -> None:
    messages = session(dialect, ["one call", "two calls", "text"] * 40)
    forget()
    for _ in range(3):
        done = chatmend.repair(messages, TARGETS[dialect][0], dialect=dialect)
        assert done.messages is messages, done.report()


def test_content_that_is_counted_is_counted_in_a_long_run() -> None:
    messages = session("anthropic_messages", ["text", *["marked"] * 9, "text"])
    forget()
    for _ in range(3):
        done = chatmend.repair(messages, TARGETS["anthropic_messages"][0])
        assert {change.rule for change in done.changes} == {"too-many-cache-markers"}
