"""The ``usage`` option: where usage records are written.

Requests that chatmend leaves unchanged are sent and answered exactly as LiteLLM alone does.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count, product
from typing import TYPE_CHECKING, Any

import litellm
import pytest
from litellm.caching.caching import Cache
from litellm.responses.utils import ResponseAPILoggingUtils
from litellm.types.llms.openai import ResponseAPIUsage, ResponsesAPIResponse

from chatmend import PolicyError
from chatmend.litellm import ChatMend, install, uninstall, usage_records
from chatmend.litellm.streams import ChunkUsageWriter
from chatmend.litellm.summaries import Failures
from chatmend.usage import Usage, UsageLedger, UsageStream
from tests.litellm_adapter import upstream
from tests.litellm_adapter.log_waiter import LogWaiter
from tests.litellm_adapter.upstream import Recorder
from tests.scale import sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HELLO = [{"role": "user", "content": "Hello"}]
ORPHAN = [*HELLO, {"role": "tool", "tool_call_id": "gone", "content": "42"}]
ORPHAN_BLOCK = [
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "gone", "content": "42"}]}
]
ORPHAN_ITEM = [*HELLO, {"type": "function_call_output", "call_id": "gone", "output": "42"}]
NUMBERS = count()
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
UNCHANGED: dict[str, dict[str, Any]] = {
    "report": {"mode": "report", "usage": "body"},
    "denied": {"deny": "*", "usage": "body"},
    "not allowed": {"allow": "nobody/*"},
    "hidden": {"usage": "hidden", "mode": "report"},
    "off": {"usage": "off", "mode": "report"},
}


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with Recorder() as found:
        yield found


def chat(recorder: Recorder, **more: Any) -> Any:
    target = {
        "model": "openai/gpt-4o",
        "api_key": "any",
        "api_base": recorder.url("openai/v1"),
        "max_retries": 0,
    }
    return {**target, "messages": ORPHAN, **more}


async def _whole(recorder: Recorder, **more: Any) -> list[Any]:
    return [await litellm.acompletion(**chat(recorder, **more))]


async def _streamed(recorder: Recorder) -> list[Any]:
    return [chunk async for chunk in await litellm.acompletion(**chat(recorder, **STREAMED))]


async def _synchronous(recorder: Recorder) -> list[Any]:
    return [await asyncio.to_thread(lambda: litellm.completion(**chat(recorder)))]


async def _synchronous_stream(recorder: Recorder) -> list[Any]:
    return await asyncio.to_thread(lambda: list(litellm.completion(**chat(recorder, **STREAMED))))


async def _messages(recorder: Recorder) -> list[Any]:
    target = {
        "model": "anthropic/claude-sonnet-4-5",
        "api_key": "any",
        "api_base": recorder.url("anthropic"),
    }
    return [await litellm.anthropic_messages(**target, max_tokens=64, messages=ORPHAN_BLOCK)]


def _target(recorder: Recorder) -> dict[str, Any]:
    return {"model": "openai/gpt-4o", "api_key": "any", "api_base": recorder.url("openai/v1")}


async def _responses(recorder: Recorder) -> list[Any]:
    return [await litellm.aresponses(**_target(recorder), input=ORPHAN_ITEM)]


async def _synchronous_responses(recorder: Recorder) -> list[Any]:
    return [
        await asyncio.to_thread(lambda: litellm.responses(**_target(recorder), input=ORPHAN_ITEM))
    ]


async def _responses_stream(recorder: Recorder) -> list[Any]:
    return [
        event
        async for event in await litellm.aresponses(
            **_target(recorder), input=ORPHAN_ITEM, stream=True
        )
    ]


CALLS: list[Callable[[Recorder], Any]] = [
    _whole,
    _streamed,
    _synchronous,
    _synchronous_stream,
    _messages,
    _responses,
    _synchronous_responses,
    _responses_stream,
]


def ask_and_record(
    call: Callable[[Recorder], Any], recorder: Recorder
) -> tuple[list[Any], list[bytes]]:
    """Make a call; return its answers and the requests that it sent."""
    recorder.take()
    answers = asyncio.run(call(recorder))
    return answers, [received.body for received in recorder.take()]


def text(answer: Any) -> str:
    """Return an answer as JSON, without the ids and times that LiteLLM generates."""
    body = answer if isinstance(answer, dict) else answer.model_dump(mode="json")
    for holder in (body, body.get("response")):
        for key in ("id", "created", "created_at", "completed_at"):
            if isinstance(holder, dict):
                holder.pop(key, None)
    return json.dumps(body)


PAIRS = list(product(CALLS, UNCHANGED))


@pytest.mark.parametrize(("call", "name"), sampled(PAIRS, PAIRS[::3]))
def test_an_unchanged_request_is_sent_and_answered_as_by_litellm_alone(
    call: Callable[[Recorder], Any], name: str, recorder: Recorder
) -> None:
    alone, sent_alone = ask_and_record(call, recorder)
    install(ChatMend(on_error="raise", **UNCHANGED[name]))
    answers, sent = ask_and_record(call, recorder)
    assert [text(answer) for answer in answers] == [text(answer) for answer in alone]
    assert "chatmend" not in "".join(map(text, answers))
    assert sent == sent_alone


def counted_call(recorder: Recorder, **options: Any) -> tuple[Any, Usage, dict[str, Any]]:
    """Make a call; return its answer, its usage in the ledger and the metadata for loggers."""
    metadata: dict[str, Any] = {}
    user = f"user {next(NUMBERS)}"

    class Logger(LogWaiter):
        async def async_log_success_event(
            self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
        ) -> None:
            if kwargs.get("user") != user:  # LiteLLM may still be logging calls of earlier tests
                return
            metadata.update(kwargs["litellm_params"]["metadata"])
            await super().async_log_success_event(kwargs, response_obj, start_time, end_time)

    callback, logger = ChatMend(on_error="raise", **options), Logger()
    litellm.callbacks = [callback, logger]

    async def ask() -> Any:
        (answer,) = await _whole(recorder, messages=HELLO, user=user)
        assert await logger.wait_async()
        return answer

    answer = asyncio.run(ask())
    (row,) = [row for row in callback.usage.snapshot() if row.keys.get("end_user") == user]
    return answer, row.usage, metadata


@pytest.mark.parametrize(
    "options", [{"usage": "hidden"}, {"mode": "report"}, {"deny": ["*"], "usage": "body"}]
)
def test_hidden_usage_is_in_hidden_params_in_logs_and_in_the_ledger(
    options: dict[str, Any], recorder: Recorder
) -> None:
    answer, usage, metadata = counted_call(recorder, **options)
    assert not hasattr(answer.usage, "chatmend")
    assert answer._hidden_params["chatmend"]["usage"]["cache_read_tokens"] == 8
    assert metadata["chatmend"]["usage"]["total_tokens"] == 26
    assert usage.total_tokens == 26


def test_usage_off_only_counts_in_the_ledger(recorder: Recorder) -> None:
    answer, usage, metadata = counted_call(recorder, usage="off", ledger=UsageLedger())
    assert not hasattr(answer.usage, "chatmend")
    assert "usage" not in answer._hidden_params.get("chatmend", {})
    assert "usage" not in metadata.get("chatmend", {})
    assert usage.total_tokens == 26


def test_the_default_is_the_body_in_the_sdk_and_hidden_in_the_proxy() -> None:
    callback = ChatMend()
    assert callback.usage_mode_for({"model": "openai/gpt-4o"}) == "body"
    assert (
        callback.usage_mode_for({"model": "openai/gpt-4o", "proxy_server_request": {"url": "/"}})
        == "hidden"
    )
    assert (
        callback.usage_mode_for({"litellm_params": {"proxy_server_request": {"url": "/"}}})
        == "hidden"
    )
    denied = {"model": "gpt-4o", "litellm_params": {"metadata": {"model_group": "team-model"}}}
    assert ChatMend(deny="team-*").usage_mode_for(denied) == "hidden"
    assert ChatMend(usage="body").usage_mode_for({"proxy_server_request": {"url": "/"}}) == "body"


def test_hidden_usage_of_a_stream_is_in_the_hidden_params_of_the_chunk(recorder: Recorder) -> None:
    install(ChatMend(on_error="raise", usage="hidden"))
    chunks, _ = ask_and_record(_streamed, recorder)
    records = [
        chunk._hidden_params.get("chatmend", {}).get("usage")
        for chunk in chunks
        if getattr(chunk, "usage", None)
    ]
    assert [record["total_tokens"] for record in records] == [26]
    uninstall()


@pytest.mark.parametrize("value", ["Body", "none", True, UsageLedger()])
def test_an_invalid_usage_option_raises_an_error(value: Any) -> None:
    with pytest.raises(PolicyError, match="choose 'body' or 'hidden' or 'off'"):
        ChatMend(usage=value)


STREAMS = {
    "anthropic": (upstream.MESSAGE_EVENTS, "message_delta"),
    "responses": (upstream.RESPONSE_EVENTS, "response.completed"),
    "chat": (upstream.CHAT_EVENTS, ""),
    "gemini": (upstream.CONTENTS_EVENTS, ""),
}


@pytest.mark.parametrize(("events", "last"), STREAMS.values(), ids=STREAMS)
def test_only_stream_lines_with_usage_are_parsed_and_the_usage_record_is_complete(
    events: list[Any], last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        b"data: " + (e if isinstance(e, str) else json.dumps(e, ensure_ascii=False)).encode()
        for e in events
    ]
    parsed: list[bytes] = []

    class Counting:
        dumps = staticmethod(json.dumps)

        @staticmethod
        def loads(text: bytes) -> Any:
            parsed.append(text)
            return json.loads(text)

    monkeypatch.setattr("chatmend.litellm.streams.json", Counting)
    writer = ChunkUsageWriter(Failures("raise"))
    passed = b"".join([writer.process(line + b"\n\n") for line in lines]).split(b"\n\n")[
        : len(lines)
    ]
    carrying = [line for line in lines if b'"usage":' in line or b'"usageMetadata":' in line]
    assert [b"data:" + text for text in parsed] == carrying
    assert [new for new, old in zip(passed, lines, strict=True) if old not in carrying] == [
        line for line in lines if line not in carrying
    ]
    whole = UsageStream()
    for event in events:
        if isinstance(event, dict):
            whole.feed(event)
        if isinstance(event, dict) and (event.get("type", "") == last or not last):
            expected = whole.usage
    written = json.loads(passed[lines.index(carrying[-1])].removeprefix(b"data:"))
    usage = written.get("usage") or written.get("usageMetadata") or written["response"]["usage"]
    assert usage["chatmend"]["total_tokens"] == expected.total_tokens == 26
    assert usage["chatmend"].get("warnings", []) == list(expected.warnings)


def test_a_chunk_without_usage_is_passed_on_as_the_same_object() -> None:
    writer = ChunkUsageWriter(Failures("raise"))
    chunk = b'event: content_block_delta\ndata: {"type": "content_block_delta"}\n\n'
    assert writer.process(chunk) is chunk
    assert writer.process(b"data: {") == b""
    assert writer.process(b'"a": 1}\n') == b'data: {"a": 1}\n'
    assert writer.process(chunk) is chunk
    assert list(writer.flush()) == []


def test_a_cached_answer_keeps_its_usage_record_and_is_not_counted(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    callback, waiter = ChatMend(on_error="raise"), LogWaiter()
    litellm.callbacks = [callback, waiter]
    monkeypatch.setattr(litellm, "cache", Cache())

    async def twice() -> list[Any]:
        found = [await litellm.acompletion(**chat(recorder), caching=True)]
        assert await waiter.wait_async(1)
        found.append(await litellm.acompletion(**chat(recorder), caching=True))
        assert await waiter.wait_async(2)
        return found

    recorder.take()
    first, second = asyncio.run(twice())
    assert len(recorder.take()) == 1
    assert second.usage.chatmend == first.usage.chatmend
    assert first._hidden_params["chatmend"]["changes"] == {"TOOL005": 1}
    assert "changes" not in second._hidden_params.get("chatmend", {})
    assert [row.calls for row in callback.usage.snapshot()] == [1]


def test_the_usage_of_a_responses_answer_is_read_once_although_loggers_get_a_converted_copy() -> (
    None
):
    usage = ResponseAPIUsage(
        input_tokens=20,
        output_tokens=9,
        total_tokens=29,
        input_tokens_details={"cached_tokens": 8},
        output_tokens_details={"reasoning_tokens": 5},
    )
    answer = ResponsesAPIResponse(
        id="r", created_at=1, model="gpt-4o", object="response", output=[], usage=usage
    )
    record = usage_records.write_usage_record(answer, "hidden")
    usage_records.add_to_hidden_params(answer, {"usage": record})

    logged = answer.model_copy()
    convert = getattr(ResponseAPILoggingUtils, "transform_response_api_usage_to_chat_usage", None)
    if convert is None:
        pytest.skip("this LiteLLM has no such conversion")
    object.__setattr__(logged, "usage", convert(usage))
    assert usage_records.usage_record_of(logged) is record
    # What is read from the converted usage alone is the same.
    logged._hidden_params = {}
    assert usage_records.usage_record_of(logged) == record

    other = ResponseAPIUsage(input_tokens=21, output_tokens=9, total_tokens=30)
    logged._hidden_params = answer._hidden_params
    object.__setattr__(logged, "usage", convert(other))
    assert usage_records.usage_record_of(logged)["input_tokens"] == 21
