"""Files that a converter would drop or send in a form that the provider does not have."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from tests.langchain.classes import DESTINATIONS

PDF = "JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZz4+ZW5kb2JqCnRyYWlsZXI8PC9Sb290IDEgMCBSPj4="
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CALL = {"name": "look", "args": {}, "id": "aSKcLsksC", "type": "tool_call"}
IMAGE = {"type": "image", "base64": PNG, "mime_type": "image/png"}
IMAGE_URL = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
FILE = {"type": "file", "base64": PDF, "mime_type": "application/pdf"}
DOCUMENT_URL = {"type": "document_url", "document_url": f"data:application/pdf;base64,{PDF}"}
LINK = {"type": "file", "url": "https://example.org/a.pdf", "filename": "a.pdf"}
TEXT = {"type": "file", "base64": "aGVsbG8=", "mime_type": "text/plain"}


def _sent(sandbox: Any, name: str, messages: list[Any]) -> tuple[list[Any], list[str]]:
    """Return the messages that a wrapped model sends, and the codes of the changes."""
    answer = mend(DESTINATIONS[name].model(sandbox), on_error="raise").invoke(messages)
    report = answer.response_metadata.get("chatmend", {})
    body = sandbox.requests[-1].body
    return body["messages"], [change["code"] for change in report.get("changes", ())]


def _with(block: Any, role: str) -> list[Any]:
    if role == "user":
        return [HumanMessage([{"type": "text", "text": "q"}, block])]
    if role == "answer":
        return [
            HumanMessage("q"),
            AIMessage([{"type": "text", "text": "a"}, block]),
            HumanMessage("x"),
        ]
    result = ToolMessage([{"type": "text", "text": "t"}, block], tool_call_id=CALL["id"])
    return [HumanMessage("q"), AIMessage("", tool_calls=[CALL]), result]


@pytest.mark.parametrize(
    ("block", "role"),
    [(IMAGE_URL, "user"), (DOCUMENT_URL, "user"), (IMAGE, "user"), (IMAGE_URL, "result")],
)
def test_a_form_that_mistral_gets_is_unchanged(sandbox: Any, block: Any, role: str) -> None:
    _, codes = _sent(sandbox, "mistral", _with(block, role))
    assert codes == []


@pytest.mark.parametrize("role", ["user", "result", "answer"])
@pytest.mark.parametrize(
    ("block", "becomes"),
    [
        (FILE, DOCUMENT_URL),
        ({"type": "file", "file": {"file_data": DOCUMENT_URL["document_url"]}}, DOCUMENT_URL),
        (
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
            },
            DOCUMENT_URL,
        ),
        (LINK, {"type": "document_url", "document_url": LINK["url"], "document_name": "a.pdf"}),
        (TEXT, {"type": "text", "text": "hello"}),
    ],
)
def test_mistral_gets_a_file_in_its_own_form(
    sandbox: Any, role: str, block: Any, becomes: Any
) -> None:
    messages, codes = _sent(sandbox, "mistral", _with(block, role))
    assert codes == ["PART002"]
    assert becomes in messages[{"user": 0, "result": 2, "answer": 1}[role]]["content"]


def test_mistral_gets_the_image_of_a_result_in_its_own_form(sandbox: Any) -> None:
    messages, codes = _sent(sandbox, "mistral", _with(IMAGE, "result"))
    assert codes == ["PART002"]
    assert messages[2]["content"] == [{"type": "text", "text": "t"}, IMAGE_URL]


@pytest.mark.parametrize("block", [FILE, LINK, TEXT])
@pytest.mark.parametrize("name", ["groq", "openrouter"])
def test_a_file_in_an_answer_that_the_converter_would_drop_becomes_text(
    sandbox: Any, name: str, block: Any
) -> None:
    if name not in DESTINATIONS:
        pytest.skip("the package is not installed")
    messages, codes = _sent(sandbox, name, _with(block, "answer"))
    assert codes == ["PART002"]
    assert len(messages[1]["content"]) == 2


def test_openrouter_gets_the_image_of_an_answer_from_the_user(sandbox: Any) -> None:
    messages, codes = _sent(sandbox, "openrouter", _with(IMAGE, "answer"))
    assert set(codes) == {"IMG011"}
    assert IMAGE_URL in messages[2]["content"]
