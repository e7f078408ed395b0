"""Defects that random transcripts found.

Repeated items, keys and cache markers that converters pass on, and images without data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

import chatmend
from chatmend.langchain import mend, repair_messages, repair_node
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.fuzz import refusal
from tests.langchain.shapes import PIXEL, SIGNATURE, call
from tests.langchain.test_blocks import ALL, NEXT, sent

CLAUDE, RESPONSES, GEMINI = (
    "anthropic/claude-haiku-4-5",
    "openai/responses/gpt-5",
    "gemini/gemini-2.5-flash",
)
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": f"gAAAAA{'Zm9v' * 20}",
}
ITEM = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look",
    "arguments": '{"at": "Paris"}',
}


def answer(text: str = "I look.", thought: Any = THOUGHT) -> AIMessage:
    """Return an answer of an OpenAI model through the Responses API."""
    return AIMessage(
        [thought, {"type": "text", "text": text, "id": "msg_1"}, ITEM], tool_calls=[call()]
    )


def result(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "18", **more}


def with_second_answer(second: AIMessage) -> list[BaseMessage]:
    output = ToolMessage("18", tool_call_id="call_1")
    return [NEXT, answer(), output, HumanMessage("and now?"), second, output, NEXT]


def test_an_answer_that_occurs_once_keeps_its_ids() -> None:
    messages = [NEXT, answer(), ToolMessage("18", tool_call_id="call_1"), NEXT]
    assert sent(messages, RESPONSES) is messages


def recorded(provider: str | None, *, version: str = "responses/v1", **keys: Any) -> AIMessage:
    """Return a finished answer with reasoning whose ``response_metadata`` names a provider."""
    metadata = {"model_provider": provider, "output_version": version}
    said = {"type": "text", "text": "It is mild.", "id": "msg_1"}
    return AIMessage([{**THOUGHT, **keys}, said], response_metadata=metadata if provider else {})


@pytest.mark.parametrize(
    ("target", "given"),
    [
        ("openai/gpt-5", recorded("openai")),
        ("openai/gpt-5", recorded("openai", id=None)),
        ("openai/gpt-5", recorded(None)),
        ("openai/gpt-5", AIMessageChunk(**recorded("openai").model_dump(exclude={"type"}))),
        ("openai/responses/gpt-5", recorded("azure")),
        ("azure/responses/gpt-5", recorded("openai")),
        ("xai/responses/grok-4", recorded("openai")),
    ],
)
def test_reasoning_of_the_responses_api_is_kept_if_only_a_name_is_known(
    target: str, given: AIMessage
) -> None:
    messages = [NEXT, given, NEXT]
    assert repair_messages(messages, target=target) is messages
    if "/responses/" in target:
        assert chatmend.repair(messages, target).messages is messages
    node = repair_node(target)
    assert node({"messages": messages})["llm_input_messages"] == messages


@pytest.mark.parametrize(
    "target", ["xai/grok-4", "openrouter/openai/gpt-5", "groq/openai/gpt-oss-120b"]
)
def test_reasoning_of_the_responses_api_is_not_sent_to_another_provider(target: str) -> None:
    messages = [NEXT, recorded("openai"), NEXT]
    for repaired in (
        chatmend.repair(messages, target).messages,
        repair_messages(messages, target=target),
    ):
        assert [block["type"] for block in repaired[1].content] == ["text"]


def test_a_later_answer_changes_no_earlier_message() -> None:
    """Only ``repair_node`` and ``repair_messages`` look at the whole history; see docs/langchain.md."""
    first: list[Any] = [NEXT, HumanMessage(["a", "b"]), NEXT]
    alone = chatmend.repair(first, "openai/gpt-5").messages
    longer = chatmend.repair([*first, recorded("openai"), NEXT], "openai/gpt-5").messages
    assert longer[: len(alone)] == alone


@pytest.mark.parametrize("target", ["azure/gpt-4o", "xai/grok-4"])
def test_items_are_not_sent_to_an_api_that_may_not_have_them(target: str) -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    said = AIMessage([search, {"type": "text", "text": "Yes."}])
    out = repair_messages([NEXT, said, NEXT], target=target)[1].content
    assert [block["type"] for block in out] == ["text", "text"]


def test_thoughts_of_gemini_are_kept_for_gemini() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": SIGNATURE}
    metadata = {"model_provider": "google_genai"}
    said = AIMessage([thought, {"type": "text", "text": "Yes."}], response_metadata=metadata)
    messages = [NEXT, said, NEXT]
    assert chatmend.repair(messages, "gemini/gemini-2.5-flash").messages is messages


def test_the_limits_of_a_target_of_ones_own_are_kept() -> None:
    known = chatmend.resolve("openai/gpt-4o")
    target = replace(known, limits=replace(known.limits, system="first"), spoken={})
    messages = [SystemMessage("a"), NEXT, AIMessage("b"), SystemMessage("c"), NEXT]
    assert "SYS001" in {change.code for change in chatmend.repair(messages, target).changes}
    assert chatmend.repair(messages, known).changes == ()


def test_an_answer_that_occurs_twice_is_sent_with_its_ids_only_once(sandbox: Any) -> None:
    messages = with_second_answer(answer())
    second = sent(messages, RESPONSES)[4]
    assert [block["type"] for block in second.content] == ["text", "function_call"]
    assert second.content[0] == {"type": "text", "text": "I look."}
    assert "id" not in second.content[1]
    model = mend(CONFIGURATIONS["responses"].model(sandbox), on_error="raise")
    assert refusal(model, sandbox, messages) is None


def test_an_item_with_a_used_id_and_other_content_is_kept_if_the_policy_does_not_allow_drops() -> (
    None
):
    other = with_second_answer(
        answer(thought={**THOUGHT, "summary": [{"type": "summary_text", "text": "other"}]})
    )
    model = sent(other, RESPONSES, allow=chatmend.Effect.DEGRADES)[4]
    assert model.content[0]["type"] == "reasoning"


def test_the_item_id_of_a_call_in_langchain_v1_blocks_is_sent_once() -> None:
    block = {**call(), "extras": {"item_id": "fc_1"}}
    first = AIMessage([block], tool_calls=[call()], response_metadata={"output_version": "v1"})
    second = sent(with_second_answer(first), RESPONSES)[4]
    assert second.content[0]["extras"] == {}


@ALL
@pytest.mark.parametrize(
    "image",
    [
        {"type": "image", "source": None},
        {"type": "image", "source": {"type": "base64"}},
        {"type": "image", "source": {"type": "base64", "data": PIXEL}},
        {"type": "image", "url": f"data:image/png;base64,{PIXEL}"},
        {"type": "image_url", "image_url": {"url": f"data:;base64,{PIXEL}"}},
        {"type": "image", "url": ""},
    ],
)
def test_an_image_without_data_or_label_is_accepted(
    sandbox: Any, name: str, image: dict[str, Any]
) -> None:
    model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
    assert (
        refusal(
            model,
            sandbox,
            [HumanMessage([{"type": "text", "text": "see"}, image]), AIMessage("a"), NEXT],
        )
        is None
    )


def test_a_data_url_becomes_data_if_the_partner_would_download_it() -> None:
    (message,) = sent(
        [HumanMessage([{"type": "image", "url": f"data:image/png;base64,{PIXEL}"}])], GEMINI
    )
    assert message.content == [{"type": "image", "base64": PIXEL, "mime_type": "image/png"}]


def test_keys_that_streaming_adds_to_a_tool_result_are_not_sent_to_claude() -> None:
    streamed = result("call_1", index=0, caller={"type": "direct"}, is_error=True)
    messages = [NEXT, AIMessage("", tool_calls=[call()]), HumanMessage([streamed])]
    assert sent(messages, CLAUDE)[2].content == [result("call_1", is_error=True)]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_result_block_without_content_is_sent(sandbox: Any, name: str) -> None:
    """``ChatAnthropic`` raises for it, although Claude accepts it."""
    bare = {"type": "tool_result", "tool_use_id": "call_1"}
    carriers = (
        HumanMessage([bare]),
        HumanMessage([{**bare, "content": None}]),
        ToolMessage([bare], tool_call_id="call_1"),
    )
    model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
    for carrier in carriers:
        messages = [NEXT, AIMessage("", tool_calls=[call()]), carrier, NEXT]
        assert refusal(model, sandbox, messages) is None, carrier


def test_results_in_a_function_message_answer_their_calls(sandbox: Any) -> None:
    calls = AIMessage("", tool_calls=[call("call_1"), call("call_2")])
    messages = [
        NEXT,
        calls,
        FunctionMessage(name="f", content=[result("call_1"), result("call_2")]),
        NEXT,
    ]
    assert sent(messages, CLAUDE)[2].content == [result("call_1"), result("call_2")]
    for name in CONFIGURATIONS:
        model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
        assert refusal(model, sandbox, messages) is None, name


def test_a_tool_message_that_contains_its_own_result_block_is_unchanged() -> None:
    messages = [
        NEXT,
        AIMessage("", tool_calls=[call()]),
        ToolMessage([result("call_1")], tool_call_id="call_1"),
        NEXT,
    ]
    assert sent(messages, CLAUDE) is messages


def _marked(count: int, hidden: int = 1) -> list[BaseMessage]:
    marker = {"cache_control": {"type": "ephemeral"}}
    texts = [{"type": "text", "text": f"t{at}", **marker} for at in range(count)]
    files = [{"type": "file", "file_id": f"f{at}", "extras": marker} for at in range(hidden)]
    return [HumanMessage([*texts, *files]), AIMessage("a"), NEXT]


def test_four_cache_markers_are_unchanged() -> None:
    messages = _marked(3)
    assert sent(messages, CLAUDE) is messages


def test_a_cache_marker_under_extras_counts_towards_the_limit(sandbox: Any) -> None:
    model = mend(CONFIGURATIONS["anthropic"].model(sandbox), on_error="raise")
    assert refusal(model, sandbox, _marked(4)) is None
    (message, _, _) = sent(_marked(4), CLAUDE)
    assert sum("cache_control" in block for block in message.content) == 4
    assert message.content[-1]["cache_control"], "the last marker is kept"


def test_thinking_blocks_stay_separated_if_the_blank_text_between_them_is_not_sent(
    sandbox: Any,
) -> None:
    one, two = (
        {"type": "thinking", "thinking": text, "signature": "EqQBCkYIAhgCKkAx"} for text in "ab"
    )
    content = [one, {"type": "text", "text": " "}, two, {"type": "text", "text": "x"}]
    messages = [NEXT, AIMessage(content), NEXT]
    model = mend(CONFIGURATIONS["anthropic"].model(sandbox), on_error="raise")
    assert refusal(model, sandbox, messages) is None
    assert [block["type"] for block in sent(messages, CLAUDE)[1].content] == [
        "thinking",
        "text",
        "thinking",
        "text",
    ]


def test_a_blank_text_between_texts_is_unchanged() -> None:
    blank = {"type": "text", "text": " "}
    messages = [
        NEXT,
        AIMessage([{"type": "text", "text": "a"}, blank, {"type": "text", "text": "b"}]),
        NEXT,
    ]
    assert sent(messages, CLAUDE)[1] is messages[1]


def test_four_calls_with_one_id_in_the_content_stay_four_calls() -> None:
    inputs: list[Any] = [{"n": 1}, {"n": 2}, None, {"n": 4}]
    blocks = [
        {"type": "tool_use", "id": "call_0", "name": f"f{at}", "input": arguments}
        for at, arguments in enumerate(inputs)
    ]
    answered = sent([NEXT, AIMessage(blocks), NEXT], CLAUDE)[1]
    assert sorted(one["name"] for one in answered.tool_calls) == ["f0", "f1", "f2", "f3"]
    assert [one["args"] for one in answered.tool_calls if one["name"] != "f2"] == [
        {"n": 1},
        {"n": 2},
        {"n": 4},
    ]
    assert len({one["id"] for one in answered.tool_calls}) == 4


def test_a_block_whose_type_is_a_list_does_not_prevent_other_repairs() -> None:
    messages = [
        NEXT,
        AIMessage([{"type": ["x"]}, {"type": "text", "text": "a"}]),
        NEXT,
        AIMessage("", tool_calls=[call()]),
    ]
    assert isinstance(sent(messages, CLAUDE)[4], ToolMessage)


def test_an_empty_function_call_in_an_empty_answer_is_accepted(sandbox: Any) -> None:
    messages = [NEXT, AIMessage("", additional_kwargs={"function_call": None}), NEXT]
    for name in ("openai", "responses"):
        model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
        assert refusal(model, sandbox, messages) is None
