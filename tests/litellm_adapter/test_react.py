"""One more attempt after a refusal, through LiteLLM's functions, its Router and streams."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import litellm
import pytest

import chatmend
from chatmend.litellm import ChatMend, install, uninstall
from chatmend.litellm import completion as drop_in
from chatmend.sandbox.signatures import sign
from tests.litellm_adapter.log_waiter import LogWaiter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

FORGED = sign("claude-opus-4-8", "another text")
"""It has the form of a signature, so only the provider can tell that it is another text's."""
THINKING = {"type": "thinking", "thinking": "hm", "signature": FORGED}
ASK, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "n"}
CHAT = [ASK, {"role": "assistant", "content": "a", "thinking_blocks": [THINKING]}, NEXT]
BLOCKS = [
    ASK,
    {"role": "assistant", "content": [THINKING, {"type": "text", "text": "a"}]},
    NEXT,
]
MODEL = "anthropic/claude-opus-4-8"
SEALED = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": sign("gpt-5", "another item"),
}
ITEMS = [
    ASK,
    SEALED,
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    NEXT,
]


@contextmanager
def installed(callback: ChatMend) -> Iterator[ChatMend]:
    install(callback)
    try:
        yield callback
    finally:
        uninstall()


@pytest.fixture
def mend() -> Iterator[ChatMend]:
    with installed(ChatMend(react=1, on_error="raise")) as callback:
        yield callback


def given(sandbox: Sandbox, **more: Any) -> dict[str, Any]:
    base = {"api_key": "any", "api_base": sandbox.url("anthropic"), "max_retries": 0}
    return {**base, "model": MODEL, "messages": CHAT, "max_tokens": 99, **more}


def statuses(sandbox: Sandbox) -> list[bool]:
    """For each request whether it was accepted."""
    return [request.status == 200 for request in sandbox.requests]


def has_thinking(sandbox: Sandbox) -> bool:
    return FORGED in str(sandbox.requests[-1].body)


def test_a_call_that_is_accepted_is_made_once(mend: ChatMend, sandbox: Sandbox) -> None:
    asyncio.run(litellm.acompletion(**given(sandbox, messages=[ASK])))
    assert statuses(sandbox) == [True]
    assert len(mend.lessons) == 0


def test_an_asynchronous_call_is_made_again(mend: ChatMend, sandbox: Sandbox) -> None:
    async def logged() -> Any:
        logger = LogWaiter()
        litellm.callbacks = [*litellm.callbacks, logger]
        answer = await litellm.acompletion(**given(sandbox))
        assert await logger.wait_async()
        return answer

    response = asyncio.run(logged())
    assert statuses(sandbox) == [False, True]
    assert not has_thinking(sandbox)
    shown = response._hidden_params["chatmend"]
    assert (shown["changes"], shown["reacted"]) == ({"BLOCK001": 1}, 1)
    assert mend.usage.total().calls == 1, "the refused attempt is not counted"


def test_what_was_learnt_holds_for_the_next_turns(mend: ChatMend, sandbox: Sandbox) -> None:
    async def turns() -> None:
        await litellm.acompletion(**given(sandbox))
        more = [*CHAT, {"role": "assistant", "content": "b"}, NEXT]
        await litellm.acompletion(**given(sandbox, messages=more))

    asyncio.run(turns())
    assert statuses(sandbox) == [False, True, True]
    assert len(mend.lessons) == 1


def test_another_conversation_learns_nothing_from_it(mend: ChatMend, sandbox: Sandbox) -> None:
    async def turns() -> None:
        await litellm.acompletion(**given(sandbox))
        other = [{"role": "user", "content": "another opening"}, *CHAT[1:]]
        await litellm.acompletion(**given(sandbox, messages=other))

    asyncio.run(turns())
    assert statuses(sandbox) == [False, True, False, True]


def test_another_tenant_learns_nothing_from_it(mend: ChatMend, sandbox: Sandbox) -> None:
    async def turns() -> None:
        for team in ("red", "blue"):
            metadata = {"user_api_key_team_id": team}
            await litellm.acompletion(**given(sandbox, metadata=metadata))

    asyncio.run(turns())
    assert statuses(sandbox) == [False, True, False, True]


@pytest.mark.parametrize("call", ["completion", "drop-in"])
def test_a_synchronous_call_is_made_again(mend: ChatMend, sandbox: Sandbox, call: str) -> None:
    function = drop_in if call == "drop-in" else litellm.completion
    response = function(**given(sandbox))
    assert statuses(sandbox) == [False, True]
    assert response._hidden_params["chatmend"]["reacted"] == 1
    assert mend.react == 1


