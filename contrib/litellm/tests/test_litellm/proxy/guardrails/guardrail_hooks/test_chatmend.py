"""Unit tests of the chatmend guardrail; they need ``pip install 'chatmend[litellm]'``."""

import asyncio

import pytest

pytest.importorskip("chatmend")

from litellm.proxy.guardrails.guardrail_hooks.chatmend import (
    ChatMendGuardrail,
    guardrail_class_registry,
    guardrail_initializer_registry,
)
from litellm.proxy.guardrails.guardrail_registry import (
    guardrail_class_registry as all_classes,
)
from litellm.proxy.guardrails.guardrail_registry import (
    guardrail_initializer_registry as all_initializers,
)

BROKEN = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "hello?"},
]


def request_for(guardrails):
    return {
        "model": "anthropic/claude-sonnet-4-5",
        "messages": BROKEN,
        "metadata": {"guardrails": guardrails},
    }


def test_the_registries_know_the_guardrail():
    assert all_initializers["chatmend"] is guardrail_initializer_registry["chatmend"]
    assert all_classes["chatmend"] is guardrail_class_registry["chatmend"] is ChatMendGuardrail


def test_the_config_model_has_a_name_for_the_ui():
    assert ChatMendGuardrail.get_config_model().ui_friendly_name() == "chatmend"


def test_a_request_that_names_the_guardrail_is_repaired():
    guardrail = ChatMendGuardrail(guardrail_name="chatmend", event_hook="pre_call")
    sent = asyncio.run(
        guardrail.async_pre_call_deployment_hook(request_for(["chatmend"]), "acompletion")
    )
    assert all(message["content"] for message in sent["messages"])
    assert BROKEN[1]["content"] == ""


def test_other_requests_are_unchanged():
    guardrail = ChatMendGuardrail(guardrail_name="chatmend", event_hook="pre_call")
    hook = guardrail.async_pre_call_deployment_hook(request_for([]), "acompletion")
    assert asyncio.run(hook) is None


def test_invalid_options_fail_at_start():
    with pytest.raises(Exception, match="choose 'repair' or 'report' or 'off'"):
        ChatMendGuardrail({"mode": "on"}, guardrail_name="chatmend", event_hook="pre_call")
