"""A conversation that falls back to other providers and returns to the first one."""

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
DEPLOYMENTS = {
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
        {
            "model_name": name,
            "litellm_params": {"model": model, "api_key": "any", "api_base": sandbox.url(path)},
        }
        for name, (model, path) in DEPLOYMENTS.items()
    ]
    return litellm.Router(
        models,
        num_retries=0,
        disable_cooldowns=True,
        fallbacks=[{"ant": ["gem", "mis"]}],
        default_litellm_params={"max_retries": 0},
    )


def system() -> list[Any]:
    marked = {
        "type": "text",
        "text": "You are a weather service. " * 40,
        "cache_control": {"type": "ephemeral"},
    }
    return [{"role": "system", "content": [marked]}]


class Conversation:
    """A minimal agent: it appends the answers to its messages and runs the tools."""

    def __init__(self, sandbox: Any) -> None:
        self.messages = system()
        self._router = router(sandbox)

    async def ask(self, text: str) -> Any:
        self.messages.append({"role": "user", "content": text})
        return await self.continue_run()

    async def continue_run(self) -> Any:
        before = copy.deepcopy(self.messages)
        answer = await self._router.acompletion(
            "ant", self.messages, tools=CHAT_TOOLS, thinking=THINKING
        )
        assert self.messages == before
        message = answer.choices[0].message
        self.messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": "18 degrees"})
        return answer


@pytest.fixture
def strict() -> Any:
    """Run a sandbox that refuses every signature that it has not created."""
    with Sandbox(strict_signatures=True) as server:
        yield server


@pytest.mark.skipif(
    not hasattr(
        litellm.integrations.custom_logger.CustomLogger, "async_post_call_failure_deployment_hook"
    ),
    reason="this version of LiteLLM does not send Gemini requests to another address",
)
def test_a_conversation_that_falls_back_twice_keeps_its_signatures_and_its_cache(
    strict: Any, mend: ChatMend
) -> None:
    litellm.drop_params = True
    try:
        asyncio.run(_story(strict))
    finally:
        litellm.drop_params = False
    assert [verdict for verdict in strict.refusals if verdict.note != "scripted"] == []


async def _story(strict: Any) -> None:
    conversation = Conversation(strict)
    strict.script([WEATHER, ANSWER])
    await conversation.ask("The weather in Rome?")
    await conversation.continue_run()
    signed = copy.deepcopy(
        [message for message in conversation.messages if message.get("thinking_blocks")]
    )
    assert len(signed) == 2
    first = _last(strict, "anthropic").body

    # Anthropic is overloaded; Gemini answers, with a tool call.
    strict.script(
        [
            OVERLOADED,
            Reply(calls=(("get_weather", {"city": "Oslo"}),)),
            OVERLOADED,
            Reply(text="Cold."),
        ]
    )
    await conversation.ask("And in Oslo?")
    await conversation.continue_run()
    assert _last(strict, "gemini").status == 200

    # Both are overloaded; Mistral answers, which requires ids of nine letters and digits.
    strict.script([OVERLOADED, OVERLOADED, Reply(text="Warm.")])
    await conversation.ask("And in Cairo?")
    assert _last(strict, "mistral").status == 200

    strict.script([Reply(text="You are welcome.", thought="They thank me.")])
    answer = await conversation.ask("Thank you.")
    back = _last(strict, "anthropic")
    assert back.status == 200
    assert [message for message in conversation.messages if message.get("thinking_blocks")][
        :2
    ] == signed
    # The messages sent to Anthropic before it failed are an unchanged prefix of the new ones.
    assert back.body["messages"][: len(first["messages"])] == first["messages"]
    assert _signatures(back.body)[: len(signed)] == [
        block["signature"] for message in signed for block in message["thinking_blocks"]
    ]
    assert back.cached > 0
    assert answer.usage.chatmend["cache_read_tokens"] == back.cached


def _last(sandbox: Any, provider: str) -> Any:
    return [
        verdict
        for verdict in sandbox.requests
        if verdict.provider == provider and verdict.note == ""
    ][-1]


def _signatures(body: Any) -> list[str]:
    return [
        block["signature"]
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == "thinking"
    ]