def test_a_stream_is_made_again_before_its_first_chunk(mend: ChatMend, sandbox: Sandbox) -> None:
    async def read() -> str:
        stream = await litellm.acompletion(**given(sandbox, stream=True))
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(read())
    assert statuses(sandbox) == [False, True]
    text = "".join(
        chunk.choices[0].delta.content or ""
        for chunk in litellm.completion(**given(sandbox, stream=True, messages=[ASK, *CHAT]))
    )
    assert text
    assert statuses(sandbox)[2:] == [False, True]
    assert mend.react == 1


def test_messages_requests(mend: ChatMend, sandbox: Sandbox) -> None:
    asyncio.run(litellm.anthropic_messages(**given(sandbox, messages=BLOCKS)))
    assert statuses(sandbox)[-1] is True
    assert not has_thinking(sandbox)
    assert mend.react == 1


@pytest.mark.parametrize("stream", [False, True])
def test_responses_requests(mend: ChatMend, sandbox: Sandbox, stream: bool) -> None:  # noqa: FBT001
    more = {"api_key": "any", "api_base": sandbox.url("openai/v1"), "max_retries": 0}

    async def ask() -> None:
        answer = await litellm.aresponses(
            model="openai/gpt-5", input=ITEMS, store=False, stream=stream, **more
        )
        if stream:
            async for _ in answer:
                pass

    asyncio.run(ask())
    assert statuses(sandbox) == [False, True]
    assert SEALED["encrypted_content"] not in str(sandbox.requests[-1].body)
    assert mend.react == 1


def test_a_router_does_not_cool_the_deployment_down(mend: ChatMend, sandbox: Sandbox) -> None:
    params = {key: value for key, value in given(sandbox).items() if key != "messages"}
    router = litellm.Router(
        model_list=[{"model_name": "claude", "litellm_params": params}], num_retries=0
    )

    async def ask() -> None:
        await router.acompletion(model="claude", messages=CHAT)
        await router.acompletion(model="claude", messages=CHAT)

    asyncio.run(ask())
    assert statuses(sandbox) == [False, True, True]
    assert mend.react == 1


def test_without_react_the_refusal_is_raised(sandbox: Sandbox) -> None:
    with installed(ChatMend(on_error="raise")) as callback, pytest.raises(litellm.BadRequestError):
        asyncio.run(litellm.acompletion(**given(sandbox)))
    assert statuses(sandbox) == [False]
    assert len(callback.lessons) == 0


def test_an_error_that_is_not_about_the_transcript_is_raised(
    mend: ChatMend, sandbox: Sandbox
) -> None:
    with pytest.raises(litellm.BadRequestError):
        asyncio.run(
            litellm.acompletion(
                **given(
                    sandbox,
                    messages=[ASK],
                    tool_choice={"type": "function", "function": {"name": "x"}},
                )
            )
        )
    assert len(sandbox.requests) == 1
    assert len(mend.lessons) == 0


def test_report_mode_makes_no_second_attempt(sandbox: Sandbox) -> None:
    with installed(ChatMend(react=2, mode="report")), pytest.raises(litellm.BadRequestError):
        asyncio.run(litellm.acompletion(**given(sandbox)))
    assert statuses(sandbox) == [False]


def test_a_callback_that_cannot_repeat_a_call_says_so_once(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail_twice() -> None:
        logger = LogWaiter()
        litellm.callbacks = [ChatMend(react=1, on_error="raise"), logger]
        for failures in (1, 2):
            with pytest.raises(litellm.BadRequestError):
                await litellm.acompletion(**given(sandbox))
            assert await logger.wait_async(0, failures=failures)

    asyncio.run(fail_twice())
    assert statuses(sandbox) == [False, False]
    (warning,) = [text for text in caplog.messages if text.startswith("react has no effect")]
    assert "chatmend.litellm.install(callback)" in warning, "the next step"


def test_an_installed_callback_does_not_warn_of_a_call_that_fails(
    mend: ChatMend, sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        logger = LogWaiter()
        litellm.callbacks = [*litellm.callbacks, logger]
        with pytest.raises(litellm.BadRequestError):
            await litellm.acompletion(**given(sandbox, messages=[ASK], temperature=9))
        assert await logger.wait_async(0, failures=1)

    asyncio.run(fail())
    assert mend.react == 1
    assert "no effect" not in caplog.text


def test_a_cancelled_call_leaves_no_half_state(mend: ChatMend, sandbox: Sandbox) -> None:
    async def cancel() -> None:
        task = asyncio.create_task(litellm.acompletion(**given(sandbox)))
        while not sandbox.requests:  # noqa: ASYNC110 - the server runs in another thread
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    asyncio.run(litellm.acompletion(**given(sandbox)))
    assert statuses(sandbox)[-1] is True
    assert mend.react == 1


@pytest.mark.parametrize("value", [3, -1, "many", 1.5, None])
def test_an_invalid_number_of_attempts_is_an_error(value: Any) -> None:
    with pytest.raises(chatmend.PolicyError, match="react"):
        ChatMend(react=value)
