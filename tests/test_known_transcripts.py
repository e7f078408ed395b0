"""A transcript that is found by its structure gets the answer of a repair without memory of earlier transcripts."""

from __future__ import annotations

import json
from collections import UserDict
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from chatmend import known_transcripts, letters
from chatmend.cli.conversation import RunSettings, process_conversation
from chatmend.context import Context
from chatmend.rules import LAST, Request
from tests.broken import broken, torn, valid
from tests.every_rule import account, forget
from tests.scale import examples, sampled

if TYPE_CHECKING:
    from chatmend.policy import Policy

CLAUDE, GPT = "anthropic/claude-sonnet-4-5", "openai/gpt-4o"
CHAT: list[Any] = [
    {"role": "user", "content": "go", "at": "12:00"},
    {"role": "assistant", "content": "Done.", "at": "12:01"},
]
LAYOUT = {
    "role": "assistant",
    "content": [{"type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {}}],
}
"""A message of the AI SDK, which is refused by its name."""
DIALECTS = (
    "openai_chat",
    "anthropic_messages",
    "openai_responses",
    "gemini_contents",
    "bedrock_converse",
)


def known(target: str, kind: str, policy: Policy = chatmend.policy.DEFAULT) -> Any:
    return known_transcripts.source_of(chatmend.resolve(target), policy, kind)


def variants(seed: int) -> list[Any]:
    """Return transcripts of similar structures, short and long, some clean and some not."""
    rng = Random(seed)
    dialect = rng.choice(DIALECTS)
    clean = chatmend.repair(broken(seed, dialect), GPT, dialect=dialect).messages[:6]
    keyed = [
        {"id": f"m{rng.random()}", **m, "at": rng.random(), "more": {"lang": "en"}}
        for m in clean
        if isinstance(m, dict)
    ]
    spaced = [*clean[:-1], {"role": "assistant", "content": rng.choice(("Yes.", "Yes. ", " "))}]
    other = broken(seed, rng.choice(DIALECTS))[:3]
    long = clean * (letters.MAX_MESSAGES // max(len(clean), 1) + 1)
    plain = [{"role": "user", "content": [{"type": "text", "text": "go"}]}] * len(long)
    return [
        clean, keyed, spaced, torn(seed, dialect)[:6], broken(seed, dialect)[:4],
        long, [*plain, *other], [*other, *plain], [*plain, LAYOUT], plain,
    ]  # fmt: skip


@pytest.mark.parametrize("target", [CLAUDE, GPT, "bedrock/us.amazon.nova-pro-v1:0"])
@pytest.mark.parametrize("policy", sampled([None, "train", "offline"], ["train"]))
def test_the_dialect_and_the_changes_do_not_depend_on_earlier_transcripts(
    target: str, policy: str | None
) -> None:
    every = [one for seed in range(examples(3, 300)) for one in variants(seed)]

    def answer(messages: list[Any]) -> str:
        try:
            return account(chatmend.repair(messages, target, policy=policy))
        except chatmend.TranscriptError as error:
            return str(error)

    alone = []
    for messages in every:
        forget()
        alone.append(answer(messages))
    forget()
    for _ in range(3):
        assert [answer(messages) for messages in every] == alone


def rows(seed: int) -> list[Any]:
    """Return stored conversations, as lists and as objects with and without other keys."""
    stored: list[Any] = []
    for messages in variants(seed):
        stored += [
            messages,
            {"messages": messages},
            {"id": seed, "messages": messages},
            {"messages": messages, "system": "Be brief."},
            {"messages": messages, "system": [{"text": "Be brief."}]},
            {"messages": messages, "stop_sequences": ["x"]},
            {"messages": messages, "inferenceConfig": {}},
            {"messages": messages, "tools": []},
            {"request": {"messages": messages}},
        ]
    return stored


@pytest.mark.parametrize("target", [CLAUDE, GPT])
def test_the_findings_in_a_row_do_not_depend_on_earlier_rows(target: str) -> None:
    settings = RunSettings(chatmend.resolve(target))
    texts = []
    for seed in range(examples(1, 100)):
        for row in rows(seed):
            try:
                texts.append(json.dumps(row).encode())
            except RecursionError:
                continue

    def outcome(raw: bytes) -> Any:
        try:
            return process_conversation(raw, settings)
        except Exception as error:  # noqa: BLE001 - compared, too
            return str(error)

    alone = []
    for raw in texts:
        forget()
        alone.append(outcome(raw))
    forget()
    for _ in range(3):
        assert [outcome(raw) for raw in texts] == alone


def test_a_transcript_of_a_known_structure_is_found() -> None:
    forget()
    for _ in range(2):
        assert not known(CLAUDE, "").has(CHAT)
        assert chatmend.repair(CHAT, CLAUDE).messages is CHAT
    assert known(CLAUDE, "").has(CHAT)
    assert known(CLAUDE, "").has([{**CHAT[0], "content": "stop"}, CHAT[1]])


@pytest.mark.parametrize(
    "other",
    [
        [{**CHAT[0], "content": ""}, CHAT[1]],
        [{**CHAT[0], "content": "\ud800"}, CHAT[1]],
        [CHAT[0], {**CHAT[1], "content": "Done. "}],
        [CHAT[1], CHAT[0]],
        [{**CHAT[0], "at": 1}, CHAT[1]],
        [UserDict(CHAT[0]), CHAT[1]],
        [type("Row", (dict,), {})(CHAT[0]), CHAT[1]],
        [],
    ],
)
def test_a_transcript_of_another_structure_is_not_found(other: list[Any]) -> None:
    forget()
    for _ in range(4):
        chatmend.repair(CHAT, CLAUDE)
    assert not known(CLAUDE, "").has(other)


def test_the_dialect_of_a_long_transcript_is_known_from_the_structures_of_its_messages() -> None:
    text, image = {"type": "text", "text": "go"}, {"type": "image", "source": {"type": "file"}}
    long = [{"role": "user", "content": [text]}] * (letters.MAX_MESSAGES + 1)
    forget()
    chatmend.repair(long, CLAUDE)

    def dialect_of(messages: list[Any]) -> str | None:
        found = known(CLAUDE, "").find(messages, needs_dialect=True).dialect
        return None if found is None else found.NAME

    assert dialect_of(long * 2) == "openai_chat"
    decisive = [*long, {"role": "user", "content": [image]}]
    assert dialect_of(decisive) is None
    chatmend.repair(decisive, CLAUDE)
    assert dialect_of(decisive) == "anthropic_messages"
    assert dialect_of(long) is None
    for _ in range(2):
        with pytest.raises(chatmend.TranscriptError, match="AI SDK"):
            chatmend.repair([*long, LAYOUT], CLAUDE)


def test_the_ids_of_calls_must_have_the_same_pattern() -> None:
    def exchange(call_id: str, result_id: str) -> list[Any]:
        function = {"name": "f", "arguments": "{}"}
        call = {"id": call_id, "type": "function", "function": function}
        return [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": result_id, "content": "18"},
            {"role": "assistant", "content": "It is 18."},
        ]

    forget()
    for _ in range(4):
        chatmend.repair(exchange("a", "a"), GPT)
    assert known(GPT, "").has(exchange("b", "b"))
    assert not known(GPT, "").has(exchange("a", "b"))


def test_the_number_of_known_transcripts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_transcripts, "MAX_ENTRIES", 8)
    monkeypatch.setattr(letters, "MAX_ENTRIES", 8)
    monkeypatch.setattr(known_transcripts, "_MAX_SOURCES", 4)
    forget()
    plain = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "Done."}]
    for target in (CLAUDE, GPT, "strict", "xai/grok-4", "deepseek/deepseek-chat", "mistral"):
        for length in range(1, 30):
            chat = [*plain * length, plain[0]]
            for _ in range(3):
                assert chatmend.repair(chat, target).messages is chat
        found = known(target, "").known
        assert len(found.letters) <= 8
        assert len(found.first_letters) <= 8
        assert len(found.cache.transcripts) <= 9
        assert len(known_transcripts._SOURCES) <= 4
    forget()


