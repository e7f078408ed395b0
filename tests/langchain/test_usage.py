"""Usage is correct, is counted once and is the same for every kind of call.

The tests use real partner classes and recorded responses.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

pytest.importorskip("langchain_core")
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage

from chatmend.langchain import mend, usage_correction
from tests.langchain.classes import CLASSES
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import VALID
from tests.langchain.loop import run
from tests.langchain.recorder import Recorder
from tests.langchain.test_damage import look
from tests.scale import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with Recorder() as server:
        yield server


def chat(**more: Any) -> dict[str, Any]:
    return {"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130, **more}


def cached(**more: Any) -> dict[str, Any]:
    return {"prompt_tokens_details": {"cached_tokens": 64, **more}}


def claude(**more: Any) -> dict[str, Any]:
    read = {
        "input_tokens": 26,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 64,
        "output_tokens": 30,
    }
    return {**read, "service_tier": "standard", **more}


class UsageRecord(NamedTuple):
    """A usage object as a provider sends it, and the token counts that it means."""

    raw: dict[str, Any]
    read: int = 64
    wrote: int = 0
    reasoning: int = 0
    input: int = 100
    output: int = 30


_THOUGHT = {"completion_tokens_details": {"reasoning_tokens": 20, "audio_tokens": 0}}
_LIVES = {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 3}
_PLAIN = UsageRecord(chat(), read=0)
_OPENAI = UsageRecord(chat(**cached(audio_tokens=0), **_THOUGHT), reasoning=20)
_AUDIO = UsageRecord(
    chat(**cached(audio_tokens=80, text_tokens=20), completion_tokens_details={"audio_tokens": 10})
)
_WRITTEN = UsageRecord(
    chat(**cached(audio_tokens=0, cache_write_tokens=10), **_THOUGHT), wrote=10, reasoning=20
)
_XAI = UsageRecord(
    chat(**cached(text_tokens=100), **_THOUGHT) | {"total_tokens": 150}, reasoning=20, output=50
)
_HITS = {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}
_MORE = {
    "prompt_tokens_details": {"cached_tokens": 128},
    "completion_tokens_details": {"reasoning_tokens": 40},
}
_OPENAIS = {
    "nothing cached": _PLAIN,
    "cached": _OPENAI,
    "audio": _AUDIO,
    "written": _WRITTEN,
    "more cached than sent": UsageRecord(chat(**_MORE), read=100, reasoning=30),
}
_CLAUDES = {
    "nothing cached": UsageRecord({"input_tokens": 100, "output_tokens": 30}, read=0),
    "no lifetimes": UsageRecord(claude(), wrote=10),
    "5m": UsageRecord(
        claude(cache_creation={"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 0}),
        wrote=10,
    ),
    "5m and 1h": UsageRecord(
        claude(cache_creation=_LIVES, output_tokens_details={"thinking_tokens": 20}),
        wrote=10,
        reasoning=20,
    ),
}
_RESPONSES = {
    "input_tokens": 100, "output_tokens": 30, "total_tokens": 130,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 10},
    "output_tokens_details": {"reasoning_tokens": 20},
}  # fmt: skip
_CONVERSE = {
    "inputTokens": 26, "outputTokens": 30, "totalTokens": 130, "cacheReadInputTokens": 64, "cacheWriteInputTokens": 10,
}  # fmt: skip
_TTLS = [{"ttl": "5m", "inputTokens": 7}, {"ttl": "1h", "inputTokens": 3}]
_GEMINI = {
    "promptTokenCount": 100, "candidatesTokenCount": 10, "thoughtsTokenCount": 20, "totalTokenCount": 130,
    "cachedContentTokenCount": 64, "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 64}],
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 82}, {"modality": "IMAGE", "tokenCount": 18}],
}  # fmt: skip
_SEARCHED = _GEMINI | {"toolUsePromptTokenCount": 61, "totalTokenCount": 191}
_OLLAMA = {"prompt_eval_count": 100, "eval_count": 30, "total_duration": 1, "eval_duration": 1}
USAGE_RECORDS: dict[str, dict[str, UsageRecord]] = {
    "openai": _OPENAIS,
    "azure": _OPENAIS,
    "litellm": _OPENAIS,
    "openai-responses": {"cached": UsageRecord(_RESPONSES, wrote=10, reasoning=20)},
    "xai-responses": {"cached": UsageRecord(_RESPONSES, wrote=10, reasoning=20)},
    "anthropic": _CLAUDES,
    "litellm-anthropic": _CLAUDES,
    # The class does not read thinking tokens.
    "bedrock-invoke": {name: record._replace(reasoning=0) for name, record in _CLAUDES.items()},
    "mistral": {
        "nothing cached": _PLAIN,
        "cached": UsageRecord(chat(**cached(), num_cached_tokens=64)),
        "audio": _AUDIO,
    },
    "fireworks": {"nothing cached": _PLAIN, "cached": _OPENAI},
    "together": {"nothing cached": _PLAIN, "cached": _OPENAI},
    "openrouter": {"nothing cached": _PLAIN, "cached": _OPENAI},
    "nvidia": {"nothing cached": _PLAIN},
    "groq": {"nothing cached": _PLAIN, "cached": _OPENAI},
    "deepseek": {
        "nothing cached": _PLAIN,
        "cached": UsageRecord(chat(**cached(), **_THOUGHT, **_HITS), reasoning=20),
    },
    "xai": {"nothing cached": _PLAIN, "cached": _XAI},
    "bedrock-converse": {
        "no lifetimes": UsageRecord(_CONVERSE, wrote=10),
        "5m and 1h": UsageRecord({**_CONVERSE, "cacheDetails": _TTLS}, wrote=10),
    },
    "ollama": {"nothing cached": UsageRecord(_OLLAMA, read=0)},
    "gemini": {
        "cached": UsageRecord(_GEMINI, reasoning=20),
        "tools": UsageRecord(_SEARCHED, reasoning=20, input=161),
    },
}
CASES = [(name, record) for name, records in USAGE_RECORDS.items() for record in records]


async def _awaited(model: Any) -> dict[str, Any]:
    chunks = [chunk async for chunk in model.astream("hello")]
    return {"ainvoke": (await model.ainvoke("hello")).usage_metadata, "astream": _sum(chunks)}


def _sum(chunks: list[Any]) -> Any:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole.usage_metadata


def usage_of_every_call(model: Any) -> dict[str, Any]:
    """Return the usage that each kind of call reports, including callbacks and protocol events."""
    reported = {
        "invoke": model.invoke("hello").usage_metadata,
        "stream": _sum(list(model.stream("hello"))),
    }
    if hasattr(model, "stream_events"):  # langchain-core 1.0 has none
        events = model.stream_events("hello", version="v3")
        list(events.text)
        reported["events"] = events.output.usage_metadata
    with get_usage_metadata_callback() as callback:
        model.invoke("hello")
    reported["callback"] = next(
        iter(callback.usage_metadata.values()), reported["invoke"]
    )  # some responses name no model
    return reported | run(_awaited(model))


def details(usage: Any, side: str) -> dict[str, int]:
    return dict(usage.get(f"{side}_token_details") or {})


def written(usage: Any) -> int:
    """Return the number of tokens written to the cache, as a tracer adds it up."""
    inputs = details(usage, "input")
    return sum(inputs.get(name, 0) for name in ("cache_creation", *_LIVES))


PRICES = {
    "input": 10.0, "cache_read": 1.0, "cache_creation": 12.5, "ephemeral_5m_input_tokens": 12.5,
    "ephemeral_1h_input_tokens": 20.0, "output": 50.0, "reasoning": 60.0,
}  # fmt: skip
"""Prices of a token, each different, so that no error cancels another one."""


def cost_in_langsmith(usage: Any) -> float:
    """Return the cost as LangSmith computes it: each detail at its price, else the base price."""
    total = 0.0
    for side in ("input", "output"):
        known = details(usage, side)
        total += (usage[f"{side}_tokens"] - sum(known.values())) * PRICES[side]
        total += sum(count * PRICES.get(name, PRICES[side]) for name, count in known.items())
    return total


WITHOUT_LIFETIMES = {
    "anthropic": ("stream", "events", "astream"),
    "litellm-anthropic": ("stream", "events", "astream"),
    "bedrock-invoke": ("invoke", "stream", "events", "callback", "ainvoke", "astream"),
}
"""Calls in which the class drops the lifetimes of cache writes; they have the price of 5 minutes.

