"""Content blocks that a partner's converter cannot send become other blocks or text."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import product
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

import chatmend
from chatmend import Effect, Policy
from chatmend.langchain import mend, repair_messages
from chatmend.langchain.partners import (
    _is_before,
    _partners,
    find_destination,
    find_destination_by_name,
)
from chatmend.langchain.settings import RepairSettings
from chatmend.targets.converter_limits import ConverterLimits
from tests.langchain.classes import DESTINATIONS
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.fuzz import refusal, transcript
from tests.langchain.repairing import repaired
from tests.langchain.shapes import PIXEL, SHAPES, call
from tests.scale import sampled

ALL = pytest.mark.parametrize("name", CONFIGURATIONS)
NEXT = HumanMessage("go on")
_LINKED = {"anthropic image by url", "v1 image by url", "v1 video"}
"""Shapes with a link; one partner package downloads them itself."""
SENT = list(product(sorted(SHAPES.keys() - _LINKED), CONFIGURATIONS))


def sent(messages: list[BaseMessage], target: str, **policy: Any) -> list[Any]:
    settings = RepairSettings(Policy(**policy) if policy else None, on_error="raise")
    return repaired(messages, find_destination_by_name(target), settings).messages


@pytest.mark.parametrize(("shape", "name"), sampled(SENT, SENT[::3]))
def test_a_message_of_every_shape_is_accepted(sandbox: Any, name: str, shape: str) -> None:
    model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
    messages = [HumanMessage("q"), SHAPES[shape], AIMessage("a"), NEXT]
    assert refusal(model, sandbox, messages) is None


@ALL
@pytest.mark.parametrize("wire", ["openai_chat", "anthropic_messages", "langchain"])
@pytest.mark.parametrize("seed", [4, 9, 20])
def test_broken_transcripts_are_accepted(sandbox: Any, name: str, wire: str, seed: int) -> None:
    model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
    assert refusal(model, sandbox, transcript(seed, wire)) is None


@pytest.mark.parametrize(
    "shape", ["plain user", "image url", "refusal", "reasoning content", "openai file"]
)
def test_blocks_that_openai_accepts_are_unchanged(shape: str) -> None:
    messages = (
        [SHAPES[shape], NEXT] if SHAPES[shape].type == "human" else [NEXT, SHAPES[shape], NEXT]
    )
    assert sent(messages, "openai/gpt-4o") is messages


def test_a_block_of_unknown_type_is_kept_in_an_answer_of_claude() -> None:
    answer = AIMessage(
        [{"type": "brand_new", "x": 1}], response_metadata={"model_provider": "anthropic"}
    )
    messages: list[BaseMessage] = [NEXT, answer, NEXT]
    assert sent(messages, "anthropic/claude-haiku-4-5") is messages


def test_a_block_of_unknown_type_from_another_model_becomes_text_for_claude() -> None:
    (_, answer, _) = sent(
        [NEXT, AIMessage([{"type": "brand_new", "x": 1}]), NEXT], "anthropic/claude-haiku-4-5"
    )
    assert answer.content == [{"type": "text", "text": '{"type": "brand_new", "x": 1}'}]


def test_plain_text_blocks_become_text_blocks() -> None:
    blocks = [{"type": "text-plain", "text": "one"}, {"type": "text-plain", "base64": "dHdv"}]
    (message, _) = sent([HumanMessage(blocks), NEXT], "openai/gpt-4o")
    assert message.content == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]


def test_a_video_becomes_text_without_its_bytes_and_is_reported_as_dropped() -> None:
    video = {"type": "video", "base64": "QUJD" * 99, "mime_type": "video/mp4"}
    done = repaired(
        [HumanMessage([video]), NEXT],
        find_destination_by_name("openai/gpt-4o"),
        RepairSettings(on_error="raise"),
    )
    text = "Video removed (video/mp4, 297 bytes): the model does not take it in this form."
    assert done.messages[0].content == [{"type": "text", "text": text}]
    assert [(change.code, change.effect) for change in done.changes] == [("PART002", Effect.DROPS)]
    assert chatmend.replay([HumanMessage([video]), NEXT], done.changes) == done.messages


def test_a_video_is_kept_if_the_policy_does_not_allow_drops() -> None:
    messages: list[BaseMessage] = [
        HumanMessage([{"type": "video", "base64": "QUJD", "mime_type": "video/mp4"}])
    ]
    settings = RepairSettings(Policy(allow=Effect.DEGRADES), on_error="raise")
    done = repaired(messages, find_destination_by_name("openai/gpt-4o"), settings)
    assert done.messages is messages
    assert {(change.code, change.applied) for change in done.changes} == {
        ("PART002", False),
        ("MEDIA001", False),
    }


def test_audio_is_refused_for_a_model_whose_profile_excludes_audio_input(sandbox: Any) -> None:
    model = CONFIGURATIONS["openai"].model(sandbox)
    if not isinstance(model.profile, dict) or model.profile.get("audio_inputs") is not False:
        pytest.skip("in this version of the package, the profile does not exclude audio input")
    assert "input_audio" in find_destination(model, {}).converter.user_refuses
    assert (
        "input_audio" not in find_destination(model, {"model": "gpt-audio"}).converter.user_refuses
    )


@pytest.mark.parametrize("role", [HumanMessage, ToolMessage])
def test_audio_does_not_make_the_converter_for_bedrock_raise(sandbox: Any, role: Any) -> None:
    """No limit of Mistral's models excludes audio, but the partner package cannot send it."""
    audio = {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}
    fields = {"tool_call_id": "abcdefgh1"} if role is ToolMessage else {}
    asked = [NEXT, AIMessage("", tool_calls=[call("abcdefgh1")])] if fields else []
    model = DESTINATIONS["bedrock mistral"].model(sandbox)
    assert (
        refusal(mend(model, on_error="raise"), sandbox, [*asked, role([audio], **fields)]) is None
    )
    assert "Audio removed (audio/wav, 3 bytes)" in json.dumps(sandbox.requests[-1].body)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "redacted_thinking", "data": "AA=="},
        {"type": "refusal", "refusal": "no"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "tool_call", "id": "c", "name": "f", "args": {}},
    ],
    ids=lambda block: block["type"],
)
def test_blocks_of_other_providers_do_not_make_the_converter_for_bedrock_raise(
    sandbox: Any, block: dict[str, Any]
) -> None:
    """Converters before langchain-aws 1.7.3 raise for unknown blocks, newer ones drop them."""
    calls = [call("c", "f")] if "call" in block["type"] else []
    results = [ToolMessage("done", tool_call_id="c")] if calls else []
    answer = AIMessage([{"type": "text", "text": "kept"}, block], tool_calls=calls)
    model = DESTINATIONS["bedrock claude"].model(sandbox)
    messages = [NEXT, answer, *results, NEXT]
    assert refusal(mend(model, on_error="raise"), sandbox, messages) is None
    assert "kept" in json.dumps(sandbox.requests[-1].body)


