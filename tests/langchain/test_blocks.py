"""Blocks that a partner's converter cannot send: said in another type, or told; and what stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

import chatmend
from chatmend import Effect, Policy
from chatmend.langchain import mend, repair_messages
from chatmend.langchain.mending import Settings, mended
from chatmend.langchain.partners import place_named, place_of
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.fuzz import refusal, transcript
from tests.langchain.shapes import SHAPES, call

ALL = pytest.mark.parametrize("name", CONFIGURATIONS)
NEXT = HumanMessage("go on")
_LINKED = {"anthropic image by url", "v1 image by url", "v1 video"}
"""Shapes with a link, which one partner package downloads by itself."""


def sent(messages: list[BaseMessage], target: str, **policy: Any) -> list[Any]:
    settings = Settings(Policy(**policy) if policy else None, on_error="raise")
    return mended(messages, place_named(target), settings).messages


@ALL
@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - _LINKED))
def test_a_message_of_every_shape_is_accepted(sandbox: Any, name: str, shape: str) -> None:
    model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
    messages = [HumanMessage("q"), SHAPES[shape], AIMessage("a"), NEXT]
    assert refusal(model, sandbox, messages) is None


@ALL
@pytest.mark.parametrize("wire", ["openai_chat", "anthropic_messages", "langchain"])
@pytest.mark.parametrize("seed", [4, 9, 20])
def test_broken_transcripts_are_accepted(sandbox: Any, name: str, wire: str, seed: int) -> None:
    model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
    assert refusal(model, sandbox, transcript(seed, wire)) is None


@pytest.mark.parametrize("shape", ["plain user", "image url", "refusal", "reasoning content", "openai file"])
def test_what_openai_takes_is_not_touched(shape: str) -> None:
    messages = [SHAPES[shape], NEXT] if SHAPES[shape].type == "human" else [NEXT, SHAPES[shape], NEXT]
    assert sent(messages, "openai/gpt-4o") is messages


def test_a_block_of_a_type_that_nobody_knows_stays_in_what_claude_wrote() -> None:
    said = AIMessage([{"type": "brand_new", "x": 1}], response_metadata={"model_provider": "anthropic"})
    messages: list[BaseMessage] = [NEXT, said, NEXT]
    assert sent(messages, "anthropic/claude-haiku-4-5") is messages


def test_a_block_of_a_type_that_nobody_knows_is_told_to_claude_where_another_wrote_it() -> None:
    (_, answer, _) = sent([NEXT, AIMessage([{"type": "brand_new", "x": 1}]), NEXT], "anthropic/claude-haiku-4-5")
    assert answer.content == [{"type": "text", "text": '{"type": "brand_new", "x": 1}'}]


def test_words_under_another_name_become_text() -> None:
    blocks = [{"type": "text-plain", "text": "one"}, {"type": "text-plain", "base64": "dHdv"}]
    (message, _) = sent([HumanMessage(blocks), NEXT], "openai/gpt-4o")
    assert message.content == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]


def test_a_recording_is_told_without_its_bytes_and_the_report_says_that_it_is_gone() -> None:
    video = {"type": "video", "base64": "QUJD" * 99, "mime_type": "video/mp4"}
    done = mended([HumanMessage([video]), NEXT], place_named("openai/gpt-4o"), Settings(on_error="raise"))
    assert done.messages[0].content == [{"type": "text", "text": '{"type": "video", "mime_type": "video/mp4"}'}]
    assert [(change.code, change.effect) for change in done.changes] == [("PART001", Effect.DROPS)]
    assert chatmend.replay([HumanMessage([video]), NEXT], done.changes) == done.messages


def test_a_recording_stays_where_the_caller_permits_no_loss() -> None:
    messages: list[BaseMessage] = [HumanMessage([{"type": "video", "base64": "QUJD", "mime_type": "video/mp4"}])]
    settings = Settings(Policy(allow=Effect.DEGRADES), on_error="raise")
    done = mended(messages, place_named("openai/gpt-4o"), settings)
    assert done.messages is messages
    assert [(change.code, change.applied) for change in done.changes] == [("PART001", False)]


def test_audio_is_told_to_a_model_whose_profile_says_that_it_hears_nothing(sandbox: Any) -> None:
    model = CONFIGURATIONS["openai"].model(sandbox)
    if not isinstance(model.profile, dict) or model.profile.get("audio_inputs") is not False:
        pytest.skip("this version of the package has no profile that says so")
    assert "input_audio" in place_of(model, {}).carries.user_refuses
    assert "input_audio" not in place_of(model, {"model": "gpt-audio"}).carries.user_refuses


def test_a_block_whose_type_is_no_word_does_not_end_the_call(sandbox: Any) -> None:
    model = CONFIGURATIONS["openai"].model(sandbox)
    messages = [HumanMessage([{"type": ["text"], "text": "hello"}])]
    with pytest.raises(TypeError, match="unhashable"):
        model.invoke(messages)
    assert "hello" in mend(model, on_error="raise").invoke(messages).text


def test_reasoning_that_led_to_nothing_is_not_sent_back() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    spoken = AIMessage([thought, {"type": "text", "text": "hi", "id": "msg_1"}])
    broken_off = AIMessage([{"type": "text", "text": "hi", "id": "msg_1"}, thought])
    kept: list[BaseMessage] = [NEXT, spoken, NEXT]
    assert sent(kept, "openai/responses/gpt-5") is kept
    assert sent([NEXT, broken_off, NEXT], "openai/responses/gpt-5")[1].content == broken_off.content[:1]


def test_a_call_is_sent_once_though_a_foreign_block_mirrors_it() -> None:
    block = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "look", "input": "x"}
    answer = AIMessage([{"type": "text", "text": "hm"}, block], tool_calls=[call("call_1", __arg1="x")])
    result = ToolMessage("18", tool_call_id="call_1")
    (_, said, _) = sent([NEXT, answer, result], "openai/gpt-4o")
    assert said.content == [{"type": "text", "text": "hm"}]
    assert said.tool_calls == answer.tool_calls


def test_keys_of_another_provider_at_which_the_converter_raises_are_left_out() -> None:
    answer = AIMessage("hi", additional_kwargs={"reasoning": "hm", "audio": None, "other": 1})
    (_, said, _) = sent([NEXT, answer, NEXT], "openai/responses/gpt-5")
    assert said.additional_kwargs == {"other": 1}
    assert answer.additional_kwargs["reasoning"] == "hm"


def test_calls_stand_behind_the_thinking_that_led_to_them() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmF0dXJl"}
    answer = AIMessage([use, thought], tool_calls=[call("toolu_1")])
    (_, said, _) = sent([NEXT, answer, ToolMessage("18", tool_call_id="toolu_1")], "anthropic/claude-haiku-4-5")
    assert [block["type"] for block in said.content] == ["thinking", "tool_use"]


def test_a_call_that_is_no_object_is_salvaged() -> None:
    given = [{"role": "assistant", "content": "x", "tool_calls": ["look at it"]}, {"role": "user", "content": "q"}]
    (said, *_) = repair_messages(given, target="anthropic/claude-haiku-4-5", on_error="raise")
    assert "look at it" in str(said.model_dump())
