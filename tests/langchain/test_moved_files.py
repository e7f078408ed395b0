"""Images that move to another message, or that no message of the provider can hold."""

from __future__ import annotations

import base64
import json
import os
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_anthropic")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from PIL import Image

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from chatmend.transcript import is_unchanged
from tests.langchain.classes import DESTINATIONS
from tests.langchain.shapes import PIXEL, call

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from chatmend.sandbox import Sandbox

QUESTION, NEXT = HumanMessage("q"), HumanMessage("go on")
FORMS: dict[str, dict[str, Any]] = {
    "input_image": {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
    "media": {"type": "media", "mime_type": "image/png", "data": PIXEL},
    "mcp": {"type": "image", "mimeType": "image/png", "data": PIXEL, "annotations": None},
}
"""An image in a result; MCP's form is that of ``CallToolResult.model_dump()``."""


def noise() -> str:
    """A picture of 40 by 40 pixels that no text resembles."""
    file = BytesIO()
    Image.frombytes("RGB", (40, 40), os.urandom(4800)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def sent(sandbox: Sandbox, name: str, messages: list[BaseMessage]) -> str:
    """Send messages through the wrapped class; the body, after a check of a second repair."""
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    once = list(prepare(model, messages, {}).messages)
    assert is_unchanged(once, prepare(model, once, {}).messages)
    model.invoke(messages)
    return json.dumps(sandbox.requests[-1].body)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["cohere", "gemini", "openai", "anthropic"])
def test_the_image_of_a_result_is_sent(sandbox: Sandbox, name: str, form: str) -> None:
    answer = AIMessage("", tool_calls=[call()])
    result = ToolMessage([{"type": "text", "text": "x"}, FORMS[form]], tool_call_id="call_1")
    assert PIXEL[:40] in sent(sandbox, name, [QUESTION, answer, result, NEXT])


@pytest.mark.parametrize("name", ["cohere", "openrouter"])
def test_an_image_that_is_rewritten_becomes_standard_base64(sandbox: Sandbox, name: str) -> None:
    image = {"type": "image", "mime_type": "image/png", "base64": PIXEL.rstrip("=")}
    result = ToolMessage([image], tool_call_id="call_1")
    answer = AIMessage("", tool_calls=[call()])
    assert PIXEL in sent(sandbox, name, [QUESTION, answer, result, NEXT])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["cohere", "gemini", "openai", "anthropic"])
def test_the_image_of_a_result_without_its_call_is_sent(
    sandbox: Sandbox, name: str, form: str
) -> None:
    result = ToolMessage([FORMS[form]], tool_call_id="call_1")
    assert PIXEL[:40] in sent(sandbox, name, [QUESTION, AIMessage("a"), NEXT, result])


@pytest.mark.parametrize("name", ["bedrock nova", "openai", "anthropic 4.5", "mistral", "nvidia"])
def test_the_result_of_openais_image_tool_becomes_no_text(sandbox: Sandbox, name: str) -> None:
    picture = noise()
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": picture}
    answer = AIMessage([made, {"type": "text", "text": "Here."}], response_metadata={})
    assert picture[:60] not in sent(sandbox, name, [QUESTION, answer, NEXT])


@pytest.mark.parametrize("name", ["cohere", "nvidia"])
def test_an_image_of_an_answer_becomes_its_description(sandbox: Sandbox, name: str) -> None:
    picture = noise()
    block = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    metadata = {"model_provider": "google_genai"}
    answer = AIMessage(["Here.", block], response_metadata=metadata)
    body = sent(sandbox, name, [QUESTION, answer, NEXT])
    assert picture[:60] not in body
    assert "Image removed (PNG, 40 x 40" in body


BEDROCK = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PIXEL)}}}
"""An image of Bedrock's Converse API, which has no type."""
TEXT = {"type": "text", "text": "a"}
CALLED = AIMessage("", tool_calls=[call()])
FROM_BEDROCK = {"model_provider": "bedrock_converse"}
HISTORIES: dict[str, list[Any]] = {
    "user": [HumanMessage([TEXT, BEDROCK])],
    "answer": [QUESTION, AIMessage([TEXT, BEDROCK]), NEXT],
    "foreign": [QUESTION, AIMessage([TEXT, BEDROCK], response_metadata=FROM_BEDROCK), NEXT],
    "result": [QUESTION, CALLED, ToolMessage([TEXT, BEDROCK], tool_call_id="call_1"), NEXT],
}


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize(
    "name",
    [
        "openai",
        "responses",
        "mistral",
        "openrouter",
        "litellm openai",
        "litellm anthropic",
        "ollama",
        "bedrock invoke",
        "bedrock nova",
    ],
)
def test_an_image_in_bedrocks_own_format_crashes_no_class(
    sandbox: Sandbox, name: str, history: str
) -> None:
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    model.invoke(HISTORIES[history])
    assert not sandbox.refusals


@pytest.mark.parametrize("name", ["litellm anthropic", "litellm openai"])
def test_a_search_result_that_litellm_does_not_send_becomes_text(
    sandbox: Sandbox, name: str
) -> None:
    found = {"type": "search_result", "source": "u", "title": "t", "content": [TEXT]}
    result = ToolMessage([found], tool_call_id="call_1")
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    model.invoke([QUESTION, CALLED, result])
    assert "search_result" in json.dumps(sandbox.requests[-1].body["messages"][-1])


@pytest.mark.parametrize("name", ["anthropic", "vertex claude", "bedrock claude"])
def test_the_image_of_a_failed_tool_moves_behind_its_result(sandbox: Sandbox, name: str) -> None:
    """Claude refuses it: ``all content must be type 'text' if 'is_error' is true``."""
    image = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    failed = ToolMessage([{"type": "text", "text": "x"}, image], tool_call_id="call_1")
    asked = AIMessage("", tool_calls=[call()])
    for status in ("error", "success"):
        messages = [QUESTION, asked, failed.model_copy(update={"status": status}), NEXT]
        model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
        sent = prepare(model, messages, {"tools": [{"name": "look", "input_schema": {}}]}).messages
        assert (list(sent) == messages) is (status == "success")
        if status == "error":
            assert sent[2].status == "error"
            assert PIXEL not in str(sent[2])
            assert PIXEL in str(sent[3])