def test_a_search_result_of_a_user_reaches_bedrock(sandbox: Any) -> None:
    """Converters before langchain-aws 1.6.3 raise for it; it is sent as text then."""
    found = {
        "type": "search_result", "source": "https://e.example", "title": "t",
        "content": [{"type": "text", "text": "found it"}], "citations": {"enabled": False},
    }  # fmt: skip
    model = DESTINATIONS["bedrock claude"].model(sandbox)
    assert refusal(mend(model, on_error="raise"), sandbox, [HumanMessage([found])]) is None
    assert "found it" in json.dumps(sandbox.requests[-1].body)


def test_limits_of_older_versions_apply_below_their_version() -> None:
    assert _is_before("langchain-core", "999")
    assert not _is_before("langchain-core", "0.1")
    assert not _is_before("not-installed", "999")
    known = {field.name for field in fields(ConverterLimits)}
    for row in _partners().values():
        for older in row.get("older", ()):
            assert older["carries"].keys() | set(older.get("unlimited", ())) <= known


def test_a_block_whose_type_is_not_a_string_does_not_fail_the_call(sandbox: Any) -> None:
    model = CONFIGURATIONS["openai"].model(sandbox)
    messages = [HumanMessage([{"type": ["text"], "text": "hello"}])]
    with pytest.raises(TypeError, match="unhashable"):
        model.invoke(messages)
    assert "hello" in mend(model, on_error="raise").invoke(messages).text


def test_reasoning_at_the_end_of_an_answer_is_not_sent_back() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    complete = AIMessage([thought, {"type": "text", "text": "hi", "id": "msg_1"}])
    broken_off = AIMessage([{"type": "text", "text": "hi", "id": "msg_1"}, thought])
    kept: list[BaseMessage] = [NEXT, complete, NEXT]
    assert sent(kept, "openai/responses/gpt-5") is kept
    assert (
        sent([NEXT, broken_off, NEXT], "openai/responses/gpt-5")[1].content
        == broken_off.content[:1]
    )


