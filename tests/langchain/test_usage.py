"""Usage is right and the same however a model is asked, and counted once."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

from chatmend.langchain import counts, mend
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import VALID
from tests.langchain.test_damage import look

if TYPE_CHECKING:
    from collections.abc import Iterator


class Replaying(BaseChatModel):
    """A model that answers with recorded messages; ``kind`` says whose it is."""

    kind: str
    chunks: list[AIMessageChunk] = Field(default_factory=list)
    answer: AIMessage | None = None

    @property
    def _llm_type(self) -> str:
        return self.kind

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:  # noqa: ARG002
        assert self.answer is not None
        return ChatResult(generations=[ChatGeneration(message=self.answer.model_copy())])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002
        for chunk in self.chunks:
            yield ChatGenerationChunk(message=chunk.model_copy())


def used(input_tokens: int, output_tokens: int, **details: Any) -> Any:
    total = input_tokens + output_tokens
    return {"input_tokens": input_tokens, "output_tokens": output_tokens, "total_tokens": total, **details}


def piece(text: str, usage: Any = None, **more: Any) -> AIMessageChunk:
    return AIMessageChunk(text, usage_metadata=usage, response_metadata={"model_name": "m"} if not text else {}, **more)


def totals(model: Any) -> list[Any]:
    """What a stream, its events and a callback say was used."""
    whole: Any = None
    for chunk in model.stream("hello"):
        whole = chunk if whole is None else whole + chunk
    events = model.stream_events("hello", version="v3")
    list(events.text)
    with get_usage_metadata_callback() as heard:
        list(model.stream("hello"))
    return [whole.usage_metadata, events.output.usage_metadata, *heard.usage_metadata.values()]


CUMULATIVE = [
    piece("a", used(15, 1)),
    piece("b", used(15, 2)),
    piece("c", used(15, 3)),
    piece("", chunk_position="last"),
]
WRITTEN = {"cache_creation": 0, "ephemeral_5m_input_tokens": 3, "cache_read": 2}


@pytest.mark.parametrize("kind", ["openai-chat", "mistralai-chat", "xai-chat", "chat-deepseek"])
def test_counts_that_grow_with_every_chunk_are_not_summed(kind: str) -> None:
    bare, mended = Replaying(kind=kind, chunks=CUMULATIVE), mend(Replaying(kind=kind, chunks=CUMULATIVE))
    assert totals(bare)[0]["input_tokens"] == 45
    found = totals(mended)
    assert found == [used(15, 3)] * 3
    assert [chunk.text for chunk in mended.stream("q")] == [chunk.text for chunk in bare.stream("q")]


def test_counts_that_come_in_parts_are_summed() -> None:
    chunks = [
        piece("", used(10, 0, input_token_details=WRITTEN)),
        piece("a"),
        piece("", used(0, 5), chunk_position="last"),
    ]
    for found in totals(mend(Replaying(kind="anthropic-chat", chunks=chunks))):
        assert (found["input_tokens"], found["output_tokens"], found["total_tokens"]) == (10, 5, 15)
        assert found["input_token_details"] == {**WRITTEN, "cache_creation": 3}


def test_a_stream_that_ends_without_a_last_chunk_still_reports() -> None:
    found = totals(mend(Replaying(kind="openai-chat", chunks=[piece("a"), piece("", used(4, 2))])))
    assert found[0] == used(4, 2)


def test_a_broken_off_stream_reports_nothing() -> None:
    stream = mend(Replaying(kind="openai-chat", chunks=CUMULATIVE)).stream("hello")
    assert next(stream).usage_metadata is None
    stream.close()  # type: ignore[attr-defined]


def test_what_anthropic_wrote_to_its_cache_is_in_the_total() -> None:
    answer = AIMessage(
        "a", usage_metadata=used(10, 5, input_token_details=WRITTEN), response_metadata={"model_name": "c"}
    )
    found: Any = mend(Replaying(kind="anthropic-chat", answer=answer)).invoke("hello").usage_metadata
    assert found["input_token_details"] == {**WRITTEN, "cache_creation": 3}


def test_cached_tokens_that_the_partner_drops_are_found() -> None:
    raw = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    metadata = {"token_usage": raw, "model_name": "mistral-large-latest"}
    answer = AIMessage("a", usage_metadata=used(10, 5), response_metadata=metadata)
    found: Any = mend(Replaying(kind="mistralai-chat", answer=answer)).invoke("hello").usage_metadata
    assert found == used(10, 5, input_token_details={"cache_read": 4})


def test_a_total_that_leaves_reasoning_out_is_corrected() -> None:
    raw = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 35}
    raw["completion_tokens_details"] = {"reasoning_tokens": 20}  # type: ignore[assignment]
    wrong = {**used(10, 25, output_token_details={"reasoning": 20}), "total_tokens": 15}
    answer = AIMessage("a", usage_metadata=wrong, response_metadata={"token_usage": raw, "model_name": "grok-4"})  # type: ignore[arg-type]
    found: Any = mend(Replaying(kind="xai-chat", answer=answer)).invoke("hello").usage_metadata
    assert found == used(10, 25, output_token_details={"reasoning": 20})


def test_details_that_only_the_partner_knows_stay() -> None:
    details = {"priority": 10, "priority_cache_read": 2}
    answer = AIMessage("a", usage_metadata=used(10, 5, input_token_details=details), response_metadata={})
    found: Any = mend(Replaying(kind="openai-chat", answer=answer)).invoke("hello").usage_metadata
    assert found["input_token_details"].items() >= details.items()


def test_usage_can_be_left_as_it_is() -> None:
    answer = AIMessage("a", usage_metadata=used(10, 5, input_token_details=WRITTEN))
    found: Any = mend(Replaying(kind="anthropic-chat", answer=answer), usage=False).invoke("hello").usage_metadata
    assert found["input_token_details"] == WRITTEN


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
def test_the_quick_look_at_an_account_comes_to_what_the_tables_say(cached: Any, told: Any, reasoning: Any) -> None:
    account = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    account |= {"prompt_tokens_details": cached, "completion_tokens_details": reasoning}
    usage: Any = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, "input_token_details": told}
    usage["output_token_details"] = {"reasoning": 0, "audio": 0} if reasoning else {}
    for provider, beside in product(_PROVIDERS, ({"token_usage": account}, {}, {"usage": account})):
        quick, slow = (AIMessage("x", usage_metadata=usage, response_metadata=beside) for _ in "ab")
        if not counts.agrees(quick):
            counts.correct(quick, provider, "m")
        counts.correct(slow, provider, "m")
        assert quick.usage_metadata == slow.usage_metadata
