"""What LiteLLM's conversion would lose or refuse is spelled so that it arrives."""

from __future__ import annotations

from typing import Any

import litellm
import pytest

import chatmend
from chatmend.litellm.attempt import attempt
from chatmend.litellm.conversion import reached
from chatmend.litellm.shapes import CHAT
from tests.litellm_adapter.transcripts import CHAT_TOOLS, valid

GEMINI, MISTRAL, OPENAI = "gemini/gemini-2.5-flash", "mistral/mistral-medium-latest", "openai/gpt-4o"
PATHS = {GEMINI: "gemini/v1beta", MISTRAL: "mistral/v1", OPENAI: "openai/v1"}


def call(call_id: str, arguments: str = '{"city": "Rome"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "get_weather", "arguments": arguments}}


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def twice() -> list[Any]:
    """A model that asks the same thing twice in one breath."""
    return [
        {"role": "user", "content": "The weather in Rome, now and now?"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2", '{ "city":"Rome" }')]},
        result("c1", "18 degrees"),
        result("c2", "19 degrees"),
    ]


def silent() -> list[Any]:
    return [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call("call00001")]},
        result("call00001", ""),
    ]


def bare() -> list[Any]:
    return [{"role": "user", "content": ["look", {"type": "text", "text": "here"}]}]


def mended(messages: list[Any], target: str) -> list[Any]:
    made = attempt({"messages": messages, "tools": CHAT_TOOLS}, CHAT, target)
    found: list[Any] = (made.request or {"messages": messages})["messages"]
    return found


def sent(sandbox: Any, messages: list[Any], target: str) -> Any:
    base = sandbox.url(PATHS[target])
    return litellm.completion(target, messages, tools=CHAT_TOOLS, api_base=base, api_key="any", max_retries=0)


@pytest.mark.parametrize("target", [GEMINI, MISTRAL, OPENAI, "other/model"])
def test_what_litellm_converts_without_loss_is_the_very_list(target: str) -> None:
    messages = valid()
    assert mended(messages, target) is messages


@pytest.mark.parametrize("target", [OPENAI, MISTRAL, "gemini/gemini-3-pro-preview", "anthropic/claude-sonnet-4-5"])
def test_equal_calls_stay_together_where_litellm_does_not_fold_them(target: str) -> None:
    assert [message["role"] for message in mended(twice(), target)] == ["user", "assistant", "tool", "tool"]


@pytest.mark.parametrize(("make", "target"), [(twice, GEMINI), (silent, MISTRAL), (bare, OPENAI)])
def test_a_session_that_litellm_would_lose_goes_on(make: Any, target: str, sandbox: Any) -> None:
    with pytest.raises(Exception, match=r".+"):
        sent(sandbox, make(), target)
    assert sent(sandbox, mended(make(), target), target).choices
    again = mended(make(), target)
    assert mended(again, target) is again


def test_both_results_of_two_equal_calls_reach_gemini_each_behind_its_call(sandbox: Any) -> None:
    sent(sandbox, mended(twice(), GEMINI), GEMINI)
    _, first, one, second, other = sandbox.requests[-1].body["contents"]
    assert [part["function_call"]["args"] for turn in (first, second) for part in turn["parts"]] == [
        {"city": "Rome"}
    ] * 2
    assert "18 degrees" in str(one)
    assert "19 degrees" in str(other)


def test_what_is_known_of_litellm_does_not_change_what_the_provider_takes() -> None:
    messages = bare()
    assert chatmend.repair(messages, OPENAI).messages is messages
    assert reached(OPENAI).limits == chatmend.targets.resolve(OPENAI).limits
