"""Answers with ``output_version="v1"``: a cut stream may leave nothing, and converters drop blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_anthropic")
from langchain_core.messages import AIMessage, HumanMessage

from chatmend.langchain import mend, repair_messages
from tests.langchain.classes import DESTINATIONS
from tests.langchain.shapes import PIXEL, SIGNATURE

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

EMPTIED: list[list[Any]] = [
    [],
    [{"type": "text", "text": ""}],
    [{"type": "reasoning", "reasoning": "hm"}],
]


@pytest.mark.parametrize("content", EMPTIED)
@pytest.mark.parametrize(
    "name", ["anthropic", "bedrock claude", "bedrock invoke", "gemini", "responses", "openai"]
)
def test_an_emptied_answer_is_sent_as_a_list_of_blocks(
    sandbox: Sandbox, name: str, content: list[Any]
) -> None:
    metadata = {"output_version": "v1", "model_provider": "openai"}
    answer = AIMessage(content, response_metadata=metadata)
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    model.invoke([HumanMessage("q"), answer, HumanMessage("go on")])
    assert sandbox.requests
    assert not sandbox.refusals


SIGNED: list[Any] = [
    {"type": "text", "text": "It is mild"},
    {"type": "text", "text": "", "extras": {"signature": SIGNATURE}},
]
"""What remains of a stream of Gemini whose last part holds only the signature."""


def test_the_signature_in_the_empty_text_at_the_end_is_sent_to_gemini(sandbox: Sandbox) -> None:
    answer = AIMessage(SIGNED, response_metadata={"model_provider": "google_genai"})
    messages = [HumanMessage("q"), answer, HumanMessage("go on")]
    model = DESTINATIONS["gemini 3"].model(sandbox)
    bodies = []
    for one in (model, mend(model, on_error="raise")):
        one.invoke(messages)
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]
    assert SIGNATURE in json.dumps(bodies[0])


def test_the_same_text_is_removed_for_claude(sandbox: Sandbox) -> None:
    answer = AIMessage(SIGNED, response_metadata={"model_provider": "google_genai"})
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise")
    model.invoke([HumanMessage("q"), answer, HumanMessage("go on")])
    sent = sandbox.requests[-1].body["messages"][1]["content"]
    assert [block["text"] for block in sent] == ["It is mild"]


def test_a_merged_stream_of_magistral_begins_with_its_thinking(sandbox: Sandbox) -> None:
    thought: Any = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    answer = AIMessage(["", thought, "Mild."], response_metadata={"model_provider": "mistralai"})
    messages = [HumanMessage("q"), answer, HumanMessage("go on")]
    model = DESTINATIONS["mistral"].model(sandbox)
    with pytest.raises(Exception, match="must be leading"):
        model.invoke(messages)
    mend(model, on_error="raise").invoke(messages)
    content = sandbox.requests[-1].body["messages"][1]["content"]
    assert [part["type"] for part in content] == ["thinking", "text"]


_PROVIDERS = [None, "google_genai", "google_vertexai", "openai"]
_SOUND: Any = {"type": "audio", "base64": "UklGRiQAAABXQVZF", "mime_type": "audio/wav"}
_VIDEO: Any = {"type": "video", "base64": "AAAAIGZ0eXBpc29t", "mime_type": "video/mp4"}


@pytest.mark.parametrize("provider", _PROVIDERS)
@pytest.mark.parametrize("block", [_SOUND, _VIDEO], ids=lambda block: block["type"])
def test_audio_and_video_in_an_answer_reach_gemini(
    sandbox: Sandbox, block: Any, provider: str | None
) -> None:
    """langchain-google-genai drops both in answers in LangChain's own format."""
    metadata = {"output_version": "v1", **({"model_provider": provider} if provider else {})}
    answer = AIMessage([{"type": "text", "text": "Here."}, block], response_metadata=metadata)
    messages = [HumanMessage("q"), answer, HumanMessage("go on")]
    mend(DESTINATIONS["gemini"].model(sandbox), on_error="raise").invoke(messages)
    parts = sandbox.requests[-1].body["contents"][1]["parts"]
    kind, data = block["mime_type"], block["base64"]
    assert list(parts[1]["inlineData"].values()) == [data, kind]
    repaired = repair_messages(messages, target="gemini/gemini-2.5-flash")
    assert repair_messages(repaired, target="gemini/gemini-2.5-flash") == repaired


_LINK: Any = {"type": "image", "url": "https://example.com/a.png"}
_UNKNOWN: Any = {"type": "non_standard", "value": {"type": "hologram", "colour": "blue"}}


@pytest.mark.parametrize(
    ("block", "provider", "version", "expected"),
    [
        (_LINK, "openai", "v1", "https://example.com/a.png"),
        (_UNKNOWN, "openai", "v1", '"colour": "blue"'),
        (_UNKNOWN, "openai", None, '"colour": "blue"'),
        (_UNKNOWN, None, "v1", '"colour": "blue"'),
        (_UNKNOWN, None, None, '"colour": "blue"'),
    ],
)
def test_a_block_that_cannot_be_sent_to_gemini_becomes_text(
    sandbox: Sandbox, block: Any, provider: str | None, version: str | None, expected: str
) -> None:
    metadata = {"output_version": version, "model_provider": provider}
    answer = AIMessage(
        [{"type": "text", "text": "Here."}, block],
        response_metadata={key: value for key, value in metadata.items() if value},
    )
    model = mend(DESTINATIONS["gemini"].model(sandbox), on_error="raise")
    done = model.invoke([HumanMessage("q"), answer, HumanMessage("go on")])
    parts = sandbox.requests[-1].body["contents"][1]["parts"]
    assert expected in parts[1]["text"]
    (change,) = done.response_metadata["chatmend"]["changes"]
    assert (change["code"], change["applied"]) == ("PART002", True)


_FILE: Any = {"type": "file", "base64": "JVBERi0xLjQK", "mime_type": "application/pdf"}
_IMAGE: Any = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
_PLAIN: Any = {"type": "text-plain", "text": "It is mild.", "mime_type": "text/plain"}
_BLOCKS: dict[str, Any] = {
    PIXEL: _IMAGE,
    _SOUND["base64"]: _SOUND,
    _VIDEO["base64"]: _VIDEO,
    _FILE["base64"]: _FILE,
    "It is mild.": _PLAIN,
    "hologram": _UNKNOWN,
}
"""Each block by what must arrive of it."""
_TOLD = {"degrades", "drops"}


@pytest.mark.parametrize("content", _BLOCKS, ids=[block["type"] for block in _BLOCKS.values()])
@pytest.mark.parametrize("provider", [None, "openai", "google_genai", "bedrock_converse"])
@pytest.mark.parametrize("name", DESTINATIONS)
def test_no_block_is_lost_silently(
    sandbox: Sandbox, name: str, provider: str | None, content: str
) -> None:
    """It is sent, or the report tells what replaced it."""
    metadata = {"output_version": "v1", **({"model_provider": provider} if provider else {})}
    text = {"type": "text", "text": "Here."}
    answer = AIMessage([text, _BLOCKS[content]], response_metadata=metadata)
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    done = model.invoke([HumanMessage("q"), answer, HumanMessage("go on")])
    body = json.dumps(sandbox.requests[-1].body)
    changes = done.response_metadata.get("chatmend", {}).get("changes", [])
    told = {change["effect"] for change in changes if change["applied"]}
    # The SDK of Gemini writes base64 for addresses.
    assert content in body.replace("-", "+").replace("_", "/") or content in body or told & _TOLD
    assert not sandbox.refusals
