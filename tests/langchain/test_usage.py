"""Usage is right and the same however a model is asked, and counted once: real partner classes, recorded answers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

pytest.importorskip("langchain_core")
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage

from chatmend.langchain import counts, mend
from tests.langchain.classes import CLASSES
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import VALID
from tests.langchain.loop import run
from tests.langchain.recorder import Recorder
from tests.langchain.test_damage import look

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
    read = {"input_tokens": 26, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 64, "output_tokens": 30}
    return {**read, "service_tier": "standard", **more}


class Account(NamedTuple):
    """A usage object as a provider sends it, and what it says."""

    raw: dict[str, Any]
    read: int = 64
    wrote: int = 0
    reasoning: int = 0
    input: int = 100
    output: int = 30


_THOUGHT = {"completion_tokens_details": {"reasoning_tokens": 20, "audio_tokens": 0}}
_LIVES = {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 3}
_PLAIN = Account(chat(), read=0)
_OPENAI = Account(chat(**cached(audio_tokens=0), **_THOUGHT), reasoning=20)
_AUDIO = Account(chat(**cached(audio_tokens=80, text_tokens=20), completion_tokens_details={"audio_tokens": 10}))
_WRITTEN = Account(chat(**cached(audio_tokens=0, cache_write_tokens=10), **_THOUGHT), wrote=10, reasoning=20)
_XAI = Account(chat(**cached(text_tokens=100), **_THOUGHT) | {"total_tokens": 150}, reasoning=20, output=50)
_HITS = {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}
_MORE = {"prompt_tokens_details": {"cached_tokens": 128}, "completion_tokens_details": {"reasoning_tokens": 40}}
_OPENAIS = {
    "nothing cached": _PLAIN,
    "cached": _OPENAI,
    "audio": _AUDIO,
    "written": _WRITTEN,
    "more cached than sent": Account(chat(**_MORE), read=100, reasoning=30),
}
_CLAUDES = {
    "nothing cached": Account({"input_tokens": 100, "output_tokens": 30}, read=0),
    "no lifetimes": Account(claude(), wrote=10),
    "5m": Account(claude(cache_creation={"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 0}), wrote=10),
    "5m and 1h": Account(
        claude(cache_creation=_LIVES, output_tokens_details={"thinking_tokens": 20}), wrote=10, reasoning=20
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
ACCOUNTS: dict[str, dict[str, Account]] = {
    "openai": _OPENAIS,
    "azure": _OPENAIS,
    "litellm": _OPENAIS,
    "openai-responses": {"cached": Account(_RESPONSES, wrote=10, reasoning=20)},
    "xai-responses": {"cached": Account(_RESPONSES, wrote=10, reasoning=20)},
    "anthropic": _CLAUDES,
    "litellm-anthropic": _CLAUDES,
    # the class does not read thinking tokens
    "bedrock-invoke": {name: account._replace(reasoning=0) for name, account in _CLAUDES.items()},
    "mistral": {"nothing cached": _PLAIN, "cached": Account(chat(**cached(), num_cached_tokens=64)), "audio": _AUDIO},
    "groq": {"nothing cached": _PLAIN, "cached": _OPENAI},
    "deepseek": {"nothing cached": _PLAIN, "cached": Account(chat(**cached(), **_THOUGHT, **_HITS), reasoning=20)},
    "xai": {"nothing cached": _PLAIN, "cached": _XAI},
    "bedrock-converse": {
        "no lifetimes": Account(_CONVERSE, wrote=10),
        "5m and 1h": Account({**_CONVERSE, "cacheDetails": _TTLS}, wrote=10),
    },
    "ollama": {"nothing cached": Account(_OLLAMA, read=0)},
    "gemini": {"cached": Account(_GEMINI, reasoning=20), "tools": Account(_SEARCHED, reasoning=20, input=161)},
}
CASES = [(name, account) for name, accounts in ACCOUNTS.items() for account in accounts]


async def _awaited(model: Any) -> dict[str, Any]:
    chunks = [chunk async for chunk in model.astream("hello")]
    return {"ainvoke": (await model.ainvoke("hello")).usage_metadata, "astream": _sum(chunks)}


def _sum(chunks: list[Any]) -> Any:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole.usage_metadata


def asked(model: Any) -> dict[str, Any]:
    """The usage that each way of asking a model tells, callbacks and protocol events among them."""
    told = {"invoke": model.invoke("hello").usage_metadata, "stream": _sum(list(model.stream("hello")))}
    events = model.stream_events("hello", version="v3")
    list(events.text)
    told["events"] = events.output.usage_metadata
    with get_usage_metadata_callback() as heard:
        model.invoke("hello")
    told["callback"] = next(iter(heard.usage_metadata.values()), told["invoke"])  # some name no model
    return told | run(_awaited(model))


def details(usage: Any, side: str) -> dict[str, int]:
    return dict(usage.get(f"{side}_token_details") or {})


def written(usage: Any) -> int:
    """What went to the cache, as a tracer adds it up."""
    held = details(usage, "input")
    return sum(held.get(name, 0) for name in ("cache_creation", *_LIVES))


def test_every_class_has_accounts() -> None:
    assert ACCOUNTS.keys() == CLASSES.keys()


@pytest.mark.parametrize(("name", "case"), CASES)
def test_no_token_is_in_two_details_and_none_is_lost(recorder: Recorder, name: str, case: str) -> None:
    account = ACCOUNTS[name][case]
    recorder.usage = account.raw
    for way, usage in asked(mend(CLASSES[name].model(recorder.url(CLASSES[name].wire)))).items():
        held, said = details(usage, "input"), details(usage, "output")
        assert (usage["input_tokens"], usage["output_tokens"]) == (account.input, account.output), way
        assert usage["total_tokens"] == account.input + account.output, way
        assert sum(held.values()) <= account.input, way
        assert sum(said.values()) <= account.output, way
        assert (held.get("cache_read", 0), written(usage)) == (account.read, account.wrote), way
        assert said.get("reasoning", 0) == account.reasoning, way


@pytest.mark.parametrize("name", ["openai", "deepseek", "xai", "mistral"])
def test_counts_that_come_whole_with_every_chunk_are_not_summed(recorder: Recorder, name: str) -> None:
    recorder.usage = chat()
    bare = CLASSES[name].model(recorder.url("every"))
    assert _sum(list(bare.stream("hello")))["input_tokens"] == 300
    told = asked(mend(bare))
    for way in ("stream", "astream", "events"):
        assert (told[way]["input_tokens"], told[way]["output_tokens"], told[way]["total_tokens"]) == (100, 30, 130)
    assert [chunk.text for chunk in mend(bare).stream("q")] == [chunk.text for chunk in bare.stream("q")]


def test_counts_that_come_in_parts_are_summed(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = pytest.importorskip("langchain_aws")
    monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", recorder.url("invoke"))
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    bare = aws.ChatAnthropicBedrock(model="us.anthropic.claude-haiku-4-5-20251001-v1:0", **keys)
    recorder.usage = _CLAUDES["no lifetimes"].raw
    parts = [chunk.usage_metadata for chunk in bare.stream("hello") if chunk.usage_metadata]
    assert [part["input_tokens"] for part in parts] == [100, 0]
    for way, usage in asked(mend(bare)).items():
        assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (100, 30, 130), way
        assert (details(usage, "input")["cache_read"], written(usage)) == (64, 10), way


def test_the_callers_clients_are_not_changed(recorder: Recorder) -> None:
    recorder.usage = ACCOUNTS["mistral"]["cached"].raw
    bare = CLASSES["mistral"].model(recorder.url("mistral"))
    model = mend(bare)
    assert details(_sum(list(model.stream("hello"))), "input")["cache_read"] == 64
    assert (model.client, model.async_client) == (bare.client, bare.async_client)
    assert not details(_sum(list(bare.stream("hello"))), "input")
    assert not details(_sum(list(mend(bare, usage=False).stream("hello"))), "input")


def test_a_broken_off_stream_reports_nothing(recorder: Recorder) -> None:
    recorder.usage = chat()
    stream = mend(CLASSES["openai"].model(recorder.url("every"))).stream("hello")
    assert next(stream).usage_metadata is None
    stream.close()


@pytest.mark.parametrize("tier", ["priority", "flex"])
@pytest.mark.parametrize(
    ("name", "case"), [("openai", "cached"), ("openai", "written"), ("openai-responses", "cached")]
)
def test_a_service_tier_is_counted_once(recorder: Recorder, name: str, case: str, tier: str) -> None:
    partner = CLASSES[name]
    recorder.usage = ACCOUNTS[name][case].raw
    for usage in asked(mend(partner.model(recorder.url(partner.wire), service_tier=tier))).values():
        held, said = details(usage, "input"), details(usage, "output")
        assert held[f"{tier}_cache_read"] == 64
        assert said[f"{tier}_reasoning"] == 20
        assert not {"cache_read", "cache_creation"} & held.keys()
        assert "reasoning" not in said
        assert sum(held.values()) <= 100
        assert sum(said.values()) <= 30


def test_usage_can_be_left_as_it_is(recorder: Recorder) -> None:
    recorder.usage = _OPENAIS["more cached than sent"].raw
    bare = CLASSES["openai"].model(recorder.url("chat"))
    assert mend(bare, usage=False).invoke("hello").usage_metadata == bare.invoke("hello").usage_metadata


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_an_answer_and_its_stream_agree_and_are_counted_once(sandbox: Any, name: str) -> None:
    more = {"stream_usage": True} if name == "openai" else {}
    bare = CONFIGURATIONS[name].model(sandbox, **more).bind_tools([look])
    model = mend(bare)
    with get_usage_metadata_callback() as heard:
        answer = model.invoke(VALID)
    (one,) = heard.usage_metadata.values()
    chunks = list(model.stream(VALID))
    paid = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert len(paid) == 1
    assert one == answer.usage_metadata
    for part in ("input_tokens", "output_tokens", "total_tokens"):
        assert paid[0][part] == answer.usage_metadata[part]
    assert len(chunks) == len(list(bare.stream(VALID)))


_PROVIDERS = ("openai", "deepseek", "xai", "mistral", "anthropic", "gemini", "bedrock", "groq", "")
_EMPTY = {"audio_tokens": 0, "cache_write_tokens": None, "cached_tokens": 0}
_ZERO = {"accepted_prediction_tokens": 0, "audio_tokens": 0, "reasoning_tokens": 0, "rejected_prediction_tokens": 0}


@pytest.mark.parametrize(
    "cached", [None, {}, {"cached_tokens": 0, "audio_tokens": 0}, {"cached_tokens": 4}, {"x": 1}, _EMPTY]
)
@pytest.mark.parametrize("told", [{}, {"cache_read": 0, "audio": 0}, {"cache_read": 4}, {"cache_read": 3}])
@pytest.mark.parametrize("reasoning", [None, {}, {"reasoning_tokens": 0}, {"reasoning_tokens": 2}, _ZERO])
def test_the_fast_path_comes_to_what_the_tables_say(
    cached: Any, told: Any, reasoning: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    account |= {"prompt_tokens_details": cached, "completion_tokens_details": reasoning}
    usage: Any = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, "input_token_details": told}
    usage["output_token_details"] = {"reasoning": 0, "audio": 0} if reasoning else {}
    for provider, beside in product(_PROVIDERS, ({"token_usage": account}, {}, {"usage": account})):
        fast, slow = (
            AIMessage("x", usage_metadata=usage, response_metadata={"usage": beside.get("usage")}) for _ in "ab"
        )
        counts.correct(fast, beside, provider, "m")
        with monkeypatch.context() as patch:
            patch.setattr(counts, "agrees", lambda *_: False)
            counts.correct(slow, beside, provider, "m")
        assert fast.usage_metadata == slow.usage_metadata