``ChatAnthropic`` does so only in versions without the method that converts events, such as 1.0.
"""
_EVENTS = "_make_message_chunk_from_anthropic_event"


def bill(record: UsageRecord, *, has_lifetimes: bool = True) -> float:
    """Return what the provider bills for the tokens that its usage object means."""
    is_split = _LIVES in record.raw.values() or _TTLS in record.raw.values()
    long_lived = 3 if is_split and has_lifetimes else 0
    return (
        (record.input - record.read - record.wrote) * PRICES["input"]
        + record.read * PRICES["cache_read"]
        + (record.wrote - long_lived) * PRICES["cache_creation"]
        + long_lived * PRICES["ephemeral_1h_input_tokens"]
        + (record.output - record.reasoning) * PRICES["output"]
        + record.reasoning * PRICES["reasoning"]
    )


PRICED = [(name, case) for name, case in CASES if case != "audio"]
"""Cached audio has a price of its own, which no key of LangChain can express."""


@pytest.mark.parametrize(("name", "case"), sampled(PRICED, PRICED[::4]))
def test_the_cost_is_that_of_the_bill(recorder: Recorder, name: str, case: str) -> None:
    record = USAGE_RECORDS[name][case]
    recorder.usage = record.raw
    model = mend(CLASSES[name].model(recorder.url(CLASSES[name].wire)))
    costs = {way: cost_in_langsmith(usage) for way, usage in usage_of_every_call(model).items()}
    dropped = () if hasattr(model, _EVENTS) else WITHOUT_LIFETIMES.get(name, ())
    expected = {way: bill(record, has_lifetimes=way not in dropped) for way in costs}
    assert costs == expected


def test_every_class_has_usage_records() -> None:
    assert USAGE_RECORDS.keys() == CLASSES.keys()


@pytest.mark.parametrize(("name", "case"), sampled(CASES, CASES[::4]))
def test_no_token_is_in_two_details_and_none_is_lost(
    recorder: Recorder, name: str, case: str
) -> None:
    record = USAGE_RECORDS[name][case]
    recorder.usage = record.raw
    for way, usage in usage_of_every_call(
        mend(CLASSES[name].model(recorder.url(CLASSES[name].wire)))
    ).items():
        inputs, outputs = details(usage, "input"), details(usage, "output")
        assert (usage["input_tokens"], usage["output_tokens"]) == (record.input, record.output), way
        assert usage["total_tokens"] == record.input + record.output, way
        assert sum(inputs.values()) <= record.input, way
        assert sum(outputs.values()) <= record.output, way
        assert (inputs.get("cache_read", 0), written(usage)) == (record.read, record.wrote), way
        assert outputs.get("reasoning", 0) == record.reasoning, way


@pytest.mark.parametrize("name", ["openai", "deepseek", "xai", "mistral"])
def test_total_counts_in_every_chunk_are_not_summed(recorder: Recorder, name: str) -> None:
    recorder.usage = chat()
    bare = CLASSES[name].model(recorder.url("every"))
    assert _sum(list(bare.stream("hello")))["input_tokens"] == 300
    reported = usage_of_every_call(mend(bare))
    for way in reported.keys() & {"stream", "astream", "events"}:
        assert (
            reported[way]["input_tokens"],
            reported[way]["output_tokens"],
            reported[way]["total_tokens"],
        ) == (100, 30, 130)
    assert [chunk.text for chunk in mend(bare).stream("q")] == [
        chunk.text for chunk in bare.stream("q")
    ]


def test_partial_counts_are_summed(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = pytest.importorskip("langchain_aws")
    monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", recorder.url("invoke"))
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    bare = aws.ChatAnthropicBedrock(model="us.anthropic.claude-haiku-4-5-20251001-v1:0", **keys)
    recorder.usage = _CLAUDES["no lifetimes"].raw
    parts = [chunk.usage_metadata for chunk in bare.stream("hello") if chunk.usage_metadata]
    assert [part["input_tokens"] for part in parts] == [100, 0]
    for way, usage in usage_of_every_call(mend(bare)).items():
        assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (
            100,
            30,
            130,
        ), way
        assert (details(usage, "input")["cache_read"], written(usage)) == (64, 10), way


def test_the_clients_of_the_bare_model_are_unchanged(recorder: Recorder) -> None:
    recorder.usage = USAGE_RECORDS["mistral"]["cached"].raw
    bare = CLASSES["mistral"].model(recorder.url("mistral"))
    model = mend(bare)
    assert details(_sum(list(model.stream("hello"))), "input")["cache_read"] == 64
    assert (model.client, model.async_client) == (bare.client, bare.async_client)
    assert not details(_sum(list(bare.stream("hello"))), "input")
    assert not details(_sum(list(mend(bare, usage=False).stream("hello"))), "input")


def test_an_interrupted_stream_reports_no_usage(recorder: Recorder) -> None:
    recorder.usage = chat()
    stream = mend(CLASSES["openai"].model(recorder.url("every"))).stream("hello")
    assert next(stream).usage_metadata is None
    stream.close()


@pytest.mark.parametrize("tier", ["priority", "flex"])
@pytest.mark.parametrize(
    ("name", "case"), [("openai", "cached"), ("openai", "written"), ("openai-responses", "cached")]
)
def test_a_service_tier_is_counted_once(
    recorder: Recorder, name: str, case: str, tier: str
) -> None:
    partner = CLASSES[name]
    recorder.usage = USAGE_RECORDS[name][case].raw
    for usage in usage_of_every_call(
        mend(partner.model(recorder.url(partner.wire), service_tier=tier))
    ).values():
        inputs, outputs = details(usage, "input"), details(usage, "output")
        assert inputs[f"{tier}_cache_read"] == 64
        assert outputs[f"{tier}_reasoning"] == 20
        assert not {"cache_read", "cache_creation"} & inputs.keys()
        assert "reasoning" not in outputs
        assert sum(inputs.values()) <= 100
        assert sum(outputs.values()) <= 30


def test_usage_correction_can_be_disabled(recorder: Recorder) -> None:
    recorder.usage = _OPENAIS["more cached than sent"].raw
    bare = CLASSES["openai"].model(recorder.url("chat"))
    assert (
        mend(bare, usage=False).invoke("hello").usage_metadata
        == bare.invoke("hello").usage_metadata
    )


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_an_answer_and_its_stream_agree_and_are_counted_once(sandbox: Any, name: str) -> None:
    more = {"stream_usage": True} if name == "openai" else {}
    bare = CONFIGURATIONS[name].model(sandbox, **more).bind_tools([look])
    model = mend(bare)
    with get_usage_metadata_callback() as callback:
        answer = model.invoke(VALID)
    (one,) = callback.usage_metadata.values()
    chunks = list(model.stream(VALID))
    reported = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert len(reported) == 1
    assert one == answer.usage_metadata
    for part in ("input_tokens", "output_tokens", "total_tokens"):
        assert reported[0][part] == answer.usage_metadata[part]
    assert len(chunks) == len(list(bare.stream(VALID)))


_PROVIDERS = ("openai", "deepseek", "xai", "mistral", "anthropic", "gemini", "bedrock", "groq", "")
_EMPTY = {"audio_tokens": 0, "cache_write_tokens": None, "cached_tokens": 0}
_ZERO = {
    "accepted_prediction_tokens": 0,
    "audio_tokens": 0,
    "reasoning_tokens": 0,
    "rejected_prediction_tokens": 0,
}


@pytest.mark.parametrize(
    "cached",
    [None, {}, {"cached_tokens": 0, "audio_tokens": 0}, {"cached_tokens": 4}, {"x": 1}, _EMPTY],
)
@pytest.mark.parametrize(
    "reported", [{}, {"cache_read": 0, "audio": 0}, {"cache_read": 4}, {"cache_read": 3}]
)
@pytest.mark.parametrize(
    "reasoning", [None, {}, {"reasoning_tokens": 0}, {"reasoning_tokens": 2}, _ZERO]
)
def test_the_fast_path_returns_the_same_usage_as_the_tables(
    cached: Any, reported: Any, reasoning: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    record |= {"prompt_tokens_details": cached, "completion_tokens_details": reasoning}
    usage: Any = {
        "input_tokens": 10,
        "output_tokens": 2,
        "total_tokens": 12,
        "input_token_details": reported,
    }
    usage["output_token_details"] = {"reasoning": 0, "audio": 0} if reasoning else {}
    for provider, metadata in product(_PROVIDERS, ({"token_usage": record}, {}, {"usage": record})):
        fast, slow = (
            AIMessage("x", usage_metadata=usage, response_metadata={"usage": metadata.get("usage")})
            for _ in "ab"
        )
        fast = usage_correction.with_correct_usage(fast, metadata, provider, "m")
        with monkeypatch.context() as patch:
            patch.setattr(usage_correction, "is_consistent", lambda *_: False)
            slow = usage_correction.with_correct_usage(slow, metadata, provider, "m")
        assert fast.usage_metadata == slow.usage_metadata


@pytest.mark.parametrize(
    ("given", "total"),
    [
        (26, 120),  # ChatBedrock before langchain-aws 1.9.0
        (26, 56),  # the same in a stream
        (26, 130),  # ChatBedrockConverse before 1.4.6
        (100, 130),  # newer versions
    ],
)
@pytest.mark.parametrize("is_stream", [True, False])
def test_the_input_includes_the_tokens_of_the_cache_with_each_version_of_langchain_aws(
    given: int, total: int, *, is_stream: bool
) -> None:
    usage: Any = {
        "input_tokens": given, "output_tokens": 30, "total_tokens": total,
        "input_token_details": {"cache_read": 64, "cache_creation": 10},
    }  # fmt: skip
    answer = AIMessage("x", usage_metadata=usage)
    if is_stream:
        corrected = usage_correction.correct_total(usage, "bedrock", "m")
    else:
        answer = usage_correction.with_correct_usage(answer, {}, "bedrock", "m")
        corrected = answer.usage_metadata  # type: ignore[assignment]
    assert corrected == {**usage, "input_tokens": 100, "total_tokens": 130}


def test_a_total_shows_that_the_input_lacks_the_tokens_of_the_cache() -> None:
    details: Any = {"cache_read": 64, "cache_creation": 10}
    usage: Any = {"input_tokens": 500, "output_tokens": 30, "input_token_details": details}
    for total, given in ((530, 500), (594, 574), (604, 574)):
        found = usage_correction.correct_total({**usage, "total_tokens": total}, "bedrock", "m")
        assert (found["input_tokens"], found["total_tokens"]) == (given, given + 30)