def test_a_long_valid_transcript_is_checked_window_by_window() -> None:
    messages = valid(1, "openai_chat") * 20
    assert len(messages) > letters.MAX_MESSAGES
    forget()
    answers = {account(chatmend.repair(messages, GPT)) for _ in range(4)}
    assert len(answers) == 1
    assert not known(GPT, "").has(messages)


class Part:
    """A part of a message as SDKs return it."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.fields


@pytest.mark.parametrize("text", ["hi", ""])
def test_an_object_of_an_sdk_inside_a_message_is_converted(text: str) -> None:
    fields = {"type": "text", "text": text}
    made = [{"role": "user", "content": [part]} for part in (Part(**fields), fields)]
    forget()
    for _ in range(3):
        done, expected = (chatmend.repair([message], CLAUDE) for message in made)
        assert [c.rule for c in done.changes] == [c.rule for c in expected.changes]
        assert (done.messages[0] is made[0]) == (expected.messages[0] is made[1])
        if text:
            assert done.messages[0]["content"][0].model_dump() == fields
        else:
            assert done.messages == expected.messages


def test_a_chat_of_a_request_without_tools_is_found_by_its_structure() -> None:
    forget()
    plain = {"model": "gpt-4o", "messages": [{"role": "user", "content": "go"}]}
    target = chatmend.resolve(GPT)
    for _ in range(3):
        assert chatmend.repair_request(plain, target, dialect="openai_chat").body is plain
    source = known_transcripts.source_of(target, chatmend.policy.DEFAULT, "openai_chat")
    assert source.has([{"role": "user", "content": "come"}])
    assert not source.has([{"role": "user", "content": " "}])


def marked(markers: int) -> dict[str, Any]:
    """Return a request with tools and a call, and with cache markers on its last blocks."""
    blocks: list[Any] = [{"type": "text", "text": str(number)} for number in range(6)]
    for block in blocks[6 - markers :]:
        block["cache_control"] = {"type": "ephemeral"}
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    return {
        "model": "claude-sonnet-4-5",
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result, *blocks]},
        ],
    }


def test_cache_markers_are_counted_in_known_transcripts() -> None:
    forget()
    system = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]
    for _ in range(4):
        assert chatmend.repair_request(full := marked(4), CLAUDE).body is full
        over = chatmend.repair_request({**marked(4), "system": system}, CLAUDE)
        assert [change.rule for change in over.changes] == ["too-many-cache-markers"]
        more = chatmend.repair_request(marked(5), CLAUDE)
        assert [change.rule for change in more.changes] == ["too-many-cache-markers"]


def test_a_stored_transcript_with_cache_markers_is_not_passed_unread() -> None:
    forget()
    for _ in range(4):
        chatmend.repair(marked(4)["messages"], CLAUDE)
    assert not known(CLAUDE, "").has(marked(4)["messages"])
    assert known(CLAUDE, "").find(marked(4)["messages"]).counted


PARAMETERS: list[dict[str, Any]] = [
    {},
    {"tools": []},
    {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
    {"tools": [{"name": "f", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
    {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]},
    {"store": False, "cache_control": {"type": "ephemeral"}},
]


@pytest.mark.parametrize("target", [CLAUDE, GPT, "bedrock/us.amazon.nova-pro-v1:0"])
def test_the_repair_of_a_request_does_not_depend_on_earlier_requests(target: str) -> None:
    requests = []
    for seed in range(examples(3, 200)):
        dialect = DIALECTS[seed % len(DIALECTS)]
        clean = chatmend.repair(broken(seed, dialect), target, dialect=dialect).messages
        for messages in (clean[:8], broken(seed, dialect)[:6]):
            requests += [(messages, dialect, parameters) for parameters in PARAMETERS]

    def answer(messages: list[Any], dialect: str, parameters: dict[str, Any]) -> str:
        return account(chatmend.repair(messages, target, dialect=dialect, **parameters))

    alone = []
    for request in requests:
        forget()
        alone.append(answer(*request))
    forget()
    for _ in range(3):
        assert [answer(*request) for request in requests] == alone


def test_a_request_rule_changes_nothing_if_no_message_holds_what_it_counts() -> None:
    for seed in range(examples(10, 300)):
        dialect = chatmend.dialects.DIALECTS[DIALECTS[seed % len(DIALECTS)]]
        messages = broken(seed, dialect.NAME)
        for target in (CLAUDE, GPT, "gemini/gemini-2.5-pro", "bedrock/us.amazon.nova-pro-v1:0"):
            limits = chatmend.resolve(target).limits_in(dialect.NAME)
            context = Context(limits, dialect)
            request = Request(messages, tools=[{"name": "f"}])
            for rule in LAST:
                counts = rule.has_counted_content
                if counts is not None and not any(map(counts, map(dialect.read, messages))):
                    assert rule.apply(request, context)[1] == [], rule.name


@pytest.mark.parametrize("declared", [[], None])
def test_calls_of_a_request_without_tools_are_declared_every_time(
    declared: list[Any] | None,
) -> None:
    forget()
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ]
    target = chatmend.resolve(CLAUDE)
    for _ in range(4):
        # Without a body, tools are unknown, and the transcript is known to be clean.
        chatmend.repair(messages, target, dialect="openai_chat")
        done = chatmend.repair(messages, target, dialect="openai_chat", tools=declared)
        assert [change.code for change in done.changes] == ([] if declared is None else ["TOOL014"])
