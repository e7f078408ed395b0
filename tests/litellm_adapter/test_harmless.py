"""An internal error of chatmend never fails a request; it is logged with one warning."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import litellm
import pytest

from chatmend.litellm import ChatMend, install
from chatmend.litellm.guardrail import Guardrail
from chatmend.rules import RULES
from tests.every_rule import forget
from tests.litellm_adapter.log_waiter import LogWaiter
from tests.litellm_adapter.transcripts import CHAT_TOOLS, chat, valid
from tests.scale import examples

OPENAI = "openai/gpt-4o"


def given(sandbox: Any, **more: Any) -> dict[str, Any]:
    base = {
        "model": OPENAI,
        "api_key": "any",
        "api_base": sandbox.url("openai/v1"),
        "max_retries": 0,
    }
    return {**base, "messages": valid(), **more}


@pytest.fixture
def broken_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every rule raise an exception whose message quotes the transcript."""

    def fail(*_: Any) -> Any:
        raise RuntimeError("The weather in Rome?")

    forget()  # a transcript whose structure is known to be clean needs no rule
    engine = sys.modules["chatmend.engine"]
    failing = tuple(replace(rule, find=fail) for rule in RULES)
    monkeypatch.setattr(engine, "rules_for", lambda *_: failing)


@pytest.mark.usefixtures("broken_rule")
def test_a_rule_that_raises_causes_one_warning_and_the_request_is_sent(
    sandbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    callback = install(ChatMend())
    more = given(sandbox, messages=chat(), tools=CHAT_TOOLS)
    with caplog.at_level(logging.INFO, "chatmend.litellm"):
        for _ in range(3):
            with pytest.raises(
                litellm.BadRequestError, match="tool_call_ids did not have response messages"
            ):
                asyncio.run(litellm.acompletion(**more))
            with pytest.raises(
                litellm.BadRequestError, match="tool_call_ids did not have response messages"
            ):
                litellm.completion(**more)
    sent = [
        [message["role"] for message in verdict.body["messages"]] for verdict in sandbox.requests
    ]
    assert sent == [["user", "assistant", "user"]] * 6
    lines = [record.message for record in caplog.records if record.name == "chatmend.litellm"]
    assert [re.sub(r"line \d+", "line 9", line) for line in lines] == [
        "chatmend failed with RuntimeError in engine.py, line 9; the request is sent unchanged"
    ]
    assert callback.failures.counts == {"RuntimeError": 6}


@pytest.mark.usefixtures("broken_rule")
def test_repeated_failures_are_logged_at_powers_of_ten_without_content(
    sandbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    callback = ChatMend()
    for _ in range(120):
        kwargs = {"model": OPENAI, "messages": chat()}
        assert asyncio.run(callback.async_pre_call_deployment_hook(kwargs, "acompletion")) is None
    lines = [record.message for record in caplog.records if record.name == "chatmend.litellm"]
    assert [
        re.sub(r"line \d+", "line 9", message.rpartition("RuntimeError")[2]) for message in lines
    ] == [
        " in engine.py, line 9; the request is sent unchanged",
        " 10 times so far",
        " 100 times so far",
    ]
    assert "Rome" not in caplog.text


@pytest.mark.usefixtures("broken_rule")
def test_on_error_raise_raises_internal_errors(sandbox: Any) -> None:
    litellm.callbacks = [ChatMend(on_error="raise")]
    with pytest.raises(RuntimeError):
        asyncio.run(litellm.acompletion(**given(sandbox, messages=chat())))


def test_a_full_disk_fails_the_recording_but_not_the_call(
    sandbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("/dev/full is not available")

    def record(_exchange: Any) -> None:
        full.write_bytes(b"no space is left")

    logger = LogWaiter()
    litellm.callbacks = [ChatMend(record=record), logger]

    async def both() -> Any:
        await litellm.acompletion(**given(sandbox))
        answer = await litellm.acompletion(**given(sandbox, messages=chat(), tools=CHAT_TOOLS))
        assert await logger.wait_async(2)
        return answer

    assert asyncio.run(both()).usage.chatmend["total_tokens"]
    (line,) = [message for message in caplog.messages if "OSError" in message]
    assert line.startswith("chatmend failed with OSError in litellm/hooks.py, line ")


def test_a_guardrail_that_cannot_decide_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Undecided(Guardrail):
        def should_run_guardrail(self, *_: Any, **__: Any) -> bool:
            raise ValueError

    guardrail = Undecided(guardrail_name="chatmend")
    call = {"model": OPENAI, "messages": chat()}
    assert asyncio.run(guardrail.async_pre_call_deployment_hook(call, "acompletion")) is None
    assert caplog.messages[0].endswith("; the request is sent unchanged")


def test_malformed_messages_are_not_changed_in_place() -> None:
    callback = ChatMend()
    for messages in (
        [1, None, {"role": ["user"]}],
        [{"role": "user", "content": {"a": 1}}],
        [[]],
        [{}],
    ):
        before = repr(messages)
        asyncio.run(
            callback.async_pre_call_deployment_hook(
                {"model": OPENAI, "messages": messages}, "acompletion"
            )
        )
        assert repr(messages) == before
    assert callback.failures.counts == {}


def test_a_cancelled_request_is_not_sent(sandbox: Any, caplog: pytest.LogCaptureFixture) -> None:
    many = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": f"{at}"} for at in range(4_001)
    ]
    started, cancelled = Event(), Event()

    class Slow(ChatMend):
        def repair_call(self, *args: Any) -> Any:
            started.set()
            cancelled.wait(60)
            return super().repair_call(*args)

    async def cancel() -> None:
        task = asyncio.create_task(litellm.acompletion(**given(sandbox, messages=many)))
        assert await asyncio.to_thread(started.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()

    litellm.callbacks = [Slow()]
    asyncio.run(cancel())
    assert caplog.messages == []
    assert sandbox.requests == []
    litellm.callbacks = [ChatMend()]
    assert asyncio.run(litellm.acompletion(**given(sandbox))).choices


class WaiterForUsers(LogWaiter):
    """Counts only calls with a user; LiteLLM may still be logging a call of an earlier test."""

    def log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        if kwargs.get("user"):
            super().log_success_event(kwargs, response_obj, start_time, end_time)


def test_concurrent_calls_do_not_mix(sandbox: Any, caplog: pytest.LogCaptureFixture) -> None:
    callback, logger, count = ChatMend(), WaiterForUsers(), examples(150, 500)
    litellm.callbacks = [callback, logger]

    async def one(number: int) -> tuple[Any, Any]:
        broken = number % 2 == 0
        messages = chat() if broken else valid(4 + number % 7 * 2)
        messages = [*messages[:-1], {"role": "user", "content": f"number {number}!"}]
        more = {"tools": CHAT_TOOLS} if broken else {}
        anthropic = {"model": "anthropic/claude-sonnet-4-5", "api_base": sandbox.url("anthropic")}
        target = anthropic if number % 3 == 0 else {}
        answer = await litellm.acompletion(
            **given(sandbox, messages=messages, user=f"u{number}", **more, **target), timeout=300
        )
        return answer, messages

    async def all_of_them() -> list[tuple[Any, Any]]:
        found = await asyncio.gather(*(one(number) for number in range(count)))
        assert await logger.wait_async(count)
        return list(found)

    answers = asyncio.run(all_of_them())
    assert sandbox.refusals == []
    for number, (answer, messages) in enumerate(answers):
        assert f"number {number}!" in answer.choices[0].message.content
        assert len(messages) == (3 if number % 2 == 0 else 4 + number % 7 * 2)
        summary = answer._hidden_params["chatmend"]
        assert summary.get("changes", {}) == ({"TOOL007": 1} if number % 2 == 0 else {})
        if number % 2 == 0:
            assert summary["target"].startswith("anthropic/" if number % 3 == 0 else "openai/")
        assert summary["usage"]["total_tokens"] == answer.usage.total_tokens
    rows = [row for row in callback.usage.snapshot(["end_user"]) if row.keys]
    assert {row.keys["end_user"] for row in rows} == {f"u{number}" for number in range(count)}
    assert all(row.calls == 1 for row in rows)
    assert [message for message in caplog.messages if "failed" in message] == []
