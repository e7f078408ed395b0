"""Every promise holds with parts and keys of other providers and frameworks, and nothing of them is lost silently."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect
from tests.broken.tokens import silence
from tests.foreign_parts import CONVERSATIONS, faults
from tests.scale import examples
from tests.targets import ALL

CLAUDE, NOVA = "anthropic/claude-opus-4-8", "bedrock/us.amazon.nova-pro-v1:0"
STEP = examples(7, 1)


@pytest.mark.parametrize(("number", "place"), enumerate(ALL))
def test_the_promises_hold_with_parts_of_all_formats(number: int, place: tuple[str, str]) -> None:
    dialect, target = place
    for conversation in CONVERSATIONS[dialect][number % STEP :: STEP]:
        assert faults(conversation, target, dialect)[1] == [], conversation


def repaired(
    messages: list[Any], target: str, dialect: str
) -> tuple[list[Any], list[tuple[str, Effect]]]:
    done = chatmend.repair(messages, target, dialect=dialect)
    assert chatmend.repair(done.messages, target, dialect=dialect).messages is done.messages
    return done.messages, [(change.code, change.effect) for change in done.changes]


def answered(*blocks: dict[str, Any]) -> list[Any]:
    """A call of Anthropic's format with these blocks as its result."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "n", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": list(blocks)}
    return [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]


TEXT = {"type": "text", "text": "o"}


def test_a_reference_to_a_tool_stays_only_in_a_result() -> None:
    reference = {"type": "tool_reference", "tool_name": "n"}
    inside = [*answered(TEXT, reference)]
    tools = [{"name": "n", "input_schema": {"type": "object"}, "defer_loading": True}]
    assert chatmend.repair(inside, CLAUDE, tools=tools).messages is inside
    sent, changes = repaired(
        [{"role": "user", "content": [TEXT, reference]}], CLAUDE, "anthropic_messages"
    )
    assert sent[0]["content"] == [TEXT, {"type": "text", "text": "Reference to a tool: n"}]
    assert changes == [("PART001", Effect.DEGRADES)]


def test_an_upload_stays_only_in_a_message() -> None:
    upload = {"type": "container_upload", "file_id": "file_1"}
    outside = [{"role": "user", "content": [TEXT, upload]}]
    assert chatmend.repair(outside, CLAUDE).messages is outside
    sent, changes = repaired(answered(TEXT, upload), CLAUDE, "anthropic_messages")
    kept, replaced = sent[2]["content"][0]["content"]
    assert kept == TEXT
    assert "file_1" in replaced["text"]
    assert ("PART001", Effect.DEGRADES) in changes


@pytest.mark.parametrize(
    "block",
    [
        {"type": "search_result", "title": "t", "content": [TEXT]},
        {"type": "server_tool_use", "name": "web_search", "input": {"query": "q"}},
        {"type": "fallback", "from": {"model": "m"}},
    ],
)
def test_a_block_without_a_required_key_becomes_a_text(block: dict[str, Any]) -> None:
    question = {"role": "user", "content": "q"}
    messages = [question, {"role": "assistant", "content": [TEXT, block]}, question]
    sent, changes = repaired(messages, CLAUDE, "anthropic_messages")
    kept, replaced = sent[1]["content"]
    assert kept == TEXT
    assert block["type"] in replaced["text"]
    assert changes == [("PART001", Effect.DEGRADES)]


def test_a_cache_point_moves_behind_the_result_that_holds_it() -> None:
    point = {"cachePoint": {"type": "default"}}
    calls = [{"toolUse": {"toolUseId": one, "name": "n", "input": {}}} for one in ("a", "b")]

    def results(*more: dict[str, Any]) -> list[Any]:
        return [
            {"toolResult": {"toolUseId": "a", "content": [{"text": "o"}, *more]}},
            {"toolResult": {"toolUseId": "b", "content": [{"text": "o"}]}},
        ]

    asked = [
        {"role": "user", "content": [{"text": "q"}]},
        {"role": "assistant", "content": calls},
    ]
    messages = [*asked, {"role": "user", "content": results(point)}]
    target = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    sent, changes = repaired(messages, target, "bedrock_converse")
    assert sent[2]["content"] == [*results(), point]
    assert changes == [("CACHE002", Effect.RESHAPES)]


