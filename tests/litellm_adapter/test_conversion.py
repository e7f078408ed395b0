"""Content that LiteLLM's conversion would drop or refuse is rewritten so that it arrives."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import litellm
import pytest

import chatmend
from chatmend.litellm.attempt import repair_attempt
from chatmend.litellm.conversion import target_through_litellm
from chatmend.litellm.shapes import CHAT, MESSAGES
from tests.litellm_adapter.transcripts import CHAT_TOOLS, valid

GEMINI, MISTRAL, OPENAI = (
    "gemini/gemini-2.5-flash",
    "mistral/mistral-medium-latest",
    "openai/gpt-4o",
)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DEEPSEEK = "deepseek/deepseek-flash"
PATHS = {
    GEMINI: "gemini/v1beta",
    MISTRAL: "mistral/v1",
    OPENAI: "openai/v1",
    DEEPSEEK: "deepseek",
}


def call(call_id: str, arguments: str = '{"city": "Rome"}') -> dict[str, Any]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "get_weather", "arguments": arguments},
    }


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def equal_calls() -> list[Any]:
    """Return a transcript in which the model makes two equal calls in one message."""
    return [
        {"role": "user", "content": "The weather in Rome, now and now?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("c1"), call("c2", '{ "city":"Rome" }')],
        },
        result("c1", "18 degrees"),
        result("c2", "19 degrees"),
    ]


def empty_result() -> list[Any]:
    return [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call("call00001")]},
        result("call00001", ""),
    ]


def string_parts() -> list[Any]:
    return [{"role": "user", "content": ["look", {"type": "text", "text": "here"}]}]


def repaired(messages: list[Any], target: str) -> list[Any]:
    made = repair_attempt({"messages": messages, "tools": CHAT_TOOLS}, CHAT, target)
    found: list[Any] = (made.request or {"messages": messages})["messages"]
    return found


def sent(sandbox: Any, messages: list[Any], target: str) -> Any:
    base = sandbox.url(PATHS[target])
    return litellm.completion(
        target, messages, tools=CHAT_TOOLS, api_base=base, api_key="any", max_retries=0
    )


@pytest.mark.parametrize("target", [GEMINI, MISTRAL, OPENAI, "other/model"])
def test_messages_that_litellm_converts_without_loss_are_returned_as_the_same_list(
    target: str,
) -> None:
    messages = valid()
    assert repaired(messages, target) is messages


@pytest.mark.parametrize(
    "target", [OPENAI, MISTRAL, "gemini/gemini-3-pro-preview", "anthropic/claude-sonnet-4-5"]
)
def test_equal_calls_stay_in_one_message_if_litellm_does_not_merge_them(target: str) -> None:
    assert [message["role"] for message in repaired(equal_calls(), target)] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]


REPLAYS = tuple(map(int, version("litellm").split(".")[:2])) >= (1, 109)
"""Whether LiteLLM sends empty results to Mistral, and the reasoning of its models."""


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (equal_calls, GEMINI),
        pytest.param(
            empty_result,
            MISTRAL,
            marks=pytest.mark.skipif(REPLAYS, reason="LiteLLM 1.109 and later can send it"),
        ),
        (string_parts, OPENAI),
    ],
)
def test_a_transcript_that_litellm_cannot_send_is_accepted_after_the_repair(
    make: Any, target: str, sandbox: Any
) -> None:
    with pytest.raises(Exception, match=r".+"):
        sent(sandbox, make(), target)
    assert sent(sandbox, repaired(make(), target), target).choices
    again = repaired(make(), target)
    assert repaired(again, target) is again


@pytest.mark.skipif(not REPLAYS, reason="LiteLLM before 1.109 drops both")
def test_what_litellm_sends_to_mistral_again_is_unchanged(sandbox: Any) -> None:
    messages = empty_result()
    assert repaired(messages, MISTRAL) is messages
    messages[1]["reasoning_content"] = "I look."
    assert repaired(messages, MISTRAL) is messages
    sent(sandbox, messages, MISTRAL)
    _, answer, outcome = sandbox.requests[-1].body["messages"]
    [chunk] = answer["content"]
    assert (chunk["type"], chunk["thinking"]) == ("thinking", [{"type": "text", "text": "I look."}])
    assert outcome["content"] == ""


@pytest.mark.skipif(REPLAYS, reason="LiteLLM 1.109 and later convert the reasoning for Mistral")
def test_reasoning_that_litellm_does_not_convert_for_mistral_is_removed() -> None:
    answer = {"role": "assistant", "content": "x", "reasoning_content": "y"}
    messages = [*empty_result()[:1], answer, {"role": "user", "content": "And?"}]
    assert repaired(messages, MISTRAL)[1] == {"role": "assistant", "content": "x"}


def test_both_results_of_two_equal_calls_reach_gemini_each_after_its_call(sandbox: Any) -> None:
    sent(sandbox, repaired(equal_calls(), GEMINI), GEMINI)
    _, first, one, second, other = sandbox.requests[-1].body["contents"]
    assert [
        part["function_call"]["args"] for turn in (first, second) for part in turn["parts"]
    ] == [{"city": "Rome"}] * 2
    assert "18 degrees" in str(one)
    assert "19 degrees" in str(other)


def test_an_image_in_a_result_does_not_put_the_user_directly_behind_it(sandbox: Any) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call("call00001")]},
        {**result("call00001", ""), "content": [{"type": "text", "text": "seen"}, image]},
    ]
    sent(sandbox, repaired(messages, MISTRAL), MISTRAL)
    said = sandbox.requests[-1].body["messages"]
    assert [message["role"] for message in said] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert said[-1]["content"][-1]["type"] == "image_url"


def test_an_image_in_a_result_reaches_gpt_on_bedrock(sandbox: Any) -> None:
    """LiteLLM writes it into the toolResult, where Bedrock accepts it only for other models."""
    pytest.importorskip("boto3")
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call("call00001")]},
        {**result("call00001", ""), "content": [{"type": "text", "text": "seen"}, image]},
    ]
    target = "bedrock/converse/openai.gpt-5.6-sol"
    keys = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "k")
    keys["aws_region_name"] = "us-east-1"

    def ask(given: list[Any]) -> Any:
        return litellm.completion(
            target, given, tools=CHAT_TOOLS, allowed_openai_params=["tools"],
            **keys, aws_bedrock_runtime_endpoint=sandbox.url("bedrock"), max_retries=0,
        )  # fmt: skip

    with pytest.raises(litellm.BadRequestError, match="support the image field"):
        ask(messages)
    assert ask(repaired(messages, target)).choices
    blocks = sandbox.requests[-1].body["messages"][-1]["content"]
    assert [next(iter(block)) for block in blocks] == ["toolResult", "text", "image"]


FORWARDS = tuple(map(int, version("litellm").split(".")[:2])) >= (1, 100)
"""Whether LiteLLM sends images in user messages to DeepSeek."""


@pytest.mark.parametrize("role", ["user", "tool"])
def test_an_image_for_deepseek_arrives_or_its_loss_is_reported(role: str, sandbox: Any) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    content = [{"type": "text", "text": "seen"}, image]
    answer = {"role": "assistant", "content": None, "tool_calls": [call("call00001")]}
    messages = [
        {"role": "user", "content": "Look." if role == "tool" else content},
        answer | {"reasoning_content": "I look."},
        {**result("call00001", ""), "content": content if role == "tool" else "seen"},
    ]
    made = repaired(messages, DEEPSEEK)
    assert repaired(made, DEEPSEEK) is made
    if FORWARDS and role == "user":
        assert made is messages
    sent(sandbox, made, DEEPSEEK)
    assert (PNG in str(sandbox.requests[-1].body)) is FORWARDS
    assert ("takes no images" in str(made)) is not FORWARDS


def test_limits_of_litellms_conversion_do_not_change_the_limits_of_the_provider() -> None:
    messages = string_parts()
    assert chatmend.repair(messages, OPENAI).messages is messages
    assert target_through_litellm(OPENAI).limits == chatmend.targets.resolve(OPENAI).limits


NEWEST = tuple(map(int, version("litellm").split(".")[:2])) >= (1, 110)
REASONING = "litellm_encrypted_reasoning:gAAAAABpc0FBQUFBQUFBQUFB"
LONG_NAME = "mcp__plugin_yt-content-strategist_youtube-analytics__get_video_enhanced_transcript"


def blocks(*before: dict[str, Any], name: str = "get_weather") -> list[Any]:
    """Return messages for Anthropic's endpoint with a call behind other blocks."""
    use = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "18 degrees"}
    return [
        {"role": "user", "content": "The weather in Rome?"},
        {"role": "assistant", "content": [*before, use]},
        {"role": "user", "content": [answer]},
    ]


