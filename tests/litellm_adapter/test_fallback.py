"""A conversation that moves from provider to provider and comes back: the story of a fallback in mid-conversation."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any

import litellm
import pytest

from chatmend.sandbox import Failure, Reply, Sandbox
from tests.litellm_adapter.transcripts import CHAT_TOOLS

if TYPE_CHECKING:
    from chatmend.litellm import ChatMend

ORDER = ("ant", "gem", "mis")
PLACES = {
    "ant": ("anthropic/claude-sonnet-4-5", "anthropic"),
    "gem": ("gemini/gemini-2.5-flash", "gemini/v1beta"),
    "mis": ("mistral/mistral-large-latest", "mistral/v1"),
}
WEATHER = Reply(thought="I look it up.", calls=(("get_weather", {"city": "Rome"}),))
THINKING = {"type": "enabled", "budget_tokens": 1024}
OVERLOADED = Failure(529)
ANSWER = Reply(text="18 degrees.", thought="The tool has said it.")


def router(sandbox: Any) -> litellm.Router:
    models = [
        {"model_name": name, "litellm_params": {"model": model, "api_key": "any", "api_base": sandbox.url(path)}}
        for name, (model, path) in PLACES.items()
    ]
    return litellm.Router(
        models,
        num_retries=0,
        disable_cooldowns=True,
        fallbacks=[{"ant": ["gem", "mis"]}],
        default_litellm_params={"max_retries": 0},
    )


def system() -> list[Any]:
    marked = {"type": "text", "text": "You are a weather service. " * 40, "cache_control": {"type": "ephemeral"}}
    return [{"role": "system", "content": [marked]}]


class Conversation:
    """What an agent does: it appends what came back, and runs tools."""

    def __init__(self, sandbox: Any) -> None:
        self.messages = system()
        self._router = router(sandbox)

    async def say(self, text: str) -> Any:
        self.messages.append({"role": "user", "content": text})
        return await self.go_on()

    async def go_on(self) -> Any:
        before = copy.deepcopy(self.messages)
        answer = await self._router.acompletion("ant", self.messages, tools=CHAT_TOOLS, thinking=THINKING)
        assert self.messages == before
        said = answer.choices[0].message
        self.messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls or ():
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": "18 degrees"})
        return answer


@pytest.fixture
def strict() -> Any:
    """A sandbox that refuses every signature that it has not made itself."""
    with Sandbox(strict_signatures=True) as server:
        yield server


@pytest.mark.skipif(
    not hasattr(litellm.integrations.custom_logger.CustomLogger, "async_post_call_failure_deployment_hook"),
    reason="this LiteLLM does not send Gemini's requests to another address",
)
def test_a_conversation_falls_back_twice_and_returns_with_its_signatures_and_its_cache(
    strict: Any, mend: ChatMend
) -> None:
    litellm.drop_params = True
    try:
        asyncio.run(_story(strict))
    finally:
        litellm.drop_params = False
    assert [verdict for verdict in strict.refusals if verdict.note != "scripted"] == []


async def _story(strict: Any) -> None:
    talk = Conversation(strict)
    strict.script([WEATHER, ANSWER])
    await talk.say("The weather in Rome?")
    await talk.go_on()
    signed = copy.deepcopy([message for message in talk.messages if message.get("thinking_blocks")])
    assert len(signed) == 2
    first = _last(strict, "anthropic").body

    # Anthropic is overloaded: Gemini takes over, with a tool call of its own.
    strict.script([OVERLOADED, Reply(calls=(("get_weather", {"city": "Oslo"}),)), OVERLOADED, Reply(text="Cold.")])
    await talk.say("And in Oslo?")
    await talk.go_on()
    assert _last(strict, "gemini").status == 200

    # Both are: Mistral takes over, which wants ids of nine letters and digits.
    strict.script([OVERLOADED, OVERLOADED, Reply(text="Warm.")])
    await talk.say("And in Cairo?")
    assert _last(strict, "mistral").status == 200

    strict.script([Reply(text="You are welcome.", thought="They thank me.")])
    answer = await talk.say("Thank you.")
    back = _last(strict, "anthropic")
    assert back.status == 200
    assert [message for message in talk.messages if message.get("thinking_blocks")][:2] == signed
    # What Anthropic was sent before it failed stands at the front of what it is sent now, byte for byte.
    assert back.body["messages"][: len(first["messages"])] == first["messages"]
    assert _signatures(back.body)[: len(signed)] == [
        block["signature"] for message in signed for block in message["thinking_blocks"]
    ]
    assert back.cached > 0
    assert answer.usage.chatmend["cache_read_tokens"] == back.cached


def _last(sandbox: Any, provider: str) -> Any:
    return [verdict for verdict in sandbox.requests if verdict.provider == provider and verdict.note == ""][-1]


def _signatures(body: Any) -> list[str]:
    return [
        block["signature"]
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == "thinking"
    ]
