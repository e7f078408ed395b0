"""Text parts in lists or inside each other: the model gets their text, not their JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend import Effect

TARGETS = ["openai/gpt-5", "anthropic/claude-sonnet-4-6", "mistral/mistral-large-latest"]
PART = {"type": "text", "text": "hi"}


def sent(content: Any, target: str, role: str = "user") -> tuple[str, list[tuple[str, Effect]]]:
    """The text of the message that is sent, and the changes."""
    done = chatmend.repair([{"role": role, "content": content}], target, dialect="openai_chat")
    (message,) = done.messages
    parts = message["content"]
    text = parts if isinstance(parts, str) else "|".join(part["text"] for part in parts)
    return text, [(change.code, change.effect) for change in done.changes]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": [PART]}], "hi"),
        ([{"type": "text", "text": {"value": "hi", "annotations": []}}], "hi"),
        ([{"type": "output_text", "text": {"value": "hi"}}], "hi"),
        ([[PART, {"type": "text", "text": "ho"}]], "hi\n\nho"),
        ([[[PART]], PART], "hi|hi"),
        ({"type": "text", "text": "hi"}, "hi"),
    ],
)
def test_the_text_is_sent_without_loss(content: Any, text: str, target: str) -> None:
    given, changes = sent(content, target)
    assert given == text
    assert {effect for _, effect in changes} == {Effect.RESHAPES}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": {"value": "hi", "annotations": [{"type": "file_citation"}]}},
        {"type": "text", "text": {"value": "hi", "more": 1}},
        {"type": "text", "text": ["hi"]},
        {"type": "text", "text": [PART, {"type": "image", "data": 1}]},
        {"type": ["text"], "text": "hi"},
    ],
)
def test_a_part_with_anything_else_is_sent_as_json(part: dict[str, Any], target: str) -> None:
    text, changes = sent([part], target)
    assert json.loads(text) == part
    assert changes[0] == ("PART001", Effect.DEGRADES)


@pytest.mark.parametrize("target", TARGETS)
def test_what_has_no_type_of_a_text_is_data(target: str) -> None:
    assert json.loads(sent({"text": "hi"}, target)[0]) == {"text": "hi"}
