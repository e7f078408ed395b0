"""Conversations are sent through the two classes of langchain-google-vertexai.

Its converters differ from those of langchain-google-genai and langchain-anthropic. ``make check`` runs
this file in the environment of ``make test-langchain``, the only one with the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_google_vertexai")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from chatmend.langchain import mend, repair_messages
from chatmend.sandbox import Sandbox
from tests.langchain.classes import DESTINATIONS
from tests.langchain.shapes import PIXEL, SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages import BaseMessage

GEMINI, CLAUDE = ("vertex", "vertex 3"), "vertex claude"
IMAGE = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
LINK = f"data:image/png;base64,{PIXEL}"
CALL: Any = {"name": "look", "args": {"at": "Paris"}, "id": "call_1", "type": "tool_call"}
Q, NEXT = HumanMessage("Where?"), HumanMessage("And now?")


def look(at: str) -> str:
    """Look at a place."""
    return at


def called(content: Any = "", **more: Any) -> AIMessage:
    """Return an answer with a call."""
    return AIMessage(content, tool_calls=[CALL], **more)


def result(content: Any = "18") -> ToolMessage:
    """Return the result of the call."""
    return ToolMessage(content, tool_call_id="call_1")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Any]:
    with Sandbox() as running:
        yield running


def sent(sandbox: Any, name: str, history: list[BaseMessage], *, bind: bool = True) -> Any:
    """Send a history through a wrapped model, and return the body, which was accepted."""
    sandbox.clear()
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    (model.bind_tools([look]) if bind else model).invoke(history)
    assert not sandbox.refusals
    return sandbox.requests[-1].body


CLEAN: dict[str, list[BaseMessage]] = {
    "texts": [SystemMessage("Be brief."), Q, AIMessage("There."), NEXT],
    "an exchange": [Q, called(), result(), AIMessage("18."), NEXT],
    "an image": [HumanMessage([{"type": "text", "text": "See"}, IMAGE]), AIMessage("I see."), NEXT],
}


@pytest.mark.parametrize("history", CLEAN)
@pytest.mark.parametrize("name", ["vertex", CLAUDE])
def test_a_clean_conversation_is_sent_as_by_the_class_alone(
    sandbox: Any, name: str, history: str
) -> None:
    body = sent(sandbox, name, CLEAN[history])
    DESTINATIONS[name].model(sandbox).bind_tools([look]).invoke(CLEAN[history])
    assert body == sandbox.requests[-1].body


@pytest.mark.parametrize("between", [[], [SystemMessage("Be brief.")]])
def test_gemini_3_gets_results_without_a_text_beside_them(sandbox: Any, between: Any) -> None:
    """ChatVertexAI sends a result and the user message after it as one content."""
    body = sent(sandbox, "vertex 3", [Q, called(), result(), *between, NEXT])
    roles = [content["role"] for content in body["contents"]]
    assert roles == ["user", "model", "user", "model", "user"]
    assert [*body["contents"][2]["parts"][0]] == ["functionResponse"]
    assert body["contents"][4]["parts"][-1] == {"text": "And now?"}


@pytest.mark.parametrize("name", GEMINI)
@pytest.mark.parametrize(
    ("block", "kept"),
    [
        ({"type": "custom_tool_call", "call_id": "call_1", "name": "look", "input": "x"}, ""),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, ""),
        ({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}, "web_search"),
        ({"type": "image_url", "image_url": LINK}, PIXEL),
    ],
)  # fmt: skip
def test_blocks_on_which_chatvertexai_raises_are_sent(
    sandbox: Any, name: str, block: dict[str, Any], kept: str
) -> None:
    body = sent(sandbox, name, [Q, called([block]), result(), AIMessage("18."), NEXT])
    parts = [part for content in body["contents"] for part in content["parts"]]
    assert [part["functionCall"]["name"] for part in parts if "functionCall" in part] == ["look"]
    others = [part for part in parts if part.keys() & {"text", "inlineData"}]
    said = ["Where?", "18.", "And now?"]
    extra = [part for part in others if part.get("text") not in said]
    assert len(extra) == bool(kept)
    assert kept in str(extra)


@pytest.mark.parametrize("name", GEMINI)
def test_the_blocks_of_a_result_are_not_joined_with_their_types(sandbox: Any, name: str) -> None:
    """ChatVertexAI would send the type ``texttext``, and raise if one block is an image."""
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}, IMAGE]
    body = sent(sandbox, name, [Q, called(), result(blocks), AIMessage("18."), NEXT])
    response = body["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert response["content"].startswith("one\n\ntwo")
    assert "texttext" not in str(body)
    assert PIXEL in str(body)


def test_undeclared_tools_are_declared_to_claude(sandbox: Any) -> None:
    """``ChatAnthropicVertex.bind_tools`` raises for a tool without a description."""
    body = sent(sandbox, CLAUDE, [Q, called(), result(), AIMessage("18."), NEXT], bind=False)
    assert [tool["name"] for tool in body["tools"]] == ["look"]


SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "x"},
}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


@pytest.mark.parametrize(
    ("answer", "types"),
    [
        # The class removes the id of the call.
        (AIMessage([SEARCH, FOUND, {"type": "text", "text": "Mild."}]), ["text"] * 3),
        (called([{"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}]), ["tool_use"]),
        (called([CALL], response_metadata={"output_version": "v1", "model_provider": "openai"}), ["tool_use"]),
    ],
)  # fmt: skip
def test_blocks_that_claude_would_refuse_are_sent_in_another_form(
    sandbox: Any, answer: AIMessage, types: list[str]
) -> None:
    results = [result()] if answer.tool_calls else []
    body = sent(sandbox, CLAUDE, [Q, answer, *results, AIMessage("18."), NEXT])
    assert [block["type"] for block in body["messages"][1]["content"]] == types


def test_thinking_of_the_class_itself_stays_signed(sandbox: Any) -> None:
    """Answers of ChatAnthropicVertex do not name their provider."""
    thought = {"type": "reasoning", "reasoning": "hm", "extras": {"signature": SIGNATURE}}
    answer = AIMessage(
        [thought, {"type": "text", "text": "Mild."}], response_metadata={"output_version": "v1"}
    )
    body = sent(sandbox, CLAUDE, [Q, answer, NEXT])
    assert body["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "hm",
        "signature": SIGNATURE,
    }


def test_an_image_as_a_link_in_a_result_reaches_claude(sandbox: Any) -> None:
    linked = [{"type": "image_url", "image_url": {"url": LINK}}]
    body = sent(sandbox, CLAUDE, [Q, called(), result(linked), AIMessage("18."), NEXT])
    assert body["messages"][2]["content"][0]["content"][0]["source"]["data"] == PIXEL


def test_later_system_messages_are_sent_where_they_are(sandbox: Any) -> None:
    """ChatAnthropicVertex raises for system messages that are not all at the beginning."""
    history = [SystemMessage("One."), Q, AIMessage("There."), NEXT, SystemMessage("Two.")]
    body = sent(sandbox, CLAUDE, history)
    assert body["system"][0]["text"] == "One."
    assert "Two." in str(body["messages"][-1])


@pytest.mark.parametrize("name", [*GEMINI, CLAUDE])
def test_repairs_are_looked_for_in_the_payload(
    sandbox: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise").bind_tools([look])
    answer = model.invoke([Q, called("\u00c7a va \u201cbien\u201d"), NEXT])
    changes = answer.response_metadata["chatmend"]["changes"]
    assert {change["code"]: change["applied"] for change in changes}["TOOL007"]
    assert not caplog.records


@pytest.mark.parametrize("name", [*GEMINI, CLAUDE])
def test_a_repair_that_is_not_sent_is_reported_as_not_applied(sandbox: Any, name: str) -> None:
    model = DESTINATIONS[name].model(sandbox)
    method = "_format_params" if name == CLAUDE else "_prepare_request_gemini"

    def send_a_question(self: Any, *, messages: Any, **more: Any) -> Any:
        return getattr(super(type(model), self), method)(messages=messages[:1], **more)

    model.__class__ = type("Forgetful", (type(model),), {method: send_a_question})
    answer = mend(model).bind_tools([look]).invoke([Q, called(), NEXT])
    changes = answer.response_metadata["chatmend"]["changes"]
    assert [change["applied"] for change in changes if change["code"] == "TOOL007"] == [False]


AUDIO = {"type": "audio", "base64": "UklGRiQAAABXQVZF", "mime_type": "audio/wav"}
PDF = {"type": "file", "base64": "JVBERi0xLjQK", "mime_type": "application/pdf"}


@pytest.mark.parametrize("provider", [None, "google_vertexai", "google_genai", "openai"])
@pytest.mark.parametrize("version", [None, "v1"])
@pytest.mark.parametrize("block", [IMAGE, AUDIO, PDF], ids=lambda block: block["type"])
def test_a_file_in_an_answer_is_sent_in_each_format_of_the_content(
    sandbox: Any, block: Any, version: str | None, provider: str | None
) -> None:
    """The class drops LangChain's own blocks with files from answers in LangChain's own format."""
    metadata = {"output_version": version, "model_provider": provider}
    answer = AIMessage(
        [{"type": "text", "text": "Here."}, block],
        response_metadata={key: value for key, value in metadata.items() if value},
    )
    history = [Q, answer, NEXT]
    parts = sent(sandbox, "vertex", history, bind=False)["contents"][1]["parts"]
    assert parts[1]["inlineData"]["data"] == block["base64"]
    repaired = repair_messages(history, target="vertex_ai/gemini-2.5-flash")
    assert repair_messages(repaired, target="vertex_ai/gemini-2.5-flash") == repaired