def test_a_call_that_a_foreign_block_repeats_is_sent_once() -> None:
    block = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "call_1",
        "name": "look",
        "input": "x",
    }
    answer = AIMessage(
        [{"type": "text", "text": "hm"}, block], tool_calls=[call("call_1", __arg1="x")]
    )
    result = ToolMessage("18", tool_call_id="call_1")
    (_, sent_answer, _) = sent([NEXT, answer, result], "openai/gpt-4o")
    assert sent_answer.content == [{"type": "text", "text": "hm"}]
    assert sent_answer.tool_calls == answer.tool_calls


def test_keys_of_another_provider_that_make_the_converter_raise_are_dropped() -> None:
    answer = AIMessage("hi", additional_kwargs={"reasoning": "hm", "audio": None, "other": 1})
    (_, sent_answer, _) = sent([NEXT, answer, NEXT], "openai/responses/gpt-5")
    assert sent_answer.additional_kwargs == {"other": 1}
    assert answer.additional_kwargs["reasoning"] == "hm"


def test_calls_come_after_the_thinking_that_led_to_them() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmF0dXJl"}
    answer = AIMessage([use, thought], tool_calls=[call("toolu_1")])
    anthropic = pytest.importorskip("langchain_anthropic")
    messages = sent(
        [NEXT, answer, ToolMessage("18", tool_call_id="toolu_1")], "anthropic/claude-haiku-4-5"
    )
    model = anthropic.ChatAnthropic(model="claude-haiku-4-5", api_key="k")
    body = model._get_request_payload(messages)
    assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "tool_use"]


def test_a_call_that_is_not_an_object_is_kept_as_text() -> None:
    given = [
        {"role": "assistant", "content": "x", "tool_calls": ["look at it"]},
        {"role": "user", "content": "q"},
    ]
    (sent_answer, *_) = repair_messages(
        given, target="anthropic/claude-haiku-4-5", on_error="raise"
    )
    assert "look at it" in str(sent_answer.model_dump())


LINK = "https://example.com/a"
BYTES = {
    "image": (PIXEL, "image/png"),
    "file": ("JVBERi0xLjQK", "application/pdf"),
    "audio": ("UklGRg==", "audio/wav"),
    "video": ("AAAA", "video/mp4"),
    "text-plain": ("eA==", "text/plain"),
}
"""LangChain's own blocks with an image or a file: data and media type of each."""


_OLD = ("image", "file", "audio")
"""The kinds that LangChain had before version 1."""


def forms(kind: str) -> dict[str, dict[str, Any]]:
    """Return every form of such a block, and blocks that lack the image or file."""
    data, mime_type = BYTES[kind]
    label = {"mime_type": mime_type}
    held = {
        "bytes": {"base64": data, **label},
        "bytes without a media type": {"base64": data},
        "link": {"url": LINK, **label},
        "data URL": {"url": f"data:{mime_type};base64,{data}"},
        "id": {"file_id": "file_1"},
        "nothing": {},
        "only a media type": {"id": "lc_1", **label},
    }
    old = {
        "old bytes": {"source_type": "base64", "data": data, **label},
        "old link": {"source_type": "url", "url": LINK},
        "old id": {"source_type": "id", "id": "file_1"},
    }
    empty = {
        f"{key}: {value!r}": {key: value}
        for key in ("base64", "url", "file_id", "data", "file", "source")
        for value in (None, "", {})
    }
    return {
        name: {"type": kind, **keys}
        for name, keys in (held | (old if kind in _OLD else {}) | empty).items()
    }


FILES = {(kind, name): block for kind in BYTES for name, block in forms(kind).items()}
PLACED = list(product(FILES, ("user", "answer", "result"), DESTINATIONS))
_DOWNLOADING = ("gemini", "gemini 3", "vertex claude")
"""They fetch what a link points to, in the process of the user."""


def history(origin: str, block: dict[str, Any]) -> list[BaseMessage]:
    """Return messages with a text and a block from the user, in an answer or in a tool result."""
    content: list[str | dict[str, Any]] = [{"type": "text", "text": "look"}, block]
    if origin == "user":
        return [HumanMessage(content)]
    if origin == "answer":
        return [NEXT, AIMessage(content), NEXT]
    calls = AIMessage("", tool_calls=[call()])
    return [NEXT, calls, ToolMessage(content, tool_call_id="call_1")]


