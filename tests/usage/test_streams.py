"""A stream has one account, however its chunks report it and however the network cuts them."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatmend import Usage, UsageStream
from chatmend.usage.sse import EventReader
from tests.scale import examples
from tests.usage.recorded import ROWS, WHY, event


def codes(usage: Usage) -> set[str]:
    return {text.partition(":")[0] for text in usage.warnings}


def fed(*chunks: object, **named: str) -> Usage:
    stream = UsageStream(**named)
    for chunk in chunks:
        stream.feed(chunk)
    return stream.usage


def chat(usage: dict[str, Any] | None, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": "hi"}, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "choices": [choice], "usage": usage}


def tokens(prompt: int, completion: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


LAST = {"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": tokens(10, 5)}
START = {
    "type": "message_start",
    "message": {
        "usage": {
            "input_tokens": 2060,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 7,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 1,
        }
    },
}
STOP = {"type": "message_stop"}


def test_a_last_chunk_with_nothing_but_usage() -> None:
    usage = fed(chat(None), chat(None, "stop"), LAST)
    assert (usage.input_tokens, usage.output_tokens, usage.complete, usage.warnings) == (
        10,
        5,
        True,
        (),
    )


def test_counts_that_grow_with_every_chunk_are_not_added_up() -> None:
    usage = fed(*(chat(tokens(10, done)) for done in range(5)), chat(tokens(10, 5), "stop"), LAST)
    assert usage.output_tokens == 5


def test_groq_says_everything_twice() -> None:
    usage = fed({**chat(None, "stop"), "x_groq": {"usage": tokens(10, 5)}}, LAST)
    assert (usage.input_tokens, usage.total_tokens) == (10, 15)


def test_moonshot_writes_its_usage_into_the_choice() -> None:
    chunk = chat(None, "stop")
    chunk["choices"][0]["usage"] = tokens(10, 5)
    assert fed(chat(None), chunk).total_tokens == 15


def test_anthropics_delta_is_laid_over_its_start() -> None:
    delta = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 44},
    }
    usage = fed(START, delta, STOP)
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (2067, 44, 7)
    assert usage.complete


def test_a_split_of_the_start_that_the_delta_outdates_is_dropped() -> None:
    delta = {
        "type": "message_delta",
        "usage": {"input_tokens": 9, "cache_creation_input_tokens": 500, "output_tokens": 3},
    }
    usage = fed(START, delta, STOP)
    assert (usage.input_tokens, usage.cache_write_tokens) == (516, 500)
    assert (usage.cache_write_5m_tokens, usage.warnings) == (None, ())


def test_gemini_starts_anew_after_a_tool_and_its_last_chunk_is_right() -> None:
    first = {
        "promptTokenCount": 8,
        "candidatesTokenCount": 40,
        "thoughtsTokenCount": 9,
        "totalTokenCount": 57,
    }
    last = {"promptTokenCount": 8, "thoughtsTokenCount": 12, "totalTokenCount": 20}
    usage = fed(
        {"usageMetadata": {"trafficType": "ON_DEMAND"}},
        {"candidates": [{"content": {}}], "usageMetadata": first},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": last},
    )
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (8, 12, 12)
    assert (usage.service_tier, usage.complete) == ("ON_DEMAND", True)


def test_watsonx_counts_the_prompt_in_the_first_event_only() -> None:
    events = [
        {"input_token_count": 8 if done == 1 else 0, "generated_token_count": done}
        for done in range(1, 6)
    ]
    usage = fed(*events)
    assert (usage.input_tokens, usage.output_tokens) == (8, 5)


def test_the_steps_of_a_run_are_added_until_its_total_comes() -> None:
    stream = UsageStream()
    for name, used in (("a", tokens(145, 100)), ("b", tokens(247, 64)), ("b", tokens(247, 64))):
        step = SimpleNamespace(id=name, usage=SimpleNamespace(**used))
        stream.feed(SimpleNamespace(event="thread.run.step.completed", data=step))
    assert (stream.usage.input_tokens, stream.usage.complete) == (392, False)
    stream.feed({"event": "thread.run.completed", "data": {"usage": tokens(400, 170)}})
    assert (stream.usage.input_tokens, stream.usage.output_tokens, stream.usage.complete) == (
        400,
        170,
        True,
    )


def test_chunks_of_langchain_hold_what_is_new() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    new = [
        messages.AIMessageChunk(
            "", usage_metadata={"input_tokens": 10, "output_tokens": 0, "total_tokens": 10}
        ),
        messages.AIMessageChunk(
            "a", usage_metadata={"input_tokens": 0, "output_tokens": 3, "total_tokens": 3}
        ),
        messages.AIMessageChunk("", chunk_position="last"),
    ]
    usage = fed(*new)
    assert (usage.input_tokens, usage.output_tokens, usage.complete) == (10, 3, True)


def test_what_bedrock_counted_fills_what_the_model_did_not_say() -> None:
    metrics = {"inputTokenCount": 25, "outputTokenCount": 4, "invocationLatency": 266}
    usage = fed(
        {
            "completion": "x",
            "stop_reason": "stop_sequence",
            "amazon-bedrock-invocationMetrics": metrics,
        }
    )
    assert (usage.input_tokens, usage.output_tokens, usage.complete) == (25, 4, True)
    told = fed(
        START,
        {"type": "message_delta", "usage": {"output_tokens": 44}},
        {**STOP, "amazon-bedrock-invocationMetrics": metrics},
    )
    assert (told.input_tokens, told.output_tokens) == (2067, 44)


class TestStreamsThatDoNotEndWell:
    def test_before_the_first_chunk_nothing_is_known(self) -> None:
        usage = UsageStream().usage
        assert (usage.total_tokens, usage.complete) == (None, False)

    def test_a_cut_stream_says_so_and_keeps_what_it_knew(self) -> None:
        usage = fed(START, {"type": "content_block_delta", "delta": {"text": "hi"}})
        assert (usage.input_tokens, usage.output_tokens, usage.complete) == (2067, 1, False)
        assert codes(usage) == {"unfinished-stream"}

    def test_the_caller_may_say_that_it_cut_the_stream(self) -> None:
        stream = UsageStream()
        stream.feed(tokens(10, 2))
        assert stream.usage.complete
        assert codes(stream.close(aborted=True)) == {"unfinished-stream"}

    def test_a_stream_that_ends_without_usage_says_what_to_do(self) -> None:
        usage = fed(chat(None), chat(None, "stop"), {"done": True})
        assert (usage.complete, codes(usage)) == (False, {"no-usage"})
        assert "include_usage" in usage.warnings[0]

    def test_an_error_in_the_stream_is_no_success(self) -> None:
        usage = fed(
            START, {"type": "error", "error": {"type": "overloaded_error", "message": "secret"}}
        )
        assert not usage.complete
        assert "failed-stream" in codes(usage)
        assert "secret" not in repr(usage)

    def test_a_stream_of_no_choices_is_no_success(self) -> None:
        assert not fed({"id": "1", "choices": []}).complete


def sse(chunks: list[dict[str, Any]], newline: str) -> bytes:
    lines = [
        f"event: {chunk.get('type', 'chunk')}{newline}data: {json.dumps(chunk)}{newline * 2}"
        for chunk in chunks
    ]
    return "".join([f": keep-alive{newline * 2}", *lines, f"data: [DONE]{newline * 2}"]).encode()


WHOLE = {
    "openai": [chat(None), chat(tokens(10, 1)), chat(tokens(10, 4), "stop"), LAST],
    "anthropic": [
        START,
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "grün 🌱"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 44},
        },
        STOP,
    ],
    "gemini": [
        {"candidates": [{}], "usageMetadata": {"promptTokenCount": 8, "totalTokenCount": 8}},
        {
            "candidates": [{"finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": 8,
                "candidatesTokenCount": 4,
                "totalTokenCount": 12,
            },
        },
    ],
}


@given(
    name=st.sampled_from(sorted(WHOLE)),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    data=st.data(),
)
def test_a_network_may_cut_the_bytes_anywhere(name: str, newline: str, data: st.DataObject) -> None:
    raw = sse(WHOLE[name], newline)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=20)))
    pieces = [raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    stream = UsageStream()
    for piece in pieces:
        stream.feed(piece)
    assert stream.close() == fed(*WHOLE[name])


NOISE = st.sampled_from(
    [{"type": "ping"}, chat(None), {"choices": [{"delta": {}}]}, {}, {"usage": None}, "", None, 3]
)


@given(name=st.sampled_from(sorted(WHOLE)), data=st.data())
def test_pings_and_chunks_sent_again_change_nothing(name: str, data: st.DataObject) -> None:
    stream = UsageStream()
    for chunk in WHOLE[name]:
        for noise in data.draw(st.lists(NOISE, max_size=3)):
            stream.feed(noise)
        for _ in range(data.draw(st.integers(1, 3))):
            stream.feed(chunk)
    assert stream.usage == fed(*WHOLE[name])


@given(order=st.permutations([name for name in sorted(WHOLE) for _ in WHOLE[name]]))
def test_streams_that_run_side_by_side_do_not_mix(order: list[str]) -> None:
    streams = {name: UsageStream() for name in WHOLE}
    left = {name: iter(chunks) for name, chunks in WHOLE.items()}
    for name in order:
        streams[name].feed(next(left[name]))
    assert {name: stream.usage for name, stream in streams.items()} == {
        name: fed(*WHOLE[name]) for name in WHOLE
    }


def test_tasks_may_each_have_a_stream() -> None:
    async def run(name: str) -> Usage:
        stream = UsageStream()
        for chunk in WHOLE[name]:
            await asyncio.sleep(0)
            stream.feed(chunk)
        return stream.usage

    async def all_of_them() -> list[Usage]:
        return await asyncio.gather(*(run(name) for name in WHOLE))

    assert asyncio.run(all_of_them()) == [fed(*chunks) for chunks in WHOLE.values()]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 99) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "usage",
                    "type",
                    "event",
                    "choices",
                    "message",
                    "prompt_tokens",
                    "input_tokens",
                    "iterations",
                    "x_groq",
                    "cost",
                    "promptTokensDetails",
                    "cache_creation",
                    "delta",
                    "data",
                    "id",
                    "error",
                    "response",
                    "results",
                    "tokens",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=examples(50, 3_000))
@given(st.lists(JSON, max_size=4))
def test_no_chunk_raises(chunks: list[Any]) -> None:
    stream = UsageStream()
    for chunk in chunks:
        stream.feed(chunk)
    assert isinstance(stream.close(), Usage)


@pytest.mark.skipif(not ROWS, reason=WHY)
def test_the_running_account_of_a_recorded_stream_ends_in_the_right_one_and_never_raises() -> None:
    for row in [row for row in ROWS if row["stream"]][::7]:
        stream = UsageStream(row["provider"], row["model"])
        before = []
        for chunk in row["raw_usage"]:
            stream.feed(event(chunk))
            before.append(stream.usage)
        assert before[-1] == stream.usage


@pytest.mark.skipif(not ROWS, reason=WHY)
def test_a_recorded_stream_may_be_cut_anywhere_and_sent_twice() -> None:
    # the steps of the Assistants API are recorded without the ids that tell a step from one sent again
    streams = [row for row in ROWS if row["stream"] and row["api"] != "assistants"][::5]
    wrong = []
    for row in streams:
        chunks = [event(chunk) for chunk in row["raw_usage"]]
        named = {"provider": row["provider"], "model": row["model"]}
        right = fed(*chunks, {"done": True}, **named)
        raw = sse(chunks, "\r\n")
        pieces = UsageStream(**named)
        for start in range(0, len(raw), 61):
            pieces.feed(raw[start : start + 61])
        twice = fed(*(chunk for chunk in chunks for _ in range(2)), {"done": True}, **named)
        wrong += [row["id"] for usage in (pieces.close(), twice) if usage != right]
    assert wrong == []


def test_a_count_that_two_accounts_have_keeps_both_paths_and_one_that_differs_is_listed() -> None:
    stream = UsageStream("bedrock")
    stream.feed({"type": "message_delta", "usage": {"input_tokens": 5, "output_tokens": 7}})
    stream.feed({"amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 9}})
    usage = stream.usage
    assert (usage.input_tokens, usage.output_tokens) == (5, 7)
    assert (
        usage.sources["input_tokens"]
        == "usage.input_tokens | amazon-bedrock-invocationMetrics.inputTokenCount"
    )
    assert usage.unread == ("amazon-bedrock-invocationMetrics.outputTokenCount",)


LINES = [
    'data: {"a": 1}',
    "data: [DONE]",
    '{"b": 2}',
    "event: ping",
    ": comment",
    "",
    "data: {",
    'data: "c": 3}',
]


@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(["\n", "\r\n", "\r"]))), st.data()
)
@settings(max_examples=examples(35, 2_000))
def test_events_are_the_same_wherever_the_stream_is_cut(
    lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(line + end for line, end in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    whole, cut = EventReader(), EventReader()
    expected = [*whole.feed(text), *whole.close()]
    pieces = [text[start:stop] for start, stop in pairwise([0, *cuts, len(text)])]
    found = [
        event for piece in pieces for event in cut.feed(piece.encode() if len(piece) % 2 else piece)
    ]
    assert [*found, *cut.close()] == expected


def _answered(number: int, tokens: int) -> dict[str, Any]:
    usage = {
        "total_tokens": tokens + 5,
        "input_tokens": tokens,
        "output_tokens": 5,
        "input_token_details": {
            "cached_tokens": 40,
            "text_tokens": tokens - 20,
            "audio_tokens": 20,
        },
        "output_token_details": {"text_tokens": 1, "audio_tokens": 4},
    }
    response = {
        "object": "realtime.response",
        "id": f"resp_{number}",
        "status": "completed",
        "usage": usage,
    }
    return {"type": "response.done", "event_id": f"event_{number}", "response": response}


def test_a_realtime_session_is_the_sum_of_its_responses() -> None:
    usage = fed(
        {"type": "session.created", "event_id": "event_0"},
        *[_answered(at, 100 * at) for at in (1, 2, 3)],
    )
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (600, 15, 615)
    assert (usage.cache_read_tokens, usage.input_audio_tokens, usage.output_audio_tokens) == (
        120,
        60,
        12,
    )
    assert usage.complete


def test_a_realtime_response_that_is_sent_again_counts_once() -> None:
    usage = fed(_answered(1, 100), _answered(2, 200), _answered(2, 200))
    assert (usage.input_tokens, usage.output_tokens) == (300, 10)


def test_one_realtime_response_counts_as_it_says() -> None:
    usage = fed(_answered(1, 100))
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (100, 5, 40)
