"""``record=SessionStore(...)`` stores every conversation so that it can be sent again."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from threading import Event
from typing import TYPE_CHECKING, Any

import litellm
import pytest

from chatmend.litellm import ChatMend, install
from chatmend.litellm.exchange import Exchange
from chatmend.litellm.recording import origin_of
from chatmend.sandbox import Reply
from chatmend.sessions import LocalStorage, SessionStore
from tests.litellm_adapter.test_callback import RECORDS_BEFORE_HOOK
from tests.litellm_adapter.transcripts import (
    CHAT_TOOLS,
    MESSAGES_TOOLS,
    RESPONSES_TOOLS,
    chat,
    responses,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

as_sent = pytest.mark.skipif(
    not RECORDS_BEFORE_HOOK, reason="this version of LiteLLM has no record when the hook runs"
)
OPENAI, CLAUDE = "openai/gpt-4o", "anthropic/claude-sonnet-4-5"
HELLO, MORE = (
    {"role": "user", "content": "Hello <!--/MSG-->"},
    {"role": "user", "content": "And tomorrow?"},
)
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
CALLS = Reply(text="I look.", calls=(("get_weather", {"city": "Rome"}),))
THOUGHTS = Reply(text="I look.", calls=(("get_weather", {"city": "Rome"}),), thought="hmm")


@pytest.fixture
def callback(tmp_path: Path) -> Iterator[ChatMend]:
    registered = ChatMend(on_error="raise", record=SessionStore(tmp_path))
    litellm.callbacks = [registered]
    yield registered
    registered.record.recorder.close()


def recorded(callback: ChatMend) -> list[Any]:
    """Return all sessions after everything submitted has been written."""
    recorder = callback.record.recorder
    assert recorder.flush(10)
    assert (recorder.lost, recorder.faults) == (0, {})
    return [recorder.store.load(path) for path in recorder.store.paths()]


async def _logged(callback: ChatMend, call: Any) -> Any:
    """Return the answer after LiteLLM has passed its record to the callback."""
    taken, submit = asyncio.Event(), callback.record.recorder.submit
    loop = asyncio.get_running_loop()

    def submit_and_notify(*args: Any, **kwargs: Any) -> bool:
        done = submit(*args, **kwargs)
        loop.call_soon_threadsafe(taken.set)
        return done

    callback.record.recorder.submit = submit_and_notify
    answer = await call
    if hasattr(answer, "__aiter__"):
        answer = [chunk async for chunk in answer]
    await asyncio.wait_for(taken.wait(), 20)
    callback.record.recorder.submit = submit
    return answer


def ask(
    callback: ChatMend, sandbox: Any, messages: Any, path: str = "openai/v1", **more: Any
) -> Any:
    given = {
        "model": OPENAI,
        "max_retries": 0,
        "api_key": "any",
        "api_base": sandbox.url(path),
        **more,
    }
    return asyncio.run(_logged(callback, litellm.acompletion(messages=messages, **given)))


@as_sent
def test_a_conversation_is_stored_as_one_session_with_the_sent_messages(
    callback: ChatMend, sandbox: Any
) -> None:
    messages: list[Any] = [*chat(), HELLO]
    answer = ask(callback, sandbox, messages, tools=CHAT_TOOLS, litellm_session_id="s1")
    sent = sandbox.requests[-1].body["messages"]
    (session,) = recorded(callback)
    stored = session.messages
    assert [message["role"] for message in stored] == [
        "user",
        "assistant",
        "tool",
        "user",
        "user",
        "assistant",
    ][-6:]
    assert [message.get("content") for message in stored[:-1]] == [
        message.get("content") for message in sent
    ]
    assert stored[-1] == {"role": "assistant", "content": answer.choices[0].message.content}
    assert session.request_parameters == {"tools": CHAT_TOOLS}
    assert (session.agent, session.target) == (f"s1@{OPENAI}", OPENAI)
    assert (session.header.dispatcher, session.header.dialect) == ("litellm", "openai_chat")
    assert session.usage.usage.input_tokens == answer.usage.prompt_tokens
    assert float(session.usage.cost_usd) == pytest.approx(answer._hidden_params["response_cost"])

    messages += [answer.choices[0].message, MORE]
    ask(callback, sandbox, messages, tools=CHAT_TOOLS, metadata={"session_id": "s1"})
    (session,) = recorded(callback)
    assert session.messages[:5] == stored[:5]
    assert session.messages[5]["content"] == stored[5]["content"]
    assert (session.messages[6], session.header.turns, session.usage.calls) == (MORE, 2, 2)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_session_resumed_from_disk_reads_the_whole_earlier_prompt_from_the_cache(
    callback: ChatMend, sandbox: Any, *, stream: bool
) -> None:
    sandbox.script([THOUGHTS, Reply(text="18 degrees")])
    marked = {
        "type": "text",
        "text": f"You are terse. {stream} " * 300,
        "cache_control": {"type": "ephemeral"},
    }
    text = {"type": "text", "text": "Rome?", "cache_control": {"type": "ephemeral"}}
    first = [{"role": "system", "content": [marked]}, {"role": "user", "content": [text]}]
    more = {"model": CLAUDE, "path": "anthropic", "litellm_session_id": "s1"}
    ask(callback, sandbox, first, tools=CHAT_TOOLS, stream=stream, **THINKING, **more)
    whole = sandbox.requests[-1].prompt

    (stored,) = recorded(callback)
    session = SessionStore(callback.record.recorder.store.storage.root).latest(stored.agent)
    assert session is not None
    called = session.messages[-1]["tool_calls"][0]["id"]
    result = {"role": "tool", "tool_call_id": called, "content": "18 degrees"}
    answer = ask(
        callback, sandbox, [*session.messages, result], **session.request_parameters, **more
    )
    assert answer.usage.chatmend["cache_read_tokens"] == whole
    (session,) = recorded(callback)
    assert session.usage.usage.cache_read_tokens == whole
    assert session.messages[2]["thinking_blocks"][0]["signature"]


def test_sessions_of_other_names_targets_or_owners_have_separate_files(
    callback: ChatMend, sandbox: Any
) -> None:
    for more in (
        {"litellm_session_id": "s1"},
        {"litellm_session_id": "s2"},
        {"litellm_session_id": "s1", "model": CLAUDE, "path": "anthropic"},
        {"metadata": {"session_id": "s1", "user_api_key_team_id": "team"}},
    ):
        ask(callback, sandbox, [HELLO], **more)
    agents = [session.agent for session in recorded(callback)]
    assert sorted(agents) == [f"s1@{CLAUDE}", f"s1@{OPENAI}", f"s2@{OPENAI}", f"team/s1@{OPENAI}"]


def test_conversations_without_a_name_are_distinguished_by_their_messages(
    callback: ChatMend, sandbox: Any
) -> None:
    sandbox.script([Reply(text="one"), Reply(text="two"), Reply(text="three"), Reply(text="four")])
    first = ask(callback, sandbox, [HELLO]).choices[0].message
    second = ask(callback, sandbox, [HELLO]).choices[0].message
    ask(callback, sandbox, [HELLO, first, MORE])
    ask(callback, sandbox, [HELLO, second, MORE])
    found = recorded(callback)
    assert [[message["content"] for message in session.messages] for session in found] == [
        [HELLO["content"], "one", MORE["content"], "three"],
        [HELLO["content"], "two", MORE["content"], "four"],
    ]
    assert [session.header.continues for session in found] == ["", ""]


def test_a_client_cannot_choose_a_name_that_is_another_session() -> None:
    def agent(owner: str | None, session: str | None) -> str:
        return origin_of(Exchange(session, owner, "m", [], None)).agent

    names = [
        agent("a", "b/c"),
        agent("a/b", "c"),
        agent("a", None),
        agent(None, "a/main"),
        agent(None, "a"),
    ]
    assert len(set(names)) == len(names)


def test_anthropic_messages_are_stored_with_their_original_blocks(
    callback: ChatMend, sandbox: Any
) -> None:
    sandbox.script([THOUGHTS, Reply(text="Done")])
    given = {
        "model": CLAUDE,
        "api_key": "any",
        "api_base": sandbox.url("anthropic"),
        "litellm_session_id": "s1",
    }
    parameters = {"system": "Be brief.", "tools": MESSAGES_TOOLS, **THINKING}
    answer = asyncio.run(
        _logged(callback, litellm.anthropic_messages(messages=[HELLO], **parameters, **given))
    )
    (session,) = recorded(callback)
    assert session.messages == [HELLO, {"role": "assistant", "content": answer["content"]}]
    assert (session.request_parameters, session.header.dialect) == (
        parameters,
        "anthropic_messages",
    )
    called = answer["content"][-1]["id"]
    result = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": called, "content": "18"}],
    }
    again = [*session.messages, result]
    asyncio.run(
        _logged(
            callback,
            litellm.anthropic_messages(messages=again, **session.request_parameters, **given),
        )
    )
    assert sandbox.requests[-1].body["messages"] == again
    assert recorded(callback)[0].messages[:3] == again


def test_items_of_the_responses_api_are_stored_one_by_one(callback: ChatMend, sandbox: Any) -> None:
    sandbox.script([CALLS, Reply(text="Done")])
    given = {
        "model": OPENAI,
        "api_key": "any",
        "api_base": sandbox.url("openai/v1"),
        "litellm_session_id": "s1",
    }
    call = litellm.aresponses(
        input="Rome?", instructions="Be brief.", tools=RESPONSES_TOOLS, **given
    )
    asyncio.run(_logged(callback, call))
    (session,) = recorded(callback)
    assert session.messages[0] == {"role": "user", "content": "Rome?"}
    assert [item["type"] for item in session.messages[1:]] == ["message", "function_call"]
    assert session.request_parameters == {"instructions": "Be brief.", "tools": RESPONSES_TOOLS}
    called = session.messages[-1]["call_id"]
    again = [*session.messages, {"type": "function_call_output", "call_id": called, "output": "18"}]
    asyncio.run(
        _logged(callback, litellm.aresponses(input=again, **session.request_parameters, **given))
    )
    assert [session.messages[: len(again)] for session in recorded(callback)] == [again]


@as_sent
def test_repaired_items_are_stored_as_sent(callback: ChatMend, sandbox: Any) -> None:
    given = {
        "model": OPENAI,
        "api_key": "any",
        "api_base": sandbox.url("openai/v1"),
        "litellm_session_id": "s1",
    }
    asyncio.run(
        _logged(callback, litellm.aresponses(input=responses(), tools=RESPONSES_TOOLS, **given))
    )
    (session,) = recorded(callback)
    sent = sandbox.requests[-1].body["input"]
    assert [item["type"] for item in sent if "type" in item][:2] == [
        "function_call",
        "function_call_output",
    ]
    assert session.messages[: len(sent)] == sent


@as_sent
def test_a_bridged_call_is_stored_in_the_dialect_of_its_caller(
    callback: ChatMend, sandbox: Any
) -> None:
    given = {
        "model": CLAUDE,
        "api_key": "any",
        "api_base": sandbox.url("anthropic"),
        "litellm_session_id": "s1",
    }
    asyncio.run(
        _logged(callback, litellm.aresponses(input=[HELLO], tools=RESPONSES_TOOLS, **given))
    )
    (session,) = recorded(callback)
    assert (session.messages, session.request_parameters) == ([HELLO], {"tools": RESPONSES_TOOLS})
    assert (session.header.dialect, session.target) == ("openai_responses", CLAUDE)


def test_gemini_contents_are_stored_as_sent(callback: ChatMend, sandbox: Any) -> None:
    pytest.importorskip("fastapi", reason="older versions of LiteLLM need the proxy for it")
    given = {
        "model": "gemini/gemini-2.5-flash",
        "api_key": "any",
        "api_base": sandbox.url("gemini/v1beta"),
    }
    contents = [{"role": "user", "parts": [{"text": "Rome?"}]}]
    call = litellm.google_genai.agenerate_content(
        contents=contents, litellm_session_id="s1", **given
    )
    asyncio.run(_logged(callback, call))
    (session,) = recorded(callback)
    assert session.messages[0] == contents[0]
    assert session.messages[1]["role"] == "model"
    assert session.header.dialect == "gemini_contents"


def test_synchronous_calls_are_recorded_with_their_repairs(
    callback: ChatMend, sandbox: Any
) -> None:
    install(callback)
    taken, submit = Event(), callback.record.recorder.submit
    callback.record.recorder.submit = lambda *args, **kwargs: (submit(*args, **kwargs), taken.set())
    messages = chat()
    answer = litellm.completion(
        OPENAI,
        messages,
        tools=CHAT_TOOLS,
        api_key="any",
        api_base=sandbox.url("openai/v1"),
        litellm_session_id="s1",
    )
    messages.append(answer.choices[0].message)
    assert taken.wait(20)
    (session,) = recorded(callback)
    assert [message["role"] for message in session.messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


def test_embeddings_are_not_recorded(callback: ChatMend) -> None:
    callback.record(Exchange("s1", None, "m", ["text"], None))
    assert recorded(callback) == []


class _FailingStorage(LocalStorage):
    def create(self, path: str, data: bytes) -> str:
        raise OSError(path, len(data))


def test_a_failing_disk_fails_the_recording_but_not_the_call(
    tmp_path: Path, sandbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    callback = ChatMend(on_error="raise", record=SessionStore(_FailingStorage(tmp_path)))
    litellm.callbacks = [callback]
    for _ in range(3):
        assert ask(callback, sandbox, [HELLO]).choices
    recorder = callback.record.recorder
    assert recorder.flush(10)
    assert (recorder.lost, recorder.faults) == (3, {"OSError": 3})
    assert [record.message for record in caplog.records if record.name == "chatmend.sessions"] == [
        "chatmend could not record a request (OSError); further ones are only counted"
    ]
    recorder.close()


@pytest.mark.showpiece
def test_a_call_is_recorded_if_the_script_exits_right_after_it(
    sandbox: Any, tmp_path: Path
) -> None:
    script = (
        "import asyncio, litellm, sys\n"
        "from chatmend import SessionStore\n"
        "from chatmend.litellm import ChatMend\n"
        "litellm.callbacks = [ChatMend(record=SessionStore(sys.argv[1]))]\n"
        "hello = [{'role': 'user', 'content': 'Hello'}]\n"
        "asyncio.run(litellm.acompletion('openai/gpt-4o', hello, api_key='any', api_base=sys.argv[2]))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path), sandbox.url("openai/v1")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    sessions = [SessionStore(tmp_path).load(path) for path in SessionStore(tmp_path).paths()]
    assert [session.messages[0] for session in sessions] == [
        {"role": "user", "content": "Hello"}
    ], done.stderr


def test_the_environment_sets_the_directory_of_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chatmend.litellm.settings import from_environment

    monkeypatch.setenv("CHATMEND_RECORD", str(tmp_path))
    callback = from_environment()
    callback.record(
        Exchange("s1", "team", "m", [HELLO], None, dialect="openai_chat", target=OPENAI)
    )
    (session,) = recorded(callback)
    assert (session.agent, json.dumps(session.messages)) == (
        f"team/s1@{OPENAI}",
        json.dumps([HELLO]),
    )
    callback.record.recorder.close()
