"""Lone surrogates are replaced wherever a request may hold them, also after a refusal of an unknown server."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend import Effect
from tests.judges import judge

CUT, WHOLE = "You are \ud83d", "You are \ufffd"
SYSTEMS: dict[str, tuple[str, str, Any]] = {
    "a text": ("anthropic_messages", "anthropic/claude-sonnet-4-6", lambda text: {"system": text}),
    "blocks": (
        "anthropic_messages",
        "anthropic/claude-sonnet-4-6",
        lambda text: {"system": [{"type": "text", "text": text}]},
    ),
    "instructions": ("openai_responses", "openai/gpt-5", lambda text: {"instructions": text}),
    "a content": (
        "gemini_contents",
        "gemini/gemini-2.5-flash",
        lambda text: {"systemInstruction": {"parts": [{"text": text}]}},
    ),
    "converse": (
        "bedrock_converse",
        "bedrock/us.amazon.nova-pro-v1:0",
        lambda text: {"system": [{"text": text}]},
    ),
}
MESSAGES: dict[str, dict[str, Any]] = {
    "anthropic_messages": {"messages": [{"role": "user", "content": "hi"}]},
    "openai_responses": {"input": [{"role": "user", "content": "hi"}]},
    "gemini_contents": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    "bedrock_converse": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_prompt_that_can_be_encoded_is_unchanged(name: str) -> None:
    dialect, target, system = SYSTEMS[name]
    body = {**MESSAGES[dialect], **system("You are \U0001f600, ändert nichts.")}
    assert not chatmend.repair_request(body, target, dialect=dialect).changes


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_lone_surrogate_in_the_system_prompt_is_replaced(name: str) -> None:
    dialect, target, system = SYSTEMS[name]
    done = chatmend.repair_request({**MESSAGES[dialect], **system(CUT)}, target, dialect=dialect)
    assert done.body == {**MESSAGES[dialect], **system(WHOLE)}
    (change,) = done.changes
    assert (change.code, change.where, change.effect) == ("TEXT001", "system", Effect.DEGRADES)
    assert not chatmend.repair_request(done.body, target, dialect=dialect).changes
    (key,) = MESSAGES[dialect]
    assert not judge(dialect, target, done.body[key], system=next(iter(system(WHOLE).values())))


@pytest.mark.parametrize("place", ["system", "messages"])
def test_an_unknown_target_is_repaired_after_its_refusal(place: str) -> None:
    messages = [{"role": "user", "content": CUT if place == "messages" else "hi"}]
    body: dict[str, Any] = {"messages": messages, "max_tokens": 9}
    body |= {"system": CUT} if place == "system" else {}
    dialect = "anthropic_messages"
    assert not chatmend.repair_request(body, "other", dialect=dialect).changes
    refusal = "The request body is not valid JSON: no low surrogate in string: line 1 column 464"
    reaction = chatmend.react(body, "other", refusal, dialect=dialect)
    assert reaction is not None
    assert reaction.body == json.loads(json.dumps(body).replace("\\ud83d", "\\ufffd"))
    assert reaction.lesson is not None
    assert (reaction.lesson.limit, reaction.lesson.value) == ("lone_surrogates", False)
