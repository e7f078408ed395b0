"""The objects that SDKs and frameworks hand out say the same as the JSON that they were parsed from."""

from __future__ import annotations

from typing import Any

import pytest

from chatmend import Usage, UsageStream, normalize_usage


def counts(usage: Usage) -> tuple[int | None, ...]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )


CHAT = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5-mini",
    "service_tier": "default",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 8},
        "cost": 0.25,
    },
}
MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 30,
        "cache_creation_input_tokens": 50,
        "cache_read_input_tokens": 20,
        "cache_creation": {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 10},
        "output_tokens": 20,
        "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0},
    },
}
GEMINI = {
    "candidates": [
        {"content": {"parts": [{"text": "hi"}], "role": "model"}, "finishReason": "STOP"}
    ],
    "usageMetadata": {
        "promptTokenCount": 100,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 7,
        "totalTokenCount": 127,
        "cachedContentTokenCount": 60,
        "promptTokensDetails": [
            {"modality": "TEXT", "tokenCount": 80},
            {"modality": "IMAGE", "tokenCount": 20},
        ],
    },
    "modelVersion": "gemini-2.5-flash",
}


def alike(one: Usage, two: Usage) -> bool:
    return counts(one) == counts(two) and (one.cost, one.model, one.unread) == (
        two.cost,
        two.model,
        two.unread,
    )


def test_openai() -> None:
    chat = pytest.importorskip("openai.types.chat")
    assert alike(normalize_usage(chat.ChatCompletion.model_validate(CHAT)), normalize_usage(CHAT))
    assert counts(normalize_usage(chat.ChatCompletion.model_validate(CHAT).usage)) == (
        100,
        20,
        64,
        3,
        8,
    )


def test_openai_stream() -> None:
    chat = pytest.importorskip("openai.types.chat")
    choice = {"index": 0, "delta": {"content": "hi"}, "finish_reason": None}
    chunks = [{**CHAT, "object": "chat.completion.chunk", "choices": [choice], "usage": None}]
    chunks.append({**CHAT, "object": "chat.completion.chunk", "choices": []})
    stream = UsageStream()
    for chunk in chunks:
        stream.feed(chat.ChatCompletionChunk.model_validate(chunk))
    assert (counts(stream.usage), stream.usage.complete) == ((100, 20, 64, 3, 8), True)


def test_anthropic() -> None:
    types = pytest.importorskip("anthropic.types")
    usage = normalize_usage(types.Message.model_validate(MESSAGE))
    assert alike(usage, normalize_usage(MESSAGE))
    assert (usage.cache_write_1h_tokens, usage.web_search_requests, usage.provider) == (
        10,
        2,
        "anthropic",
    )


def test_anthropic_stream() -> None:
    types = pytest.importorskip("anthropic.types")
    start = types.RawMessageStartEvent.model_validate({"type": "message_start", "message": MESSAGE})
    delta = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 44},
    }
    stream = UsageStream()
    for event in (
        start,
        types.RawMessageDeltaEvent.model_validate(delta),
        types.RawMessageStopEvent(type="message_stop"),
    ):
        stream.feed(event)
    assert (counts(stream.usage)[:2], stream.usage.complete) == ((100, 44), True)


def test_google_genai() -> None:
    types = pytest.importorskip("google.genai.types")
    usage = normalize_usage(types.GenerateContentResponse.model_validate(GEMINI))
    assert counts(usage) == (100, 27, 60, None, 7)
    assert (usage.input_text_tokens, usage.input_image_tokens, usage.model) == (
        80,
        20,
        "gemini-2.5-flash",
    )


def test_litellm_response() -> None:
    litellm = pytest.importorskip("litellm")
    response = litellm.ModelResponse(**CHAT)
    response._hidden_params = {"response_cost": 0.5}
    usage = normalize_usage(response)
    assert counts(usage) == (100, 20, 64, 3, 8)
    assert (float(usage.cost or 0), usage.cost_source) == (0.25, "provider")
    del response.usage.cost
    usage = normalize_usage(response)
    assert (float(usage.cost or 0), usage.cost_source) == (0.5, "litellm")


def test_litellms_text_tokens_are_less_the_cache() -> None:
    litellm = pytest.importorskip("litellm")
    gemini = litellm.Usage(
        100,
        27,
        127,
        prompt_tokens_details={"cached_tokens": 60, "text_tokens": 20, "image_tokens": 20},
    )
    usage = normalize_usage(gemini)
    assert (
        usage.input_text_tokens,
        usage.details["uncached_text_tokens"],
        usage.input_image_tokens,
    ) == (None, 20, 20)


def test_langchain_messages_keep_more_in_what_was_raw() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    message = messages.AIMessage(
        "hi",
        usage_metadata={
            "input_tokens": 9,
            "output_tokens": 4,
            "total_tokens": 13,
            "output_token_details": {"reasoning": 1},
        },
        response_metadata={
            "model_name": "mistral-small",
            "token_usage": {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "total_tokens": 13,
                "num_cached_tokens": 5,
            },
        },
    )
    usage = normalize_usage(message)
    assert (counts(usage), usage.model) == ((9, 4, 5, None, 1), "mistral-small")
    assert usage.sources["cache_read_tokens"] == "response_metadata.token_usage.num_cached_tokens"


def test_langchains_anthropic_message_is_whole() -> None:
    anthropic = pytest.importorskip("langchain_anthropic.chat_models")
    messages = pytest.importorskip("langchain_core.messages")
    types = pytest.importorskip("anthropic.types")
    theirs = anthropic._create_usage_metadata(types.Usage.model_validate(MESSAGE["usage"]))
    usage = normalize_usage(messages.AIMessage("hi", usage_metadata=theirs))
    assert counts(usage)[:4] == (100, 20, 20, 50)


@pytest.mark.parametrize("total", [120, 130])
def test_the_record_of_langchains_chat_bedrock_counts_the_cache_apart(total: int) -> None:
    """Before langchain-aws 1.9.0 the total lacks the tokens that were written to the cache."""
    record = {"prompt_tokens": 26, "completion_tokens": 30, "total_tokens": total}
    record |= {"cache_read_input_tokens": 64, "cache_write_input_tokens": 10}
    usage = normalize_usage(record, "bedrock")
    assert counts(usage) == (100, 30, 64, 10, None)
    assert usage.total_tokens == 130
    assert not usage.warnings


def test_the_total_of_an_old_converse_answer_of_langchain_includes_the_cache() -> None:
    """ChatBedrockConverse before langchain-aws 1.4.6."""
    details = {"cache_read": 64, "cache_creation": 10}
    usage = {"input_tokens": 26, "output_tokens": 30, "total_tokens": 130}
    assert counts(normalize_usage({**usage, "input_token_details": details})) == (
        100, 30, 64, 10, None,
    )  # fmt: skip


def test_protobuf_messages() -> None:
    struct = pytest.importorskip("google.protobuf.api_pb2")
    # any message will do: its fields are named by its descriptor
    assert normalize_usage(struct.Method(name="x")).complete is False


def test_dataclasses_and_slots() -> None:
    class Slotted:
        __slots__ = ("completion_tokens", "prompt_tokens")

        def __init__(self) -> None:
            self.prompt_tokens, self.completion_tokens = 3, 4

        @property
        def total_tokens(self) -> Any:
            raise RuntimeError

    assert counts(normalize_usage(Slotted()))[:2] == (3, 4)