@pytest.mark.parametrize("content", ["a", None])
def test_a_spoken_answer_without_its_id_is_replaced_by_its_words(content: str | None) -> None:
    question = {"role": "user", "content": "q"}

    def conversation(**audio: Any) -> list[Any]:
        spoken = {"role": "assistant", "content": content, "audio": {"transcript": "w", **audio}}
        return [question, spoken, question]

    known = conversation(id="audio_1")
    assert chatmend.repair(known, "openai/gpt-4o-audio-preview").messages is known
    for broken in (conversation(), conversation(id=None)):
        sent, changes = repaired(broken, "openai/gpt-4o-audio-preview", "openai_chat")
        assert sent[1] == {"role": "assistant", "content": content or "w"}
        assert changes == [("KEY001", Effect.DROPS)]


def test_a_refusal_without_words_becomes_an_empty_text() -> None:
    question = {"role": "user", "content": "q"}
    said = {"type": "output_text", "text": "a"}
    answer = {"role": "assistant", "content": [said, {"type": "refusal"}]}
    sent, _ = repaired([question, answer, question], "openai/gpt-5", "openai_responses")
    assert sent[1]["content"] == [said, {"type": "output_text", "text": ""}]


@pytest.mark.parametrize("point", [{}, {"type": None}, {"type": "ephemeral"}])
def test_a_cache_point_gets_its_only_type(point: dict[str, Any]) -> None:
    text = {"text": "q"}
    sent, changes = repaired(
        [{"role": "user", "content": [text, {"cachePoint": point}]}], NOVA, "bedrock_converse"
    )
    assert sent[0]["content"] == [text, {"cachePoint": {"type": "default"}}]
    assert changes == [("CACHE002", Effect.RESHAPES)]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "reasoning", "text": "hm"},
        {"type": "thinking", "thinking": "hm"},
    ],
)
def test_the_text_of_reasoning_is_kept_for_ollama(part: dict[str, Any]) -> None:
    question = {"role": "user", "content": "q"}
    messages = [question, {"role": "assistant", "content": [part, TEXT]}, question]
    sent, _ = repaired(messages, "ollama/llama3.1", "ollama_chat")
    assert sent[1] == {"role": "assistant", "content": "o", "thinking": "hm"}


SPOKEN = {"type": "audio", "audio": {"id": "a1", "data": silence(), "transcript": "I said so."}}


def test_the_transcript_of_a_recording_becomes_a_text_before_it() -> None:
    asked = {"role": "user", "parts": [{"text": "q"}]}
    messages = [asked, {"role": "model", "parts": [SPOKEN]}, asked]
    sent, changes = repaired(messages, "gemini/gemini-2.5-flash", "gemini_contents")
    words, sound = sent[1]["parts"]
    assert words == {"text": "I said so."}
    assert sound["inlineData"]["mimeType"] == "audio/wav"
    assert changes == [("DOC004", Effect.RESHAPES)]


def test_the_transcript_stays_if_the_recording_is_removed() -> None:
    messages = [{"role": "user", "content": [{**SPOKEN, "type": "audio"}]}]
    sent, changes = repaired(messages, "openai/gpt-4o", "openai_chat")
    (said,) = sent[0]["content"]
    assert said["text"].startswith("I said so.\n\nAudio removed")
    assert changes == [("MEDIA001", Effect.DROPS)]


def test_the_name_of_a_file_that_gemini_cannot_take_is_reported() -> None:
    named = {"type": "file", "data": "JVBERi0xLjQK", "mediaType": "application/pdf"}
    for part, effect in ((named, Effect.RESHAPES), ({**named, "filename": "a.pdf"}, Effect.DROPS)):
        messages = [{"role": "user", "parts": [{"text": "q"}, part]}]
        _, changes = repaired(messages, "gemini/gemini-2.5-flash", "gemini_contents")
        assert ("DOC004", effect) in changes


CITATION = {
    "type": "web_search_result_location",
    "cited_text": "c",
    "url": "https://example.com",
    "title": None,
    "encrypted_index": "RW5j",
}


def test_a_citation_without_a_required_key_is_removed_and_reported() -> None:
    question = {"role": "user", "content": "q"}
    broken: list[Any] = [{"cited_text": "c"}, "c", {**CITATION, "url": None}]
    broken.append({key: CITATION[key] for key in CITATION if key != "encrypted_index"})

    def conversation(*citations: Any) -> list[Any]:
        answer = {"role": "assistant", "content": [{**TEXT, "citations": list(citations)}]}
        return [question, answer, question]

    whole = conversation(CITATION, {"type": "of_a_newer_type"})
    assert chatmend.repair(whole, CLAUDE).messages is whole
    for one in broken:
        sent, changes = repaired(conversation(CITATION, one), CLAUDE, "anthropic_messages")
        assert sent == conversation(CITATION)
        assert changes == [("KEY001", Effect.DROPS)]
        sent, _ = repaired(conversation(one), CLAUDE, "anthropic_messages")
        assert sent[1]["content"] == [TEXT]


