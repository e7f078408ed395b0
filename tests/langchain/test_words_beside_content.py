"""A refusal or the transcript of a spoken answer, which LangChain keeps in ``additional_kwargs``, reaches the next model."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langchain_anthropic")
from langchain_core.messages import AIMessage, HumanMessage

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from tests.langchain.classes import DESTINATIONS

WORDS = "I cannot help with that."
RECORDING = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1729234747, "transcript": WORDS}


def _history(content: Any, **kwargs: Any) -> list[Any]:
    return [HumanMessage("hi"), AIMessage(content, additional_kwargs=kwargs), HumanMessage("bye")]


@pytest.mark.parametrize(
    "kwargs", [{"refusal": WORDS}, {"audio": RECORDING}], ids=["refusal", "spoken"]
)
@pytest.mark.parametrize("content", ["", [], [{"type": "text", "text": " "}]], ids=repr)
@pytest.mark.parametrize(
    "name",
    ["openai", "responses", "anthropic", "gemini", "bedrock nova", "mistral", "groq", "deepseek"],
)
def test_the_words_arrive(sandbox: Any, name: str, content: Any, kwargs: dict[str, Any]) -> None:
    history = _history(content, **kwargs)
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    once = list(prepare(model, history, {}).messages)
    assert prepare(model, once, {}).messages == once
    model.invoke(history)
    body = json.dumps(sandbox.requests[-1].body)
    if name == "openai" and "audio" in kwargs:
        assert '"audio": {"id": "audio_1"}' in body
    else:
        assert WORDS in body
    assert history == _history(content, **kwargs)


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "mistral", "deepseek"])
def test_an_answer_with_a_text_is_unchanged(sandbox: Any, name: str) -> None:
    history = _history("Sorry.", refusal=WORDS)
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    sent = prepare(model, history, {}).messages
    assert all(one is other for one, other in zip(sent, history, strict=True))


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_an_empty_refusal_is_unchanged(sandbox: Any, name: str) -> None:
    history = _history("Sure.", refusal=None)
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    sent = prepare(model, history, {}).messages
    assert all(one is other for one, other in zip(sent, history, strict=True))


@pytest.mark.parametrize("version", [None, "v1"])
@pytest.mark.parametrize("provider", [None, "openai"])
@pytest.mark.parametrize("name", DESTINATIONS)
def test_a_refusal_among_the_blocks_of_an_answer_arrives(
    sandbox: Any, name: str, provider: str | None, version: str | None
) -> None:
    """Answers of the Responses API hold refusals as blocks; most converters drop these."""
    metadata = {"model_provider": provider, "output_version": version}
    answer = AIMessage(
        [{"type": "text", "text": "Well."}, {"type": "refusal", "refusal": WORDS}],
        response_metadata={key: value for key, value in metadata.items() if value},
    )
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    model.invoke([HumanMessage("hi"), answer, HumanMessage("bye")])
    assert WORDS in json.dumps(sandbox.requests[-1].body)
