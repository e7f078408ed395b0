"""The quick look at plain chats: where it says that nothing is to be done, every rule says so, too."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import chatmend
from chatmend.dialects import DIALECTS
from chatmend.plain import CHAT
from chatmend.repair import is_on, quick_look
from chatmend.targets import resolve
from tests.broken import broken, tear, torn, valid
from tests.scale import examples
from tests.targets import OPENAI_CHAT
from tests.test_rules import EverySymptom

SYSTEM = {"role": "system", "content": "Be brief."}
ASKED, SAID = {"role": "user", "content": "What now?"}, {"role": "assistant", "content": "This."}
DECLARED = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def exchange(rng: Random, first: int) -> list[Any]:
    """One to three calls and their results; ids are counted from ``first``."""
    ids = [f"abcdefg{first + number:02d}" for number in range(rng.choice([1, 1, 2, 3]))]
    names, arguments = ("look", "see"), ('{"at": "a"}', "{}", '{"n": 1}')
    calls = [
        {"id": one, "type": "function", "function": {"name": rng.choice(names), "arguments": rng.choice(arguments)}}
        for one in ids
    ]
    called = {"role": "assistant", "content": rng.choice([None, "I look."]), "tool_calls": calls}
    return [called, *({"role": "tool", "tool_call_id": one, "content": "18"} for one in ids)]


def chat(rng: Random) -> list[Any]:
    """A plain chat, nearly: calls may be equal, a user may speak behind results."""
    messages: list[Any] = [SYSTEM, ASKED] if rng.random() < 0.5 else [ASKED]
    for _ in range(rng.randint(0, 5)):
        if rng.random() < 0.3:
            messages += [SAID, ASKED]
            continue
        messages += exchange(rng, len(messages))
        messages += rng.choice([[], [], [SAID, ASKED], [ASKED]])
    return messages


def agree(messages: list[Any], target: str, tools: object = None, thinking: object = None) -> bool:
    """Whether the chat is plain; and then every rule must leave it, and the tools, as they are."""
    declared = None if tools is None else bool(tools)
    if not quick_look(resolve(target), tools=declared, thinking=is_on(thinking))(messages):
        return False
    spoken: Any = EverySymptom(DIALECTS[CHAT])
    done = chatmend.repair(messages, target, dialect=spoken, tools=tools, thinking=thinking)
    assert done.changes == (), messages
    assert done.messages is messages
    assert done.tools is tools
    return True


@pytest.mark.parametrize("target", OPENAI_CHAT)
def test_what_is_plain_is_changed_by_no_rule(target: str) -> None:
    plain = []
    for seed in range(examples(100, 1_000)):
        rng = Random(seed)
        messages = tear(chat(rng), rng, rng.choice([0, 1, 1, 2]))
        plain.append(agree(messages, target, rng.choice([None, [], DECLARED]), rng.choice([None, True])))
    assert any(plain) or target == "hosted_vllm/google/gemma-2-9b-it"
    assert not all(plain)


@pytest.mark.parametrize("target", OPENAI_CHAT)
def test_broken_and_torn_chats_are_plain_nowhere_where_they_are_repaired(target: str) -> None:
    for seed in range(examples(25, 400)):
        agree(broken(seed, CHAT), target)
        agree(torn(seed, CHAT), target)
        agree(valid(seed, CHAT), target)


@pytest.mark.parametrize("target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"])
def test_a_valid_chat_with_tools_is_plain_and_stays_the_same_list(target: str) -> None:
    messages = [SYSTEM, ASKED, *exchange(Random(0), 1), SAID, ASKED]
    assert agree(messages, target, DECLARED)
    assert chatmend.repair(messages, target, tools=DECLARED).messages is messages


def test_a_result_without_an_id_is_not_plain() -> None:
    nameless = {"role": "tool", "content": "18"}
    assert not agree([ASKED, *exchange(Random(0), 1), nameless], "openai/gpt-4o")
