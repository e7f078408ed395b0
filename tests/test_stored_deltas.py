"""Deltas of a stream that a client stored as blocks of the answer."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect
from tests.promises import broken_promises

CLAUDE, BEDROCK = "anthropic/claude-sonnet-4-6", "bedrock/anthropic.claude-sonnet-4-6"
USER: dict[str, Any] = {"role": "user", "content": "q"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
SIGNATURE = "EqQB" + "A" * 200


def delta(piece: str, **keys: Any) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": piece, **keys}


def result(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "18"} for one in ids]
    return {"role": "user", "content": blocks}


def answered(*blocks: Any, target: str = CLAUDE) -> tuple[list[Any], list[chatmend.Change]]:
    """The blocks of the answer that is sent, and the changes."""
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    messages = [USER, {"role": "assistant", "content": list(blocks)}, result(*ids)]
    done = chatmend.repair(messages, target, dialect="anthropic_messages")
    assert not list(broken_promises(messages, target, "anthropic_messages"))
    return done.messages[1]["content"], list(done.changes)


def test_a_complete_call_is_unchanged() -> None:
    messages = [USER, {"role": "assistant", "content": [CALL]}, result("toolu_1")]
    assert chatmend.repair(messages, CLAUDE).messages is messages


def test_deltas_of_a_user_are_no_stream() -> None:
    messages = [{"role": "user", "content": [delta('{"a": 1}')]}]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    assert [change.code for change in done.changes] == ["PART001"]


@pytest.mark.parametrize("target", [CLAUDE, BEDROCK, "minimax/MiniMax-M2"])
def test_pieces_of_json_become_the_arguments_of_their_call(target: str) -> None:
    text = {"type": "text", "text": "I look."}
    sent, changes = answered(
        text, CALL, delta(""), delta('{"city": "Ro'), delta('me"}'), target=target
    )
    assert sent == [text, {**CALL, "input": {"city": "Rome"}}]
    assert [(change.code, change.effect) for change in changes] == [("PART004", Effect.RESHAPES)]


def test_each_call_gets_its_own_arguments() -> None:
    second = {**CALL, "id": "toolu_2"}
    sent, _ = answered(CALL, delta('{"a": 1}'), second, delta('{"b": 2}'))
    assert sent == [{**CALL, "input": {"a": 1}}, {**second, "input": {"b": 2}}]


def test_an_index_names_the_call() -> None:
    """LangChain.js appends all deltas: langchain-ai/langchainjs#9798."""
    first, second = {**CALL, "index": 1}, {**CALL, "id": "toolu_2", "index": 2}
    pieces = [{"type": "input_json_delta", "input": f'{{"n": {n}}}', "index": n} for n in (1, 2)]
    sent, _ = answered(first, second, *pieces)
    assert [block["input"] for block in sent] == [{"n": 1}, {"n": 2}]


def test_json_that_ends_too_early_is_kept_whole() -> None:
    sent, _ = answered(CALL, delta('{"city": "Ro'))
    assert sent == [{**CALL, "input": {"_raw_arguments": '{"city": "Ro'}}]


def test_json_that_the_call_has_already_is_removed() -> None:
    call = {**CALL, "input": {"city": "Rome"}}
    sent, changes = answered(call, delta('{"city":'), delta('"Rome"}'))
    assert sent == [call]
    assert changes[0].effect is Effect.RESHAPES


def test_other_json_is_not_lost() -> None:
    sent, _ = answered({**CALL, "input": {"city": "Rome"}}, delta('{"city": "Oslo"}'))
    assert "Oslo" in str(sent)
    assert sent[-1]["input"] == {"city": "Rome"}


def test_json_under_a_key_of_the_call_becomes_its_arguments() -> None:
    """LangChain merges the deltas of a stream into this key, and keeps the empty input."""
    sent, changes = answered({**CALL, "partial_json": '{"city": "Rome"}'})
    assert sent == [{**CALL, "input": {"city": "Rome"}}]
    assert changes[0].effect is Effect.RESHAPES


def test_a_surrogate_pair_in_two_pieces_stays_one_letter() -> None:
    sent, _ = answered(CALL, delta('{"a": "\ud83d'), delta('\ude00"}'))
    assert sent[0]["input"] == {"a": "😀"}


