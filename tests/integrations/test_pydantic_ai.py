"""Agents of pydantic-ai with the capability and the history processor, against the sandbox."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from chatmend.errors import PolicyError
from chatmend.integrations.pydantic_ai import RepairHistory, history_processor
from chatmend.integrations.pydantic_ai_messages import ChatMessages
from chatmend.repair import repair
from chatmend.sandbox import Reply

BROKEN = [
    ModelRequest([UserPromptPart("What is the weather in Paris?")]),
    ModelResponse([TextPart("I look it up."), ToolCallPart("get_weather", {"city": "Paris"}, "call:1.a")]),
    ModelRequest([ToolReturnPart("get_weather", "18 degrees", "call:1.a")]),
    ModelResponse([TextPart("18 degrees.")]),
    ModelRequest([UserPromptPart(" ")]),
    ModelResponse([TextPart("How can I help?")]),
]  # fmt: skip
CLEAN = [
    ModelRequest([SystemPromptPart("Be brief."), UserPromptPart(["a", ImageUrl("https://x.example/a.png")])]),
    ModelResponse([ThinkingPart("hm"), TextPart("I look"), TextPart("it up."), ToolCallPart("f", {"a": 1.0}, "c1")]),
    ModelRequest([ToolReturnPart("f", {"degrees": 18}, "c1"), UserPromptPart("b")]),
    ModelResponse([TextPart("ok")]),
    ModelRequest([UserPromptPart("c")]),
]  # fmt: skip


def agent(sandbox: Any, *capabilities: Any) -> Any:
    provider = AnthropicProvider(api_key="k", base_url=sandbox.url("anthropic"))
    made = Agent(AnthropicModel("claude-sonnet-4-6", provider=provider), capabilities=capabilities)

    @made.tool_plain
    def get_weather(city: str) -> str:
        return f"18 degrees in {city}"

    return made


@pytest.fixture(autouse=True)
def _anthropic(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATMEND_HOSTS", f"{sandbox.url('anthropic')}=anthropic")


def test_a_broken_history_is_refused_without_and_accepted_with_the_capability(sandbox: Any) -> None:
    with pytest.raises(Exception, match=r"tool_use\.id"):
        agent(sandbox).run_sync("And in Rome?", message_history=BROKEN)
    sandbox.clear()
    seen: list[Any] = []
    repairing = agent(sandbox, RepairHistory(on_error="raise", on_changes=seen.extend))
    result = repairing.run_sync("And in Rome?", message_history=BROKEN)
    assert "And in Rome?" in result.output
    assert {change.code for change in seen} == {"TOOL010", "TEXT004"}
    assert result.all_messages()[: len(BROKEN)] == BROKEN  # the stored history is the original
    assert not sandbox.refusals


def test_a_history_processor_repairs_too(sandbox: Any) -> None:
    repairing = agent(sandbox, ProcessHistory(history_processor(on_error="raise")))
    assert repairing.run_sync("And in Rome?", message_history=BROKEN).output
    assert not sandbox.refusals


def test_streams_and_tools_work(sandbox: Any) -> None:
    sandbox.script([Reply(calls=(("get_weather", {"city": "Rome"}),)), Reply("18 degrees")])
    repairing = agent(sandbox, RepairHistory(on_error="raise"))

    async def run() -> str:
        async with repairing.run_stream("And in Rome?", message_history=BROKEN) as result:
            return "".join([part async for part in result.stream_text(delta=True)])

    assert asyncio.run(run()) == "18 degrees"
    assert len(sandbox.requests) == 2
    assert not sandbox.refusals


def test_report_mode_sends_the_original(sandbox: Any) -> None:
    seen: list[Any] = []
    reporting = agent(sandbox, RepairHistory(mode="report", on_changes=seen.extend))
    with pytest.raises(Exception, match=r"tool_use\.id"):
        reporting.run_sync("And in Rome?", message_history=BROKEN)
    assert seen


def test_wrong_options_raise_when_the_capability_is_made() -> None:
    for make in (RepairHistory, history_processor):
        with pytest.raises(PolicyError):
            make(policy="strct")


def repaired(history: list[Any], target: str) -> list[Any]:
    chat = ChatMessages(history)
    done = repair(chat.messages, target, dialect="openai_chat")
    return chat.restore(done.messages, done.changes)


@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-6", "gemini/gemini-2.5-flash"]
)
def test_a_clean_history_keeps_its_objects(target: str) -> None:
    out = repaired(CLEAN, target)
    assert len(out) == len(CLEAN)
    assert all(new is old for new, old in zip(out, CLEAN, strict=True))


def test_unchanged_parts_of_a_changed_message_stay_the_same_objects() -> None:
    call = ToolCallPart("f", {"a": 1}, "a-long-id-of-openai")
    thinking, text = ThinkingPart("hm", signature="s"), TextPart("I look it up.")
    prompt = UserPromptPart("b")
    history = [
        ModelRequest([UserPromptPart("a")]),
        ModelResponse([thinking, text, call], model_name="m"),
        ModelRequest([ToolReturnPart("f", "18", "a-long-id-of-openai"), prompt], run_id="r"),
    ]
    first, response, request, *rest = repaired(history, "mistral/mistral-large-latest")
    assert first is history[0]
    assert response.parts[0] is thinking
    assert response.parts[1] is text
    assert response.model_name == "m"
    assert response.parts[2].tool_call_id == request.parts[0].tool_call_id != call.tool_call_id
    assert (request.parts[0].tool_name, request.parts[0].content) == ("f", "18")
    assert request.run_id == rest[-1].run_id == "r"
    assert rest[-1].parts[-1] is prompt


def test_a_missing_result_becomes_a_part_with_the_name_of_its_tool() -> None:
    history = [*CLEAN[:2], ModelRequest([UserPromptPart("Never mind.")])]
    out = repaired(history, "openai/gpt-4o")
    [result] = [part for part in out[2].parts if isinstance(part, ToolReturnPart)]
    assert (result.tool_name, result.tool_call_id) == ("f", "c1")
    assert out[2].parts[-1] is history[2].parts[0]


def test_a_large_image_becomes_tiles_and_other_content_stays() -> None:
    image = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image.new("RGB", (9000, 100), "white").save(data, "PNG")
    document = BinaryContent(b"%PDF-1.4", media_type="application/pdf")
    large = BinaryContent(data.getvalue(), media_type="image/png")
    history = [ModelRequest([UserPromptPart(["a", document, large])])]
    [request] = repaired(history, "anthropic/claude-sonnet-4-6")
    text, kept, *others = request.parts[0].content
    assert text == "a"
    assert kept is document
    tiles = [item for item in others if isinstance(item, BinaryContent)]
    widths = [image.open(io.BytesIO(tile.data)).width for tile in tiles]
    assert len(widths) > 1
    assert max(widths) <= 8000
