"""What was sent in a conversation, kept by the callback."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import litellm
import pytest

import chatmend
from chatmend import Effect, Policy
from chatmend.litellm import ChatMend, install, uninstall
from chatmend.litellm.call_memories import CallMemories
from chatmend.sandbox import Reply
from tests.sandbox.test_bound_thinking import thinking_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

BOUND, FREE = "anthropic/claude-opus-5-5", "anthropic/claude-sonnet-4-6"
RAW = Policy(allow=Effect.RESHAPES)
SYSTEM = {"role": "system", "content": "Be brief."}


@contextmanager
def installed(**options: Any) -> Iterator[ChatMend]:
    callback = ChatMend(**{"on_error": "raise", **options})
    install(callback)
    try:
        yield callback
    finally:
        uninstall()


def ask(sandbox: Sandbox, history: list[Any], model: str = BOUND, **more: Any) -> None:
    """Send a conversation, and append the answer as LiteLLM returns it."""
    sandbox.script([Reply(text="a", thought=f"Plan {len(history)}.")])
    response = asyncio.run(
        litellm.acompletion(
            model=model,
            messages=history,
            max_tokens=4_096,
            api_key="any",
            api_base=sandbox.url("anthropic"),
            max_retries=0,
            **more,
        )
    )
    history.append(response.choices[0].message.model_dump(exclude_none=True))


def thinking(sandbox: Sandbox) -> list[str]:
    """The thinking in the last request."""
    blocks = thinking_of(sandbox.requests[-1].body["messages"])
    return [block["thinking"] for block in blocks]


def test_thinking_behind_a_changed_system_prompt_is_removed(sandbox: Sandbox) -> None:
    history: list[Any] = [SYSTEM, {"role": "user", "content": "q"}]
    with installed() as callback:
        ask(sandbox, history)
        history.append({"role": "user", "content": "n"})
        ask(sandbox, history)
        assert thinking(sandbox) == ["Plan 2."]
        history[0] = {**SYSTEM, "content": "Be verbose."}
        history.append({"role": "user", "content": "l"})
        ask(sandbox, history)
    assert [request.status for request in sandbox.requests] == [200, 200, 200]
    assert thinking(sandbox) == []
    assert len(callback.memories) == 1


def test_a_result_that_the_client_shortens(sandbox: Sandbox) -> None:
    history: list[Any] = [SYSTEM, {"role": "user", "content": "q"}]
    with installed():
        ask(sandbox, history)
        history.append({"role": "user", "content": "long"})
        ask(sandbox, history)
        history[3] = {"role": "user", "content": "short"}
        history.append({"role": "user", "content": "l"})
        ask(sandbox, history)
    assert [request.status for request in sandbox.requests] == [200, 200, 200]
    assert thinking(sandbox) == ["Plan 2."]


@pytest.mark.parametrize(("mode", "model"), [("bound", BOUND), ("all", FREE)])
def test_another_policy_in_mid_conversation_keeps_what_was_accepted(
    sandbox: Sandbox, mode: Any, model: str
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history: list[Any] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "n"},
    ]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    with installed(session_memory=mode) as callback:
        ask(sandbox, history, model, tools=tools)
        sent = sandbox.requests[-1].body["messages"]
        history.append({"role": "user", "content": "l"})
        callback.policy = RAW
        ask(sandbox, history, model, tools=tools)
    assert [request.status for request in sandbox.requests] == [200, 200]
    assert sandbox.requests[-1].body["messages"][: len(sent) - 1] == sent[:-1]


@pytest.mark.parametrize(("mode", "model"), [("off", BOUND), ("bound", FREE)])
def test_nothing_is_kept_where_nothing_is_needed(sandbox: Sandbox, mode: Any, model: str) -> None:
    with installed(session_memory=mode) as callback:
        ask(sandbox, [{"role": "user", "content": "q"}], model)
    assert len(callback.memories) == 0


def test_two_tenants_share_no_memory(sandbox: Sandbox) -> None:
    with installed() as callback:
        for team in ("red", "blue"):
            opening = [{"role": "user", "content": "q"}]
            ask(sandbox, opening, metadata={"user_api_key_team_id": team})
    assert len(callback.memories) == 2


def test_an_invalid_value_is_an_error() -> None:
    with pytest.raises(chatmend.PolicyError, match="session_memory='always'"):
        ChatMend(session_memory="always")  # type: ignore[arg-type]


@pytest.mark.skipif(
    "thinking" not in (litellm.get_supported_openai_params(BOUND) or ()),
    reason="this version of LiteLLM does not know that the model thinks",
)
@pytest.mark.parametrize("headers", [None, {"Anthropic-Beta": "another-beta"}])
def test_the_provider_can_ignore_thinking_instead(sandbox: Sandbox, headers: Any) -> None:
    history: list[Any] = [SYSTEM, {"role": "user", "content": "q"}]
    more = {"thinking": {"type": "adaptive"}, **({"extra_headers": headers} if headers else {})}
    with installed(policy=Policy(bound_thinking="drop_block")):
        ask(sandbox, history, **more)
        history[0] = {**SYSTEM, "content": "Be verbose."}
        history.append({"role": "user", "content": "n"})
        ask(sandbox, history, **more)
    request = sandbox.requests[-1]
    assert request.status == 200
    assert request.body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert thinking(sandbox) == ["Plan 2."]


@pytest.mark.parametrize("method", ["keep", "refuse_attempts"])
def test_a_memory_that_cannot_be_kept_does_not_discard_the_repair(
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the store")

    monkeypatch.setattr(CallMemories, method, fail)
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history: list[Any] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "go"},
    ]
    with installed(on_error="pass"):
        ask(sandbox, list(history))
    assert not sandbox.refusals
    assert "tool_result" in str(sandbox.requests[-1].body)
    assert "what was sent is not remembered" in caplog.text
    with installed(), pytest.raises(Exception, match="the store"):
        ask(sandbox, list(history))