REASONING_BLOCKS = [
    {"type": "thinking", "thinking": "I look.", "signature": REASONING},
    {"type": "redacted_thinking", "data": REASONING},
]


@pytest.mark.parametrize("block", REASONING_BLOCKS, ids=["thinking", "redacted"])
def test_encrypted_reasoning_returns_to_openai_through_anthropics_endpoint(block: Any) -> None:
    messages = blocks(block)
    target = target_through_litellm("openai/gpt-5.1")
    assert chatmend.repair(messages, target, dialect=MESSAGES.dialect).messages is messages


@pytest.mark.parametrize("block", REASONING_BLOCKS, ids=["thinking", "redacted"])
def test_encrypted_reasoning_is_not_thinking_of_claude(block: Any) -> None:
    body = {"messages": blocks(block), "thinking": {"type": "enabled", "budget_tokens": 2000}}
    done = chatmend.repair_request({**body, "max_tokens": 5000}, "anthropic/claude-sonnet-4-5")
    assert done.body["messages"] == blocks()
    assert done.body["thinking"] == {"type": "disabled"}
    assert {"THINK001", "THINK008"} <= {change.code for change in done.changes}


@pytest.mark.skipif(not NEWEST, reason="this LiteLLM returns no reasoning")
def test_encrypted_reasoning_returns_to_openai_from_the_key_of_a_chat() -> None:
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "Yes.", "thinking_blocks": [REASONING_BLOCKS[0]]},
        {"role": "user", "content": "And now?"},
    ]
    kept = target_through_litellm("openai/responses/gpt-5.1")
    assert chatmend.repair(messages, kept, dialect=CHAT.dialect).messages is messages
    for name in ("openai/gpt-4o", "cerebras/gpt-oss-120b"):
        items = [
            messages[0],
            {**messages[1], "reasoning_items": [{"type": "reasoning"}]},
            messages[2],
        ]
        done = chatmend.repair(items, target_through_litellm(name), dialect=CHAT.dialect)
        assert done.messages[1] == {"role": "assistant", "content": "Yes."}