def test_an_annotation_without_a_required_key_is_removed_and_reported() -> None:
    whole = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
    newer = {"type": "of_a_newer_type"}
    question = {"role": "user", "content": "q"}

    def conversation(*annotations: Any) -> list[Any]:
        text = {"type": "output_text", "text": "a", "annotations": list(annotations)}
        return [question, {"role": "assistant", "content": [text]}, question]

    accepted = conversation(whole, newer)
    assert chatmend.repair(accepted, "openai/gpt-5").messages is accepted
    for gone in ("start_index", "title", "type"):
        for broken in ({k: v for k, v in whole.items() if k != gone}, {**whole, gone: None}):
            messages = conversation(whole, broken)
            sent, changes = repaired(messages, "openai/gpt-5", "openai_responses")
            assert sent == conversation(whole)
            assert changes == [("ITEM003", Effect.DROPS)]


@pytest.mark.parametrize(
    ("target", "dialect", "code"),
    [("openai/gpt-5", "openai_responses", "PART001"), ("ollama/llama3.1", "ollama_chat", "MSG002")],
)
def test_citations_that_a_format_has_no_place_for_are_reported(
    target: str, dialect: str, code: str
) -> None:
    question = {"role": "user", "content": "q"}
    for citations, effect in (([], Effect.RESHAPES), ([{"cited_text": "c"}], Effect.DROPS)):
        answer = {"role": "assistant", "content": [{**TEXT, "citations": citations}]}
        _, changes = repaired([question, answer, question], target, dialect)
        assert changes == [(code, effect)]


@pytest.mark.parametrize(
    ("target", "dialect", "code"),
    [
        ("deepseek/deepseek-chat", "openai_chat", "TEXT003"),
        ("ollama/llama3.1", "ollama_chat", "MSG002"),
    ],
)
def test_citations_in_a_result_that_becomes_a_string_are_reported(
    target: str, dialect: str, code: str
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "n", "arguments": "{}"}}
    asked = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    for citations, effect in (([], Effect.RESHAPES), ([{"cited_text": "c"}], Effect.DROPS)):
        content = [{**TEXT, "citations": citations}]
        result = {"role": "tool", "tool_call_id": "c1", "content": content}
        sent, changes = repaired([*asked, result], target, dialect)
        assert sent[2]["content"] == "o"
        assert (code, effect) in changes


@pytest.mark.parametrize(
    ("target", "tools"),
    [("openai/gpt-4o", None), ("ollama/llama3.1", None), ("perplexity/sonar", [])],
)
def test_a_result_that_becomes_a_note_keeps_the_citations_of_its_texts(
    target: str, tools: list[Any] | None
) -> None:
    content = [TEXT, {**TEXT, "text": "b", "citations": [{"cited_text": "c"}]}]
    question = {"role": "user", "content": "q"}
    result = {"role": "tool", "tool_call_id": "call_of_nobody", "content": content}
    done = chatmend.repair([question, result], target, dialect="openai_chat", tools=tools)
    (said,) = (message for message in done.messages if "Recorded tool output" in str(message))
    assert "cited_text" in str(said)
    assert Effect.DROPS not in {change.effect for change in done.changes}


@pytest.mark.parametrize(
    "target",
    [
        "mistral/mistral-medium-latest",
        "xai/grok-4",
        "openrouter/openai/gpt-4.1",
        "dashscope/qwen-max",
    ],
)
def test_thinking_in_a_tool_message_becomes_its_text(target: str) -> None:
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "n", "arguments": "{}"}}
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "w"}], "closed": True}
    texts = [{"type": "text", "text": "o"}]
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "abcdefghi", "content": [*texts, chunk]},
    ]
    sent, changes = repaired(messages, target, "openai_chat")
    assert [part["type"] for part in sent[2]["content"]] == ["text", "text"]
    assert '"w"' in sent[2]["content"][1]["text"]
    assert ("PART001", Effect.DEGRADES) in changes