def test_texts_thinking_and_signatures_are_joined() -> None:
    blocks = [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "thinking_delta", "thinking": "m"},
        {"type": "signature_delta", "signature": SIGNATURE},
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "Hel"},
        {"type": "text_delta", "text": "lo"},
    ]
    messages = [USER, {"role": "assistant", "content": blocks}, USER]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    assert done.messages[1]["content"] == [
        {"type": "thinking", "thinking": "hmm", "signature": SIGNATURE},
        {"type": "text", "text": "Hello"},
    ]


def test_deltas_next_to_the_calls_of_chat_completions_are_removed() -> None:
    """langchain-ai/langchainjs#11245: the call itself is under ``tool_calls``."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    text = {"type": "text", "text": "I look."}
    tail = {"role": "tool", "tool_call_id": "c1", "content": "18"}
    answer = {"role": "assistant", "content": [text, delta('{"a":1}')], "tool_calls": [call]}
    done = chatmend.repair([USER, answer, tail], "openai/gpt-4o")
    assert done.messages[1] == {**answer, "content": [text]}
    assert done.changes[0].effect is Effect.RESHAPES


def begun(index: int, call_id: str, arguments: str = "") -> dict[str, Any]:
    function = {"name": "ls", "arguments": arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}


def continued(index: Any, arguments: str, **keys: Any) -> dict[str, Any]:
    return {"index": index, **keys, "function": {"arguments": arguments}}


def called(*entries: Any, target: str = "openai/gpt-4o") -> tuple[list[Any], list[chatmend.Change]]:
    """The calls that are sent, without their index, and the changes."""
    ids = [entry["id"] for entry in entries if entry.get("id")]
    results = [{"role": "tool", "tool_call_id": one, "content": "r"} for one in ids]
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [*entries]}, *results]
    done = chatmend.repair([*messages, USER], target, dialect="openai_chat")
    assert not list(broken_promises([*messages, USER], target, "openai_chat"))
    sent = [
        {key: value for key, value in call.items() if key != "index"}
        for call in done.messages[1]["tool_calls"]
    ]
    return sent, list(done.changes)


def whole(call_id: str, arguments: str) -> dict[str, Any]:
    function = {"name": "ls", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def test_calls_with_an_index_are_unchanged() -> None:
    calls = [begun(0, "c1", "{}"), begun(1, "c2", "{}")]
    assert called(*calls)[1] == []


def test_two_calls_that_share_an_index_stay_two_calls() -> None:
    calls = [begun(0, "c1", "{}"), begun(0, "c2", "{}")]
    assert called(*calls)[1] == []


@pytest.mark.parametrize("target", ["openai/gpt-4o", CLAUDE, "openai_compatible/m", "mistral/m"])
def test_deltas_of_a_chat_continue_the_call_with_their_index(target: str) -> None:
    more = {"id": None, "type": None}
    entries = [
        begun(0, "c1aaaaaaa"), continued(0, '{"dir":'), begun(1, "c2aaaaaaa"),
        continued(1, '{"a": 1}', **more), continued(0, '"/"}', id=""),
    ]  # fmt: skip
    sent, changes = called(*entries, target=target)
    assert sent == [whole("c1aaaaaaa", '{"dir":"/"}'), whole("c2aaaaaaa", '{"a": 1}')]
    assert [(change.code, change.effect) for change in changes][:1] == [
        ("PART004", Effect.RESHAPES)
    ]
    assert "TOOL003" not in {change.code for change in changes}


def test_an_empty_entry_next_to_a_call_is_removed() -> None:
    empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    for entry in (empty, {"index": 1, **empty}):
        sent, changes = called(begun(0, "c1", "{}"), entry)
        assert sent == [whole("c1", "{}")]
        assert [change.code for change in changes] == ["PART004"]


def test_a_delta_whose_call_is_missing_stays_a_call_of_its_own() -> None:
    sent, changes = called(begun(0, "c1", "{}"), continued(1, '{"a": 1}'))
    assert [call["function"]["arguments"] for call in sent] == ["{}", '{"a": 1}']
    assert "PART004" not in {change.code for change in changes}


def test_the_deltas_of_many_calls_are_joined_in_linear_time() -> None:
    entries = [begun(number, f"c{number}") for number in range(2_000)]
    pieces = ['{"a": "', *["x"] * 20_000, '"}']
    sent, _ = called_once(*entries, *(continued(0, piece) for piece in pieces))
    assert sent[0]["function"]["arguments"] == "".join(pieces)


def called_once(*entries: Any) -> tuple[list[Any], list[chatmend.Change]]:
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [*entries]}]
    done = chatmend.repair(messages, "openai_compatible/m", dialect="openai_chat")
    return done.messages[1]["tool_calls"], list(done.changes)
