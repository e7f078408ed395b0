"""The quick look at plain conversations: where it says that nothing is to be done, the repair says so, too."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from chatmend import Policy, repair
from chatmend.langchain.dialect import Dialect
from chatmend.langchain.partners import place_named
from chatmend.langchain.plain import covers, plain_at
from chatmend.langchain.shaping import shaped
from tests.langchain.damage import DAMAGE, VALID
from tests.langchain.fuzz import transcript
from tests.langchain.shapes import SHAPES
from tests.scale import examples
from tests.targets import OPENAI_CHAT

POLICIES = (None, Policy(turns="insert"), Policy.strict_alternation(), Policy(rules="hygiene"), Policy(system="hoist"))
_TEXTS = st.sampled_from(["hello", "", " ", "é", "\ud83d", "[continued]", "No result was recorded for this tool call."])
_IDS = st.sampled_from(
    ["abcdefgh1", "abcdefgh2", "abcdefgh3", "call_1", "toolu_01", "a.b|c", "x" * 70, "functions.look:0"]
)
_NAMES = st.sampled_from(["look", "look", "look at/it", "x" * 70])
_DEEP: Any = []
for _ in range(120):
    _DEEP = [_DEEP]
_ARGS = st.sampled_from(
    [
        {},
        {"at": "Paris"},
        {"at": "é", "for": None, "often": True},
        {"at": "\ud83d"},
        {"\ud83d": 1},
        {"at": ["\ud83d"]},
        {"at": {"in": ["\ud83d"]}},
        {"at": [[1]], "of": _DEEP},
        {"n": float("nan")},
        {"n": [1, float("inf")]},
        {"at": {"n": float("-inf")}},
        {"what": "finance, inf, information", "in": ["nan", {"a": "banana"}]},
    ]
)


@st.composite
def _calls(draw: st.DrawFn) -> list[BaseMessage]:
    ids = draw(st.lists(_IDS, min_size=1, max_size=3))
    calls: Any = [{"name": draw(_NAMES), "args": draw(_ARGS), "id": one, "type": "tool_call"} for one in ids]
    told = [ToolMessage(draw(_TEXTS), tool_call_id=one, name=draw(st.none() | _NAMES)) for one in ids]
    return [AIMessage(draw(_TEXTS), tool_calls=calls), *told[: draw(st.sampled_from([3, 3, 3, 1]))]]


_TURNS = st.one_of(
    _TEXTS.map(lambda text: [HumanMessage(text)]),
    _TEXTS.map(lambda text: [AIMessage(text)]),
    _TEXTS.map(lambda text: [HumanMessage(text), AIMessage(text)]),
    _calls(),
    _calls(),
    st.sampled_from(sorted(SHAPES)).map(lambda name: [SHAPES[name]]),
)
_OPENINGS = st.sampled_from(
    [[], [SystemMessage("be kind")], [SystemMessage("")], [SystemMessage("a"), SystemMessage("b")]]
)


def agree(messages: list[BaseMessage], target: str, policy: Policy | None, tools: list[Any]) -> bool:
    """Whether the conversation is plain; and then the repair must leave it, and everything beside it, as it is."""
    place = place_named(target)
    plain = plain_at(place, policy, tools=bool(tools), thinking=False)
    if plain is None or not covers(plain, messages):
        return False
    assert shaped(messages, place.carries)[0] is messages
    done = repair(
        messages, place.target, tools=tools, policy=policy, dialect=Dialect(chat_messages=place.chat_messages)
    )
    assert done.messages is messages
    assert done.tools is tools
    assert not done.changes
    return True


@settings(max_examples=examples(80, 1_000))
@given(_OPENINGS, st.lists(_TURNS, min_size=1, max_size=6), st.sampled_from(POLICIES), st.booleans(), st.booleans())
def test_what_is_plain_is_left_by_the_repair(
    opening: list[BaseMessage],
    turns: list[list[BaseMessage]],
    policy: Policy | None,
    declared: bool,  # noqa: FBT001
    asked: bool,  # noqa: FBT001
) -> None:
    said = [*opening, *(message for turn in turns for message in turn), *([HumanMessage("and?")] if asked else [])]
    for target in OPENAI_CHAT:
        agree(said, target, policy, [{"type": "function", "function": {"name": "look"}}] if declared else [])


@pytest.mark.parametrize("name", DAMAGE)
def test_a_broken_conversation_is_plain_nowhere_where_it_is_repaired(name: str) -> None:
    for target in OPENAI_CHAT:
        agree(DAMAGE[name], target, None, [])


def test_broken_transcripts_are_plain_nowhere_where_they_are_repaired() -> None:
    for seed in range(30):
        messages = transcript(seed, "openai_chat")
        for target in OPENAI_CHAT:
            agree(messages, target, None, [])


@pytest.mark.parametrize("target", ["openai/gpt-4o", "mistral/mistral-large-latest", "gemini/gemini-2.5-flash"])
def test_a_valid_conversation_with_tools_is_plain(target: str) -> None:
    assert agree(VALID, target, None, [])
    assert agree([SystemMessage("be kind"), *VALID], target, None, [])


def test_where_tools_must_be_declared_a_call_is_plain_only_with_them() -> None:
    assert not agree(VALID, "anthropic/claude-haiku-4-5", None, [])
    assert agree(VALID, "anthropic/claude-haiku-4-5", None, [{"name": "look", "input_schema": {"type": "object"}}])


@pytest.mark.parametrize(
    "args", [{"topic": "information on finance"}, {"in": {"topic": "nanotubes"}}, {"lines": [1, 200], "why": None}]
)
def test_words_that_begin_as_a_number_that_json_does_not_have_are_plain(args: dict[str, Any]) -> None:
    call: Any = {"name": "look", "args": args, "id": "abcdefgh1", "type": "tool_call"}
    said = [HumanMessage("q"), AIMessage("", tool_calls=[call]), ToolMessage("18", tool_call_id="abcdefgh1")]
    assert agree(said, "openai/gpt-4o", None, [])


@pytest.mark.parametrize(
    "args", [{"n": float("nan")}, {"n": [float("-inf")]}, {"a": "\ud83d"}, {"\ud83d": 1}, {"d": _DEEP}]
)
def test_arguments_that_are_no_json_are_plain_nowhere(args: dict[str, Any]) -> None:
    call: Any = {"name": "look", "args": args, "id": "abcdefgh1", "type": "tool_call"}
    said = [HumanMessage("q"), AIMessage("", tool_calls=[call]), ToolMessage("18", tool_call_id="abcdefgh1")]
    plain = plain_at(place_named("openai/gpt-4o"), None, tools=False, thinking=False)
    assert plain is not None
    assert not covers(plain, said)


def test_calls_that_are_no_list_are_not_plain() -> None:
    said = AIMessage("hi")
    said.tool_calls = None  # type: ignore[assignment]
    assert not agree([HumanMessage("go"), said, HumanMessage("on")], "openai/gpt-4o", None, [])
