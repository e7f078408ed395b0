"""Tool loops without their thinking, through LiteLLM: every route sends the changed parameter."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import litellm
import pytest

from chatmend.litellm import ChatMend, completion
from tests.litellm_adapter.test_callback import RECORDS_BEFORE_HOOK
from tests.test_lost_thinking import CHAT, FUNCTIONS, LOST, MANUAL, OFF, THOUGHT

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox
    from tests.litellm_adapter.proxy import Proxy

MODEL = "anthropic/claude-sonnet-4-5"
PARAMETERS = [{"thinking": MANUAL}, {"reasoning_effort": "low"}]


def chat(sandbox: Sandbox, **more: Any) -> dict[str, Any]:
    base = {"model": MODEL, "messages": CHAT, "tools": FUNCTIONS, "max_tokens": 8000}
    return {
        **base, "api_key": "any", "api_base": sandbox.url("anthropic"), "max_retries": 0, **more
    }  # fmt: skip


def is_thinking_sent(sandbox: Sandbox) -> bool:
    thinking = sandbox.requests[-1].body.get("thinking", OFF)
    return bool(thinking != OFF)


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_without_chatmend_the_request_is_refused(sandbox: Sandbox, parameter: Any) -> None:
    with pytest.raises(litellm.BadRequestError, match="must start with a thinking block"):
        asyncio.run(litellm.acompletion(**chat(sandbox, **parameter)))


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_chat_call_is_sent_with_thinking_disabled(
    mend: ChatMend, sandbox: Sandbox, parameter: Any
) -> None:
    asyncio.run(litellm.acompletion(**chat(sandbox, **parameter)))
    assert not is_thinking_sent(sandbox)
    assert mend is litellm.callbacks[0]


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_synchronous_call_is_sent_with_thinking_disabled(
    mend: ChatMend, sandbox: Sandbox, parameter: Any
) -> None:
    completion(**chat(sandbox, **parameter))
    assert not is_thinking_sent(sandbox)
    assert mend is litellm.callbacks[0]


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_loop_that_begins_with_thinking_keeps_it(
    mend: ChatMend, sandbox: Sandbox, parameter: Any
) -> None:
    messages = [CHAT[0], {**CHAT[1], "thinking_blocks": [THOUGHT]}, CHAT[2]]
    asyncio.run(litellm.acompletion(**chat(sandbox, messages=messages, **parameter)))
    body = sandbox.requests[-1].body
    assert body["thinking"]["type"] == "enabled"
    assert body["messages"][1]["content"][0] == THOUGHT
    assert mend is litellm.callbacks[0]


def test_a_loop_has_no_thinking_while_the_request_disables_it(
    mend: ChatMend, sandbox: Sandbox
) -> None:
    messages = [CHAT[0], {**CHAT[1], "thinking_blocks": [THOUGHT]}, CHAT[2]]
    asyncio.run(litellm.acompletion(**chat(sandbox, messages=messages, thinking=OFF)))
    assert "Plan." not in str(sandbox.requests[-1].body)
    assert mend is litellm.callbacks[0]


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_parameter_of_the_deployment_is_disabled(
    mend: ChatMend, sandbox: Sandbox, parameter: Any
) -> None:
    params = {"model": MODEL, "api_key": "any", "api_base": sandbox.url("anthropic"), **parameter}
    router = litellm.Router([{"model_name": "claude", "litellm_params": params}], num_retries=0)
    call = router.acompletion(model="claude", messages=CHAT, tools=FUNCTIONS, max_tokens=8000)
    asyncio.run(call)
    assert not is_thinking_sent(sandbox)
    assert mend is litellm.callbacks[0]


def test_a_call_of_the_messages_api_is_sent_with_thinking_disabled(
    mend: ChatMend, sandbox: Sandbox
) -> None:
    more = {"model": MODEL, "api_key": "any", "api_base": sandbox.url("anthropic")}
    asyncio.run(litellm.anthropic_messages(**{**LOST, **more}))
    assert sandbox.requests[-1].body["thinking"] == OFF
    assert mend is litellm.callbacks[0]


ITEMS = [
    {"type": "message", "role": "user", "content": "go"},
    {"type": "function_call", "call_id": "toolu_1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "toolu_1", "output": "r1"},
]
FLAT = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]


def responses(sandbox: Sandbox, *items: Any) -> None:
    asyncio.run(
        litellm.aresponses(
            model=MODEL,
            input=list(items),
            tools=FLAT,
            reasoning={"effort": "low"},
            max_output_tokens=8000,
            api_key="any",
            api_base=sandbox.url("anthropic"),
        )
    )


def reasoning(encrypted: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted}


def test_items_that_litellm_converts_are_refused_without_chatmend(sandbox: Sandbox) -> None:
    with pytest.raises(litellm.BadRequestError, match="must start with a thinking block"):
        responses(sandbox, *ITEMS)


@pytest.mark.parametrize("before", [[], [reasoning("gAAAAABqKxZV3R1R")]])
def test_items_that_litellm_converts_are_sent_with_thinking_disabled(
    mend: ChatMend, sandbox: Sandbox, before: list[Any]
) -> None:
    responses(sandbox, ITEMS[0], *before, *ITEMS[1:])
    assert not is_thinking_sent(sandbox)
    assert mend is litellm.callbacks[0]


@pytest.mark.skipif(
    not RECORDS_BEFORE_HOOK, reason="this version of LiteLLM drops the thinking of items"
)
def test_items_with_thinking_of_claude_keep_it(mend: ChatMend, sandbox: Sandbox) -> None:
    responses(sandbox, ITEMS[0], reasoning(json.dumps([THOUGHT])), *ITEMS[1:])
    body = sandbox.requests[-1].body
    assert body["thinking"]["type"] == "enabled"
    assert body["messages"][1]["content"][0] == THOUGHT
    assert mend is litellm.callbacks[0]


def test_bedrock_gets_the_parameter_in_additional_fields(mend: ChatMend, sandbox: Sandbox) -> None:
    pytest.importorskip("boto3")
    more = {
        "model": "bedrock/us.anthropic.claude-sonnet-4-20250514-v1:0",
        "aws_access_key_id": "any",
        "aws_secret_access_key": "any",
        "aws_region_name": "us-east-1",
        "aws_bedrock_runtime_endpoint": sandbox.url("bedrock"),
        "api_base": None,
        "api_key": None,
    }
    asyncio.run(litellm.acompletion(**chat(sandbox, thinking=MANUAL, **more)))
    assert sandbox.requests[-1].body["additionalModelRequestFields"]["thinking"] == OFF
    assert mend is litellm.callbacks[0]


def test_in_report_mode_the_original_is_sent(sandbox: Sandbox) -> None:
    litellm.callbacks = [ChatMend(mode="report", on_error="raise")]
    with pytest.raises(litellm.BadRequestError, match="must start with a thinking block"):
        asyncio.run(litellm.acompletion(**chat(sandbox, thinking=MANUAL)))


@pytest.mark.parametrize(
    ("path", "request_body"),
    [
        ("/v1/chat/completions", {"messages": CHAT, "tools": FUNCTIONS, "max_tokens": 8000}),
        ("/v1/messages", {key: LOST[key] for key in ("messages", "tools", "max_tokens")}),
    ],
)
def test_the_proxy_sends_it_with_thinking_disabled(
    proxy: Proxy, sandbox: Sandbox, path: str, request_body: Any
) -> None:
    answer = proxy.post(path, {"model": "ant", "thinking": MANUAL, **request_body})
    assert answer.status_code == 200, answer.text
    assert "THINK008" in json.dumps(dict(answer.headers))
    assert sandbox.requests[-1].body["thinking"] == OFF
