"""Which requests a provider has accepted, as the callback learns it from real calls of LiteLLM."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import litellm
import pytest
from litellm.utils import Rules, function_setup

from chatmend import Policy
from chatmend.sandbox import Failure, Reply
from tests.litellm_adapter.test_callback import RECORDS_BEFORE_HOOK
from tests.litellm_adapter.test_session_memory import BOUND, FREE, installed, thinking

if TYPE_CHECKING:
    from chatmend.litellm import ChatMend
    from chatmend.sandbox import Sandbox

QUESTION = {"role": "user", "content": "q"}
ONCE = Policy(duplicates="messages")
"""Repairs what the provider accepts: of two equal messages the second one is removed."""


def ask(sandbox: Sandbox, history: list[Any], *, sync: bool = False) -> list[Any]:
    """Send a conversation, append the answer, and return the messages that arrived."""
    sandbox.script([Reply(text="a", thought=f"Plan {len(history)}.")])
    options: dict[str, Any] = {
        "model": BOUND, "messages": history, "max_tokens": 4_096, "api_key": "any",
        "api_base": sandbox.url("anthropic"), "max_retries": 0,
    }  # fmt: skip
    if sync:
        response = litellm.completion(**options)
    else:
        response = asyncio.run(litellm.acompletion(**options))
    history.append(response.choices[0].message.model_dump(exclude_none=True))
    messages: list[Any] = sandbox.requests[-1].body["messages"]
    return messages


def texts(messages: list[Any]) -> list[str]:
    """The texts of the user in the first message of a request."""
    return [block["text"] for block in messages[0]["content"]]


def test_without_a_memory_the_accepted_messages_are_repaired_later(sandbox: Sandbox) -> None:
    """Without this, the tests below could not fail."""
    history: list[Any] = [QUESTION, dict(QUESTION)]
    with installed(policy=ONCE, mode="report", session_memory="off") as callback:
        assert texts(ask(sandbox, history)) == ["q", "q"]
        callback.mode = "repair"
        history.append({"role": "user", "content": "n"})
        with pytest.raises(litellm.BadRequestError, match="bound to a different conversation"):
            ask(sandbox, history)
    assert texts(sandbox.requests[-1].body["messages"]) == ["q"]


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("how", ["report", "denied", "disabled"])
def test_what_was_accepted_unrepaired_stays_when_the_callback_is_switched_on(
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    sync: bool,  # noqa: FBT001
) -> None:
    history: list[Any] = [QUESTION, dict(QUESTION)]
    with installed(policy=ONCE) as callback:
        switch(callback, monkeypatch, how)
        for text in ("n", "m"):
            before = ask(sandbox, history, sync=sync)
            history.append({"role": "user", "content": text})
        assert texts(before) == ["q", "q"]
        switch(callback, monkeypatch, "on")
        after = ask(sandbox, history, sync=sync)
        assert after[: len(before)] == before
        assert thinking(sandbox) == ["Plan 2.", "Plan 4."]
        history += [dict(QUESTION), dict(QUESTION)]
        assert [block["text"] for block in ask(sandbox, history, sync=sync)[-1]["content"]] == [
            "q"
        ], "what comes later is repaired"
    assert {request.status for request in sandbox.requests} == {200}


def switch(callback: ChatMend, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Change what the callback does with a request, as its operator does between two requests."""
    callback.mode = "report" if how == "report" else "repair"
    callback.deny = (BOUND,) if how == "denied" else ()
    monkeypatch.setenv("CHATMEND_DISABLED", "1" if how == "disabled" else "0")