@pytest.mark.parametrize(
    ("kind", "name", "target"),
    [
        ("file", "link", "anthropic/claude-haiku-4-5"),
        ("file", "link", "openai/responses/gpt-5"),
        ("file", "link", "openrouter/anthropic/claude-opus-4-8"),
        ("video", "link", "openrouter/google/gemini-2.5-pro"),
        ("file", "bytes", "gemini/gemini-2.5-flash"),
        ("file", "bytes", "openai/gpt-4o"),
        ("file", "id", "openai/gpt-4o"),
        ("image", "data URL", "openai/gpt-4o"),
        ("image", "link", "mistral/mistral-large-latest"),
    ],
)
def test_a_form_that_the_converter_can_send_is_unchanged(kind: str, name: str, target: str) -> None:
    messages = history("user", FILES[kind, name])
    assert sent(messages, target) is messages


def test_gemini_2_takes_files_next_to_a_tool_result() -> None:
    messages = history("result", FILES["file", "bytes"])
    assert sent(messages, "gemini/gemini-2.5-flash") is messages


@pytest.mark.parametrize(("form", "origin", "name"), sampled(PLACED, PLACED[::61]))
def test_no_form_of_an_image_or_file_is_refused(
    sandbox: Any, form: tuple[str, str], origin: str, name: str
) -> None:
    if "link" in form[1] and name in _DOWNLOADING:
        pytest.skip("the partner class downloads the file")
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    assert refusal(model, sandbox, history(origin, FILES[form])) is None


def test_an_empty_file_is_found_after_a_full_one_of_the_same_structure() -> None:
    label = {"type": "file", "mime_type": "application/pdf"}
    full, empty = ({**label, "base64": data} for data in ("JVBERi0xLjQK", ""))
    for _ in range(3):
        messages = history("user", full)
        assert sent(messages, "openai/gpt-4o") is messages
    (message,) = sent(history("user", empty), "openai/gpt-4o")
    assert [block["type"] for block in message.content] == ["text", "text"]


def test_the_text_in_place_of_a_link_names_it() -> None:
    (message,) = sent(history("user", FILES["file", "link"]), "openai/gpt-4o")
    assert LINK in message.content[1]["text"]


@pytest.mark.parametrize("kind", ["file", "image"])
def test_files_of_a_tool_result_follow_it_for_gemini_3(kind: str) -> None:
    """langchain-google-genai makes separate parts of them, which Gemini 3 refuses there."""
    block = FILES[kind, "bytes"]
    found = sent(history("result", block), "gemini/gemini-3-pro-preview")
    assert [message.type for message in found] == ["human", "ai", "tool", "human"]
    assert block not in found[2].content
    assert block in found[3].content


SOURCE = {"type": "text", "media_type": "text/plain", "data": "Its text."}
TITLED = {"title": "TITLE", "context": "CONTEXT"}


@pytest.mark.parametrize(
    ("block", "sent"),
    [
        ({"type": "document", "source": SOURCE}, "Its text."),
        ({"type": "text-plain", "text": "Its text."}, "Its text."),
        ({"type": "text-plain", "text": "Its text.", "title": ""}, "Its text."),
        (
            {"type": "document", "source": SOURCE, **TITLED},
            "Document TITLE:\nContext: CONTEXT\nIts text.",
        ),
        (
            {"type": "text-plain", "text": "Its text.", **TITLED},
            "Document TITLE:\nContext: CONTEXT\nIts text.",
        ),
        ({"type": "text-plain", "base64": "SQ==", "title": "TITLE"}, "Document TITLE:\nI"),
        (
            {"type": "text-plain", "text": "Its text.", "extras": {"context": "CONTEXT"}},
            "Document:\nContext: CONTEXT\nIts text.",
        ),
    ],
)
def test_title_and_context_of_a_text_file_precede_its_text(
    sandbox: Any, block: dict[str, Any], sent: str
) -> None:
    model = mend(
        CONFIGURATIONS["openai"].model(sandbox),
        on_error="raise",
        policy=Policy(allow=Effect.RESHAPES),
    )
    answer = model.invoke([HumanMessage([block, {"type": "text", "text": "q"}])])
    (message,) = sandbox.requests[-1].body["messages"]
    assert [part["text"] for part in message["content"]] == [sent, "q"]
    changes = answer.response_metadata["chatmend"]["changes"]
    assert [(change["effect"], change["applied"]) for change in changes] == [("reshapes", True)]
    repaired = repair_messages([HumanMessage([block])], target="openai/gpt-4o", on_error="raise")
    assert repair_messages(repaired, target="openai/gpt-4o", on_error="raise") is repaired