@pytest.mark.skipif(not NEWEST, reason="this LiteLLM may not shorten names")
@pytest.mark.parametrize(
    "name", [MISTRAL, GEMINI, "azure/gpt-4o", "bedrock/us.amazon.nova-pro-v1:0"]
)
def test_a_long_name_is_left_to_litellm_which_shortens_its_declaration_too(name: str) -> None:
    target = target_through_litellm(name)
    done = chatmend.repair(blocks(name=LONG_NAME), target, dialect=MESSAGES.dialect)
    assert done.messages[1]["content"][0]["name"] == LONG_NAME


def test_a_long_name_is_shortened_for_the_responses_api() -> None:
    target = target_through_litellm("openai/gpt-5.1")
    done = chatmend.repair(blocks(name=LONG_NAME), target, dialect=MESSAGES.dialect)
    assert len(done.messages[1]["content"][0]["name"]) <= 64


def test_documents_for_claude_on_bedrock_stay_in_a_body_that_is_not_converted() -> None:
    text = {"type": "text", "media_type": "text/plain", "data": "The sky is blue."}
    document = {"type": "document", "source": text, "citations": {"enabled": True}, "context": "c"}
    messages = [{"role": "user", "content": [document] * 7 + [{"type": "text", "text": "Blue?"}]}]
    claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    for name in (f"bedrock/{claude}", f"bedrock/invoke/{claude}"):
        target = target_through_litellm(name)
        assert chatmend.repair(messages, target, dialect=MESSAGES.dialect).messages is messages
    target = target_through_litellm(f"bedrock/converse/{claude}")
    done = chatmend.repair(messages, target, dialect=MESSAGES.dialect)
    assert {change.code for change in done.changes} == {"DOC005"}
