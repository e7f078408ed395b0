"""Synchronous calls: the drop-in ``completion`` and the functions that ``install()`` wraps."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import types
from typing import Any

import litellm
import pytest
from litellm.types.utils import CallTypes

from chatmend.litellm import ChatMend, completion, install, uninstall
from tests.litellm_adapter.log_waiter import LogWaiter
from tests.litellm_adapter.test_callback import RECORDS_BEFORE_HOOK
from tests.litellm_adapter.transcripts import CHAT_TOOLS, RESPONSES_TOOLS, chat, responses, valid
from tests.litellm_adapter.upstream import Recorder


def given(sandbox: Any, **more: Any) -> dict[str, Any]:
    base = {
        "api_key": "any",
        "api_base": sandbox.url("openai/v1"),
        "max_retries": 0,
        "tools": CHAT_TOOLS,
    }
    return {**base, "model": "openai/gpt-4o", "messages": chat(), **more}


async def _logged(**given: Any) -> None:
    """Make an asynchronous call and wait until LiteLLM has logged it.

    Otherwise LiteLLM would log it in the event loop of the next test.
    """
    logger = LogWaiter()
    litellm.callbacks = [*litellm.callbacks, logger]
    await litellm.acompletion(**given)
    assert await logger.wait_async()


def test_the_drop_in_repairs_and_installs_nothing(sandbox: Any) -> None:
    before = litellm.completion
    answer = completion(**given(sandbox))
    assert answer._hidden_params["chatmend"]["changes"] == {"TOOL007": 1}
    assert litellm.completion is before
    assert litellm.callbacks == []


def test_the_drop_in_sends_a_valid_request_unchanged(sandbox: Any) -> None:
    mine = valid()
    answer = completion(**given(sandbox, messages=mine, tools=None))
    assert sandbox.requests[0].body["messages"] == valid() == mine
    assert answer._hidden_params["chatmend"]["changes"] == {}


def test_a_synchronous_call_that_the_callback_cannot_repair_causes_one_warning(
    sandbox: Any, mend: ChatMend, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        litellm.completion(**given(sandbox, messages=valid(), tools=None))
    (warning,) = [record for record in caplog.records if record.name == "chatmend.litellm"]
    assert warning.levelname == "WARNING"
    assert "chatmend.litellm.install()" in warning.message


def test_calls_that_are_repaired_cause_no_warning(
    sandbox: Any, mend: ChatMend, caplog: pytest.LogCaptureFixture
) -> None:
    more = given(sandbox)
    completion(**more)
    asyncio.run(_logged(**more))
    install()
    litellm.completion(**more)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_positional_arguments_are_supported(sandbox: Any) -> None:
    more = given(sandbox)
    model, messages = more.pop("model"), more.pop("messages")
    assert completion(model, messages, **more).choices
    assert completion(model, messages, 30, **more).choices
    assert sandbox.refusals == []


def test_installing_twice_has_no_effect(sandbox: Any) -> None:
    first = install(ChatMend(on_error="raise"))
    wrapped = litellm.completion
    assert install(ChatMend()) is first
    assert litellm.completion is wrapped
    assert [known for known in litellm.callbacks if isinstance(known, ChatMend)] == [first]
    litellm.completion(**given(sandbox))
    assert sandbox.refusals == []


def test_install_uses_a_callback_that_is_already_registered(mend: ChatMend) -> None:
    assert install() is mend
    assert litellm.callbacks == [mend]


@pytest.mark.parametrize("is_in_loop", [False, True])
def test_the_answer_of_responses_lists_the_changes(sandbox: Any, *, is_in_loop: bool) -> None:
    install(ChatMend(on_error="raise"))

    async def call_in_loop() -> Any:
        return litellm.responses(**more)

    more = {**_responses_given(sandbox), "input": responses()}
    answer = asyncio.run(call_in_loop()) if is_in_loop else litellm.responses(**more)
    assert answer._hidden_params["chatmend"]["changes"] == {"TOOL007": 1}
    assert answer.usage.chatmend["total_tokens"]
    more["input"] = "hi"
    clean = litellm.responses(**more)
    assert not clean._hidden_params["chatmend"].get("changes")


def _responses_given(sandbox: Any) -> dict[str, Any]:
    return {
        "model": "openai/gpt-4o",
        "api_key": "any",
        "api_base": sandbox.url("openai/v1"),
        "max_retries": 0,
        "tools": RESPONSES_TOOLS,
    }


def test_uninstalling_restores_litellm(sandbox: Any) -> None:
    names = ("completion", "acompletion", "responses")
    before = [getattr(litellm, name) for name in names]
    install(ChatMend(on_error="raise"))
    litellm.completion(**given(sandbox))
    uninstall()
    uninstall()
    assert [getattr(litellm, name) for name in names] == before
    assert litellm.callbacks == litellm.success_callback == litellm._async_success_callback == []


def test_a_name_that_was_bound_before_install_causes_a_warning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = types.ModuleType("early_bird")
    early.ask = litellm.completion  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "early_bird", early)
    with caplog.at_level(logging.WARNING, "chatmend.litellm"):
        install()
    assert any(
        "ask in early_bird: it was imported before install()" in message
        for message in caplog.messages
    )


def test_a_wrapped_stream_is_still_a_custom_stream_wrapper(sandbox: Any) -> None:
    install(ChatMend(on_error="raise"))
    stream = litellm.completion(
        **given(sandbox, stream=True, stream_options={"include_usage": True})
    )
    assert isinstance(stream, litellm.CustomStreamWrapper)
    chunks = list(stream)
    whole = litellm.stream_chunk_builder(chunks)
    assert "Are you there?" in whole.choices[0].message.content
    records = [usage.chatmend for chunk in chunks if (usage := getattr(chunk, "usage", None))]
    assert [record["total_tokens"] for record in records] == [whole.usage.total_tokens]
    assert all(record.get("cost_source") in (None, "litellm") for record in records)


def test_the_metadata_of_the_caller_is_unchanged(sandbox: Any) -> None:
    install(ChatMend(on_error="raise"))
    metadata = {"mine": 1}
    litellm.completion(**given(sandbox, metadata=metadata))
    assert metadata == {"mine": 1}


def test_the_kill_switch_applies_to_synchronous_calls(
    sandbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(ChatMend(on_error="raise"))
    monkeypatch.setenv("CHATMEND_DISABLED", "1")
    with pytest.raises(litellm.BadRequestError):
        litellm.completion(**given(sandbox))


def test_report_mode_applies_to_synchronous_calls(sandbox: Any) -> None:
    install(ChatMend(mode="report", on_error="raise"))
    with pytest.raises(litellm.BadRequestError):
        litellm.completion(**given(sandbox))


ORPHAN: list[Any] = [
    {"role": "user", "content": "q"},
    {"role": "tool", "tool_call_id": "call_1", "content": "r"},
]


@pytest.mark.skipif(
    not RECORDS_BEFORE_HOOK, reason="this version of LiteLLM hides the model from the hook"
)
def test_a_model_by_position_is_found_by_the_callback(mend: ChatMend, sandbox: Any) -> None:
    given = {"api_key": "any", "api_base": sandbox.url("openai/v1"), "max_retries": 0}
    asyncio.run(litellm.acompletion("openai/gpt-4o", messages=ORPHAN, **given))
    assert [message["role"] for message in sandbox.requests[-1].body["messages"]] == ["user"] * 2
    assert mend in litellm.callbacks


@pytest.mark.skipif(RECORDS_BEFORE_HOOK, reason="this version of LiteLLM tells the hook the model")
def test_a_model_by_position_that_the_callback_cannot_see_is_warned_about(
    mend: ChatMend, sandbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    given = {"api_key": "any", "api_base": sandbox.url("openai/v1"), "max_retries": 0}
    with pytest.raises(litellm.BadRequestError):
        asyncio.run(litellm.acompletion("openai/gpt-4o", messages=ORPHAN, **given))
    assert [record.getMessage() for record in caplog.records if record.name.startswith("chat")] == [
        (
            "chatmend repairs no call whose model is passed by position; write model=..., or call "
            "chatmend.litellm.install()"
        )
    ]
    install(mend)
    asyncio.run(litellm.acompletion("openai/gpt-4o", messages=ORPHAN, **given))
    assert len(sandbox.requests[-1].body["messages"]) == 2


def test_messages_by_position_are_repaired_with_install_and_warned_about_without(
    mend: ChatMend, sandbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    given = {"api_key": "any", "api_base": sandbox.url("openai/v1"), "max_retries": 0}
    for _ in range(2):
        with pytest.raises(litellm.BadRequestError):
            asyncio.run(litellm.acompletion("openai/gpt-4o", ORPHAN, **given))
    warnings = [record.getMessage() for record in caplog.records if record.name.startswith("chat")]
    names = "messages" if RECORDS_BEFORE_HOOK else "model or messages"
    keywords = "messages=..." if RECORDS_BEFORE_HOOK else "model=..., messages=..."
    assert warnings == [
        (
            f"chatmend repairs no call whose {names} is passed by position; write {keywords}, or "
            "call chatmend.litellm.install()"
        )
    ]
    install(mend)
    asyncio.run(litellm.acompletion("openai/gpt-4o", ORPHAN, **given))
    assert len(sandbox.requests[-1].body["messages"]) == 2


@pytest.mark.skipif(not hasattr(litellm, "compact_responses"), reason="an older LiteLLM")
@pytest.mark.parametrize(
    "is_async",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.skipif(
                "acompact_responses" not in {one.value for one in CallTypes},
                reason="an older LiteLLM, which does not tell callbacks the type of this call",
            ),
        ),
    ],
)
def test_a_request_for_a_compaction_is_repaired_once(*, is_async: bool) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    items = [{"role": "user", "content": "a"}, call, {"role": "user", "content": "b"}]
    install()
    with Recorder() as provider:
        place = {"api_base": provider.url("v1"), "api_key": "k"}
        options: dict[str, Any] = {"model": "openai/gpt-5", "input": items, **place}
        answer = _compact(options, is_async=is_async)
        (received,) = provider.take()
    assert answer.object == "response.compaction"
    assert received.path == "/v1/responses/compact"
    _, made, result, _ = json.loads(received.body)["input"]
    assert (made, result["type"], result["call_id"]) == (call, "function_call_output", "c1")


def _compact(options: dict[str, Any], *, is_async: bool) -> Any:
    if is_async:
        return asyncio.run(litellm.acompact_responses(**options))
    return litellm.compact_responses(**options)
