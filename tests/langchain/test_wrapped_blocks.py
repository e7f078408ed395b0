"""Blocks in the format of another provider, also inside the ``non_standard`` blocks of LangChain."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from tests.langchain.answers import PDF, PIXEL
from tests.langchain.classes import DESTINATIONS
from tests.langchain.fuzz import refusal
from tests.langchain.shapes import call
from tests.langchain.test_damage import look

Q, NEXT = HumanMessage("q"), HumanMessage("go on")
ASKED = AIMessage("", tool_calls=[call()])
TEXT = {"type": "text", "text": "look"}
RESULTS: dict[str, Any] = {
    "anthropic": {"type": "tool_result", "tool_use_id": "call_1", "content": "18 degrees"},
    "bedrock": {"toolResult": {"toolUseId": "call_1", "content": [{"text": "18 degrees"}]}},
    "bedrock, old": {"tool_result": {"tool_use_id": "call_1", "content": [{"text": "18 degrees"}]}},
}
IMAGES: dict[str, Any] = {
    "gemini": {"type": "media", "mime_type": "image/png", "data": PIXEL},
    "openai": {"type": "image_url", "image_url": f"data:image/png;base64,{PIXEL}"},
    "bedrock": {"image": {"format": "png", "source": {"bytes": base64.b64decode(PIXEL)}}},
}
LINK = f"data:application/pdf;base64,{PDF}"
FILES: dict[str, Any] = {
    "gemini": {"type": "media", "mime_type": "application/pdf", "data": PDF},
    "openai": {"type": "input_file", "filename": "a.pdf", "file_data": LINK},
    "mistral": {"type": "document_url", "document_url": LINK},
    "anthropic": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
    },
    "bedrock": {
        "document": {"format": "pdf", "name": "a", "source": {"bytes": base64.b64decode(PDF)}}
    },
}
TAKING_FILES = ["openai", "responses", "anthropic", "bedrock claude", "gemini", "vertex"]


def plain(block: Any) -> Any:
    return block


def wrapped(block: Any) -> Any:
    """Return what ``content_blocks`` has for a block that langchain-core does not know."""
    return {"type": "non_standard", "value": block}


alone_and_wrapped = pytest.mark.parametrize("wrap", [plain, wrapped])


def sent(sandbox: Any, name: str, messages: list[BaseMessage]) -> str:
    """Return the accepted request of a wrapped model as JSON."""
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise").bind_tools([look])
    assert refusal(model, sandbox, messages) is None
    text = json.dumps(sandbox.requests[-1].body)
    return text.replace("-", "+").replace("_", "/") if name in ("gemini", "vertex") else text


@alone_and_wrapped
@pytest.mark.parametrize("form", RESULTS)
@pytest.mark.parametrize(
    "name", ["openai", "responses", "anthropic", "bedrock claude", "bedrock nova", "gemini", "groq"]
)
def test_a_result_in_any_form_answers_its_call(
    sandbox: Any, name: str, form: str, wrap: Any
) -> None:
    text = sent(sandbox, name, [Q, ASKED, HumanMessage([wrap(RESULTS[form])]), NEXT])
    assert "18 degrees" in text
    assert "No result" not in text


@pytest.mark.parametrize("form", ["bedrock", "bedrock, old"])
def test_bedrock_s_own_result_is_unchanged(sandbox: Any, form: str) -> None:
    bare, bodies = DESTINATIONS["bedrock claude"].model(sandbox).bind_tools([look]), []
    for model in (bare, mend(bare, on_error="raise")):
        assert refusal(model, sandbox, [Q, ASKED, HumanMessage([RESULTS[form]]), NEXT]) is None
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]


@alone_and_wrapped
@pytest.mark.parametrize("form", IMAGES)
@pytest.mark.parametrize(
    "name", ["openai", "responses", "anthropic", "bedrock claude", "gemini", "vertex", "mistral"]
)
def test_an_image_in_any_form_is_sent_as_an_image(
    sandbox: Any, name: str, form: str, wrap: Any
) -> None:
    assert PIXEL in sent(sandbox, name, [HumanMessage([TEXT, wrap(IMAGES[form])])])


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "bedrock claude", "gemini"])
def test_an_image_of_bedrock_in_a_result_is_sent_as_an_image(sandbox: Any, name: str) -> None:
    result = ToolMessage([IMAGES["bedrock"]], tool_call_id="call_1")
    assert PIXEL in sent(sandbox, name, [Q, ASKED, result, NEXT])


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("name", TAKING_FILES)
def test_a_document_in_any_form_is_sent_as_a_document(sandbox: Any, name: str, form: str) -> None:
    assert PDF in sent(sandbox, name, [HumanMessage([TEXT, FILES[form]])])


@pytest.mark.parametrize("name", ["bedrock claude", "vertex", "gemini", "openai"])
def test_a_document_of_anthropic_with_a_text_is_sent_as_its_text(sandbox: Any, name: str) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "the words"}
    block = {"type": "document", "source": source}
    messages = [Q, ASKED, ToolMessage([block], tool_call_id="call_1"), NEXT]
    assert "the words" in sent(sandbox, name, messages)


@pytest.mark.parametrize("name", ["openai", "groq", "gemini", "anthropic"])
def test_a_cache_marker_of_bedrock_is_left_out_for_others(sandbox: Any, name: str) -> None:
    text = sent(sandbox, name, [HumanMessage([TEXT, {"cachePoint": {"type": "default"}}])])
    assert "cachePoint" not in text


@pytest.mark.parametrize("name", ["bedrock claude", "bedrock llama", "bedrock invoke", "ollama"])
def test_a_link_that_the_class_cannot_send_is_named_in_a_text(sandbox: Any, name: str) -> None:
    """The classes raise ``ValueError``."""
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    assert "https://example.com/a.png" in sent(sandbox, name, [HumanMessage([TEXT, image])])


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "gemini"])
@pytest.mark.parametrize("held", [{"temp": 18}, {"content": [{"text": "18 degrees"}]}])
def test_data_under_the_key_of_a_result_is_no_result(sandbox: Any, name: str, held: Any) -> None:
    messages = [Q, ASKED, ToolMessage([{"tool_result": held}], tool_call_id="call_1"), NEXT]
    assert "18" in sent(sandbox, name, messages)


@pytest.mark.parametrize("name", TAKING_FILES)
def test_a_wrapped_file_of_openai_is_sent_as_a_document(sandbox: Any, name: str) -> None:
    """langchain-core converts such a file only outside of a block."""
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": LINK}}
    assert PDF in sent(sandbox, name, [HumanMessage([TEXT, wrapped(file)])])


@pytest.mark.parametrize("form", [*FILES, "file of openai"])
def test_a_second_repair_of_a_document_changes_nothing(sandbox: Any, form: str) -> None:
    file = {"type": "file", "file": {"filename": "a_b.pdf", "file_data": LINK}}
    block = FILES.get(form, file)
    model = mend(DESTINATIONS["bedrock claude"].model(sandbox), on_error="raise")
    once = list(prepare(model, [HumanMessage([block])], {}).messages)
    assert prepare(model, once, {}).changes == ()
    assert refusal(model, sandbox, once) is None


@pytest.mark.parametrize("name", ["openai", "responses", "groq", "gemini", "anthropic"])
def test_a_message_with_nothing_but_a_cache_marker_is_accepted(sandbox: Any, name: str) -> None:
    assert sent(sandbox, name, [HumanMessage([{"cachePoint": {"type": "default"}}]), NEXT])