def test_a_model_without_bound_thinking_is_not_remembered(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with installed() as callback:
        for how in ("report", "denied", "disabled"):
            switch(callback, monkeypatch, how)
            callback.deny = (FREE,) if how == "denied" else ()
            asyncio.run(
                litellm.acompletion(
                    model=FREE, messages=[QUESTION], api_key="any",
                    api_base=sandbox.url("anthropic"), max_retries=0,
                )
            )  # fmt: skip
    assert len(callback.memories) == 0


def router(sandbox: Sandbox, **options: Any) -> litellm.Router:
    """Claude with bound thinking, and two models that answer if it does not."""
    deployments = {
        "claude": (BOUND, "anthropic"),
        "gemini": ("gemini/gemini-2.5-flash", "gemini/v1beta"),
        "mistral": ("mistral/mistral-large-latest", "mistral/v1"),
    }
    models = [
        {
            "model_name": name,
            "litellm_params": {"model": model, "api_key": "any", "api_base": sandbox.url(path)},
        }
        for name, (model, path) in deployments.items()
    ]
    return litellm.Router(
        models,
        num_retries=0,
        disable_cooldowns=True,
        fallbacks=[{"claude": ["gemini", "mistral"]}],
        default_litellm_params={"max_retries": 0},
        **options,
    )


async def converse(client: litellm.Router, history: list[Any], *, like_proxy: bool = False) -> None:
    """Send a conversation; like the proxy, with one record of LiteLLM for all attempts."""
    more: dict[str, Any] = {}
    if like_proxy:
        more["litellm_logging_obj"], _ = function_setup(
            "acompletion", Rules(), datetime.now(UTC), model="claude", messages=history,
            litellm_call_id=uuid4().hex,
        )  # fmt: skip
    response = await client.acompletion("claude", history, max_tokens=4_096, **more)
    history.append(response.choices[0].message.model_dump(exclude_none=True))


def arrived(sandbox: Sandbox) -> list[Any]:
    """The bodies of the requests to Claude."""
    bodies = [request.body for request in sandbox.requests]
    return [body for body in bodies if body is not None and "opus" in body.get("model", "")]


@pytest.mark.parametrize("like_proxy", [False, True])
def test_a_request_that_another_provider_answers_is_not_accepted(
    sandbox: Sandbox,
    like_proxy: bool,  # noqa: FBT001
) -> None:
    """When the conversation returns, a newer table or policy repairs what was refused."""
    if not (like_proxy or RECORDS_BEFORE_HOOK):
        pytest.skip("this version of LiteLLM does not connect the hook with the failure")
    client, history = router(sandbox), [QUESTION, dict(QUESTION)]
    with installed() as callback:
        sandbox.script([Reply(text="a")])
        with sandbox.refuse(lambda _: True, "a defect that no table lists", provider="anthropic"):
            asyncio.run(converse(client, history, like_proxy=like_proxy))
        assert [request.status for request in sandbox.requests] == [400, 200]
        assert texts(arrived(sandbox)[-1]["messages"]) == ["q", "q"]
        callback.policy = ONCE
        history.append({"role": "user", "content": "n"})
        sandbox.script([Reply(text="b", thought="Plan.")])
        asyncio.run(converse(client, history))
        assert sandbox.requests[-1].status == 200
        assert texts(arrived(sandbox)[-1]["messages"]) == ["q"]


@pytest.mark.parametrize("like_proxy", [False, True])
def test_a_request_that_is_answered_after_a_retry_is_accepted(
    sandbox: Sandbox,
    like_proxy: bool,  # noqa: FBT001
) -> None:
    client, history = router(sandbox), [QUESTION, dict(QUESTION)]
    client.num_retries = 2
    with installed() as callback:
        sandbox.script([Failure(529), Reply(text="a", thought="Plan 1.")])
        asyncio.run(converse(client, history, like_proxy=like_proxy))
        assert [request.status for request in sandbox.requests] == [529, 200]
        callback.policy = ONCE
        history.append({"role": "user", "content": "n"})
        sandbox.script([Reply(text="b", thought="Plan 2.")])
        asyncio.run(converse(client, history))
    assert texts(sandbox.requests[-1].body["messages"]) == ["q", "q"]
    assert (sandbox.requests[-1].status, thinking(sandbox)) == (200, ["Plan 1."])


def test_a_synchronous_request_that_is_refused_is_not_accepted(sandbox: Sandbox) -> None:
    history: list[Any] = [QUESTION, dict(QUESTION)]
    with installed() as callback:
        sandbox.script([Failure(400, "a defect that no table lists")])
        with pytest.raises(litellm.BadRequestError):
            litellm.completion(
                model=BOUND, messages=history, max_tokens=9, api_key="any",
                api_base=sandbox.url("anthropic"), max_retries=0,
            )  # fmt: skip
        callback.policy = ONCE
        history += [
            {"role": "assistant", "content": "by another"},
            {"role": "user", "content": "n"},
        ]
        assert texts(ask(sandbox, history, sync=True)) == ["q"]


def test_thinking_of_a_turn_that_the_callback_has_not_seen_stays(sandbox: Sandbox) -> None:
    """Another replica has made that turn, or the callback was not registered."""
    history: list[Any] = [QUESTION]
    with installed():
        ask(sandbox, history)
    history.append({"role": "user", "content": "n"})
    ask(sandbox, history)
    with installed() as callback:
        ask(sandbox, [QUESTION])
        assert len(callback.memories) == 1
        history.append({"role": "user", "content": "l"})
        ask(sandbox, history)
    assert (sandbox.requests[-1].status, thinking(sandbox)) == (200, ["Plan 1.", "Plan 3."])
