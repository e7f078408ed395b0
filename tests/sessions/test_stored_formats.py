"""Stored conversations of other programs: LangChain's dumps, logs of requests, and our own sessions as files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from chatmend import repair
from chatmend.sessions import SessionStore
from chatmend.sessions.embedded import find_conversation
from chatmend.sessions.langchain_dumps import from_native, is_dump, to_native
from chatmend.sessions.repairs import is_session, repair_file
from tests.broken.generate import broken
from tests.scale import examples

if TYPE_CHECKING:
    from pathlib import Path

messages = pytest.importorskip("langchain_core.messages")

TARGET = "anthropic/claude-sonnet-4-5"
HELLO = {"role": "user", "content": "Hello"}
ORPHAN = {"role": "tool", "tool_call_id": "x", "content": "orphan"}
CALL = {"id": "call.1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def dumped(*said: Any) -> list[Any]:
    return json.loads(json.dumps(messages.messages_to_dict(list(said))))


def mended(dump: list[Any]) -> list[Any]:
    native = to_native(dump)
    return from_native(repair(native, TARGET).messages, native, dump)


def test_a_clean_dump_keeps_every_entry() -> None:
    call = {"name": "f", "args": {"a": 1}, "id": "abcdefghi", "type": "tool_call"}
    dump = dumped(
        messages.SystemMessage("s"),
        messages.HumanMessage([{"type": "text", "text": "a"}], id="7"),
        messages.AIMessage("", tool_calls=[call], response_metadata={"x": 1}),
        messages.ToolMessage("r", tool_call_id="abcdefghi", artifact={"big": 1}),
        messages.HumanMessage("more"),
    )
    done = mended(dump)
    assert [new is old for new, old in zip(done, dump, strict=True)] == [True] * len(dump)


def test_a_repaired_dump_is_what_langchain_reads_with_everything_else_kept() -> None:
    call = {"name": "f", "args": {"a": 1}, "id": "call.long/id", "type": "tool_call"}
    block = {"type": "tool_use", "id": "call.long/id", "name": "f", "input": {"a": 1}}
    mirrored = {"tool_calls": [{"id": "call.long/id"}], "other": "kept"}
    dump = dumped(
        messages.HumanMessage("q"),
        messages.AIMessage(
            [{"type": "text", "text": "t"}, block],
            tool_calls=[call],
            additional_kwargs=mirrored,
            id="run-1",
        ),
        messages.ToolMessage("r", tool_call_id="call.long/id", artifact={"big": 1}, status="error"),
        messages.HumanMessage("next"),
    )
    asked, called, result, *rest = messages.messages_from_dict(mended(dump))
    (new,) = called.tool_calls
    assert (asked.content, called.id, new["args"]) == ("q", "run-1", {"a": 1})
    assert result.tool_call_id == new["id"] != "call.long/id"
    assert called.content == [{"type": "text", "text": "t"}]
    assert called.additional_kwargs == {"other": "kept"}
    assert (result.content, result.artifact, result.status) == ("r", {"big": 1}, "error")
    assert rest[-1].content == "next"


def test_cut_off_arguments_stay_as_text() -> None:
    call = {
        "name": "f",
        "args": '{"a": ',
        "id": "abcdefghi",
        "error": None,
        "type": "invalid_tool_call",
    }
    dump = dumped(messages.HumanMessage("q"), messages.AIMessage("", invalid_tool_calls=[call]))
    assert '{\\"a\\": ' in json.dumps(to_native(dump))
    assert '{\\"a\\": ' in json.dumps(mended(dump)) or '{\\"a\\":' in json.dumps(mended(dump))


def test_every_repaired_dump_can_be_read_by_langchain_and_is_clean() -> None:
    for seed in range(examples(40, 2_000)):
        try:
            said = messages.convert_to_messages(broken(seed, "openai_chat"))
            dump = dumped(*said)
        except Exception:  # noqa: BLE001, S112 - LangChain itself cannot hold what is broken that much
            continue
        done = mended(dump)
        assert is_dump(done) or not done
        messages.messages_from_dict(done)
        assert mended(done) == done, seed


@pytest.mark.parametrize("odd", [[], {}, [[]], 7, None])
def test_a_block_or_an_entry_of_an_odd_type_is_no_exception(odd: Any) -> None:
    dump = dumped(messages.HumanMessage("q"), messages.AIMessage([{"type": "text", "text": "a"}]))
    dump[1]["data"]["content"][0]["type"] = odd
    assert mended(dump)
    assert not is_dump([{**dump[0], "type": odd}])


LOGS: list[Any] = [
    {
        "custom_id": "1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "m", "messages": [HELLO]},
    },
    {"custom_id": "1", "params": {"model": "m", "max_tokens": 1, "messages": [HELLO]}},
    {
        "timestamp": 1,
        "request": {"url": "u", "body": {"model": "m", "messages": [HELLO]}},
        "response": {},
    },
    {"request": {"body": json.dumps({"model": "m", "messages": [HELLO]})}},
]


@pytest.mark.parametrize("log", LOGS)
def test_the_request_in_a_log_is_found_and_put_back(log: Any) -> None:
    embedded = find_conversation(log)
    assert embedded is not None
    assert isinstance(embedded.conversation, dict)
    assert embedded.conversation["messages"] == [HELLO]
    assert embedded.replace(embedded.conversation) == log
    changed = embedded.replace({**embedded.conversation, "messages": [HELLO, HELLO]})
    again = find_conversation(changed)
    assert again is not None
    assert again.conversation == {**embedded.conversation, "messages": [HELLO, HELLO]}
    assert again.replace(embedded.conversation) == log


@pytest.mark.parametrize(
    "value", [[HELLO], {"messages": [HELLO]}, {"model": "m", "messages": []}, [], {}, 1, None, "{}"]
)
def test_a_bare_conversation_stands_in_no_other_place(value: Any) -> None:
    assert find_conversation(value) is None


def test_a_session_s_file_is_repaired_as_a_whole(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    session = store.start(target=TARGET, request_parameters={"tools": []})
    session.record([HELLO, CALLS])
    session.append(HELLO)
    data, _ = store.storage.read(session.path)
    assert is_session(data)
    written, changes = repair_file(data, session.path)
    assert {change.rule for change in changes} >= {"missing-tool-result", "invalid-call-id"}
    (tmp_path / session.path).write_bytes(written)
    again = store.load(session.path)
    assert again.findings == ()
    assert again.header.cache_boundary == 1
    assert repair_file(written, session.path) == (written, ())
