"""Answers of each provider are continued with each partner class, and then with their own again."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.metadata import version
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from packaging.version import Version

from chatmend.langchain import mend
from chatmend.langchain.partners import find_destination, find_destination_by_name
from tests.langchain.answers import BODIES, PDF, PIXEL, SIGNATURE, answer_of
from tests.langchain.classes import DESTINATIONS, HOME
from tests.langchain.recorder import Recorder
from tests.langchain.test_damage import look
from tests.scale import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

MEDIA: dict[str, list[dict[str, Any]]] = {
    "text": [],
    "image": [{"type": "image", "base64": PIXEL, "mime_type": "image/png"}],
    "pdf": [{"type": "file", "base64": PDF, "mime_type": "application/pdf", "filename": "a.pdf"}],
}
PAIRS = [
    pair
    for pair in product(BODIES, DESTINATIONS)
    if not (pair[0].startswith("anthropic") and pair[1] == "anthropic 4.5")
]
"""Without Claude's thinking in a request to Claude that does not enable it; see ``fuzz.py``."""
ALL = [(*pair, media) for pair, media in product(PAIRS, MEDIA)]
RETURNS = [pair for pair in PAIRS if pair[0] in HOME and pair[1] != "anthropic thinking"]
"""Without the class whose answers hold thinking that another model of Claude refuses."""
OWN = {
    **HOME, "openai": "openai", "azure": "azure", "groq": "groq", "deepseek": "deepseek",
    "xai": "xai", "ollama": "ollama", "litellm-anthropic": "litellm anthropic",
    "fireworks": "fireworks", "together": "together", "nvidia": "nvidia",
}  # fmt: skip
"""For an answer, the destination of the same class."""


@pytest.fixture(scope="module")
def answers() -> Iterator[Any]:
    """Return a function that returns the answer of a provider, parsed once."""
    parsed: dict[str, AIMessage] = {}
    with Recorder() as recorder:

        def find(name: str) -> AIMessage:
            if name not in parsed:
                parsed[name] = answer_of(recorder, name)
            return parsed[name]

        yield find


def history(answer: AIMessage, media: str = "text") -> list[BaseMessage]:
    """Return a question, the answer with its calls, their results, and the next question."""
    results = [
        ToolMessage("18", tool_call_id=call["id"], name="look")
        for call in answer.tool_calls
        if call["name"] == "look"
    ]
    question = HumanMessage([{"type": "text", "text": "What is it like?"}, *MEDIA[media]])
    return [question, answer, *results, HumanMessage("And now?")]


def skip_if_unsupported(*names: str) -> None:
    """Skip the test if the installed package of Anthropic cannot send Bedrock's reasoning."""
    is_anthropic = any(name.startswith("anthropic") for name in names)
    is_old = is_anthropic and Version(version("langchain-anthropic")) < Version("1.7")
    if is_old and "bedrock-converse v1" in names:
        pytest.skip("langchain-anthropic before 1.7 sends the reasoning of Bedrock unconverted")


@pytest.mark.parametrize(("name", "destination", "media"), sampled(ALL, ALL[::31]))
def test_an_answer_of_another_provider_is_continued(
    sandbox: Any, answers: Any, name: str, destination: str, media: str
) -> None:
    skip_if_unsupported(name, destination)
    model = mend(DESTINATIONS[destination].model(sandbox), on_error="raise").bind_tools([look])
    assert isinstance(model.invoke(history(answers(name), media)), AIMessage)
    assert not sandbox.refusals


@pytest.mark.parametrize("name", sorted(OWN.keys() - {"openai-responses v1"}))
def test_an_answer_of_the_same_provider_is_sent_as_the_class_sends_it(
    sandbox: Any, answers: Any, name: str
) -> None:
    """langchain-openai raises on the image in its own v1 answer, so that answer must change."""
    bodies = []
    bare = DESTINATIONS[OWN[name]].model(sandbox)
    for model in (bare, mend(bare, on_error="raise")):
        model.bind_tools([look]).invoke(history(answers(name)))
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]
    assert not sandbox.refusals


@pytest.mark.parametrize(("name", "destination"), sampled(RETURNS, RETURNS[::17]))
def test_signed_thinking_is_intact_when_the_conversation_returns(
    sandbox: Any, answers: Any, name: str, destination: str
) -> None:
    skip_if_unsupported(name, destination)
    messages = history(answers(name))
    other = mend(DESTINATIONS[destination].model(sandbox), on_error="raise").bind_tools([look])
    messages += [other.invoke(messages), HumanMessage("And then?")]
    own = DESTINATIONS[HOME[name]].model(sandbox)
    mend(own, on_error="raise").bind_tools([look]).invoke(messages)
    assert not sandbox.refusals
    assert SIGNATURE in json.dumps(sandbox.requests[-1].body)


BY_ADDRESS = {"openai", "responses", "huggingface"}
"""Destinations whose target depends on the address of the sandbox."""
OTHER_CLASSES = {"bedrock invoke", "litellm anthropic", "litellm openai"}
"""Destinations whose class is not the first one for their provider."""


@pytest.mark.parametrize("name", sorted(set(DESTINATIONS) - BY_ADDRESS - OTHER_CLASSES))
def test_a_target_given_by_name_has_the_limits_of_its_usual_class(name: str, sandbox: Any) -> None:
    of_model = find_destination(DESTINATIONS[name].model(sandbox), {})
    of_name = find_destination_by_name(of_model.target.name)
    # The profile of a model lists the media that it does not accept.
    refused = dict.fromkeys(("user_refuses", "answer_refuses", "result_refuses"), frozenset[str]())
    assert replace(of_name.converter, **refused) == replace(of_model.converter, **refused)
    assert of_name.sends_ids == of_model.sends_ids
