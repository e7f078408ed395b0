"""Words that are not in the content (``refusal``, the transcript of ``audio``, ``text``) are never lost silently."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend import Effect
from chatmend.litellm.conversion import target_through_litellm
from tests.promises import broken_promises
from tests.targets import OPENAI_CHAT

WORDS = "I cannot help with that."
RECORDING = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1729234747, "transcript": WORDS}
REFUSAL = {"role": "assistant", "content": None, "refusal": WORDS}
SPOKEN = {"role": "assistant", "content": None, "audio": RECORDING}
REFERENCE = {"role": "assistant", "audio": {"id": "audio_1"}}
"""An earlier spoken answer, as OpenAI documents it for requests."""
KNOWN = [target for target in OPENAI_CHAT if target != "other"]


def _asked(*answers: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "hi"},
        *answers,
        {"role": "user", "content": "bye"},
    ]


@pytest.mark.parametrize(
    "answer", [REFUSAL, SPOKEN, REFERENCE], ids=["refusal", "spoken", "reference"]
)
@pytest.mark.parametrize("target", ["openai/gpt-4o", "openai/gpt-4o-audio-preview", "azure/gpt-4o"])
def test_openai_reads_these_keys(target: str, answer: dict[str, Any]) -> None:
    messages = _asked(answer)
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("answer", [REFUSAL, SPOKEN], ids=["refusal", "spoken"])
@pytest.mark.parametrize(
    "target", [one for one in KNOWN if not one.startswith(("openai/", "azure/"))]
)
def test_elsewhere_they_become_the_content(target: str, answer: dict[str, Any]) -> None:
    done = chatmend.repair(_asked(answer), target)
    assert done.messages[1]["content"] == WORDS
    assert "refusal" not in done.messages[1]


@pytest.mark.parametrize(
    "target", ["mistral/mistral-medium-latest", "groq/llama-3.3-70b-versatile"]
)
@pytest.mark.parametrize("content", [None, "", [], [{"type": "text", "text": " "}]])
def test_a_refused_key_leaves_its_words(target: str, content: object) -> None:
    done = chatmend.repair(_asked({**REFUSAL, "content": content}), target)
    listed = isinstance(content, list)
    sent = [{"type": "text", "text": WORDS}] if listed else WORDS
    assert done.messages[1] == {"role": "assistant", "content": sent}
    assert all(change.effect < Effect.DROPS for change in done.changes)


@pytest.mark.parametrize(
    "target", ["mistral/mistral-medium-latest", "groq/llama-3.3-70b-versatile"]
)
def test_next_to_other_content_they_are_reported(target: str) -> None:
    done = chatmend.repair(_asked({**REFUSAL, "content": "Sorry."}), target)
    assert done.messages[1] == {"role": "assistant", "content": "Sorry."}
    assert [change.effect for change in done.changes] == [Effect.DROPS]


@pytest.mark.parametrize("target", ["openai/responses/gpt-5", "openai/gpt-5"])
def test_litellm_drops_answers_without_content_on_its_way_to_the_responses_api(target: str) -> None:
    done = chatmend.repair(_asked(REFUSAL), target_through_litellm(target))
    assert done.messages[1] == {"role": "assistant", "content": WORDS}


@pytest.mark.parametrize("target", OPENAI_CHAT)
def test_the_promises_hold(target: str) -> None:
    call = {
        "id": "call_aaaaaaaaa",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
    }
    result = {"role": "tool", "tool_call_id": "call_aaaaaaaaa", "content": "18"}
    for answer in (REFUSAL, SPOKEN, {**SPOKEN, "content": ""}, {**REFUSAL, "content": " "}):
        late = [{"role": "assistant", "content": None, "tool_calls": [call]}, answer, result]
        for messages in (
            _asked(answer),
            _asked(*late),
            _asked({**answer, "tool_calls": [call]}, result),
        ):
            assert list(broken_promises(messages, target, "openai_chat")) == []


CALL = {"id": "call_aaaaaaaaa", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("key", ["text", "value"])
@pytest.mark.parametrize("target", KNOWN)
def test_a_text_under_the_key_of_an_application_becomes_the_content(target: str, key: str) -> None:
    said = {"role": "assistant", "content": None, key: WORDS}
    result = {"role": "tool", "tool_call_id": CALL["id"], key: "18 degrees"}
    messages = [
        {"role": "user", key: "How warm is it?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        said,
        result,
        {"role": "user", "content": "bye"},
    ]
    sent = json.dumps(chatmend.repair(messages, target).messages)
    assert all(words in sent for words in (WORDS, "18 degrees", "How warm is it?"))
    assert list(broken_promises(messages, target, "openai_chat")) == []


@pytest.mark.parametrize(
    ("target", "dialect", "content"),
    [
        ("gemini/gemini-2.5-flash", "gemini_contents", {"parts": [{"text": WORDS}]}),
        ("bedrock/us.amazon.nova-pro-v1:0", "bedrock_converse", {"content": [{"text": WORDS}]}),
        ("anthropic/claude-sonnet-4-6", "anthropic_messages", {"content": WORDS}),
        ("openai/gpt-5", "openai_responses", {"content": WORDS}),
    ],
)
def test_so_it_does_in_other_formats(target: str, dialect: str, content: dict[str, Any]) -> None:
    done = chatmend.repair([{"role": "user", "text": WORDS}], target, dialect=dialect)
    assert done.messages == [{"role": "user", **content}]


def test_next_to_a_content_such_a_text_is_unchanged() -> None:
    messages = [{"role": "user", "content": "hi", "text": WORDS, "value": WORDS}]
    assert chatmend.repair(messages, "openai/gpt-4o").messages is messages
