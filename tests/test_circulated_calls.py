"""Calls of tools that Google runs, which only Gemini 3 and later read back."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect

CALL = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "a", "args": {"queries": ["Rome"]}}}
RESPONSE = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "a", "response": {"s": "18"}}}
CONTENTS: list[Any] = [
    {"role": "user", "parts": [{"text": "q"}]},
    {"role": "model", "parts": [CALL, RESPONSE, {"text": "18 degrees"}]},
    {"role": "user", "parts": [{"text": "n"}]},
]


@pytest.mark.parametrize("target", ["gemini/gemini-3-flash-preview", "gemini/gemini-flash-latest"])
def test_gemini_3_gets_them_back(target: str) -> None:
    assert chatmend.repair(CONTENTS, target).messages is CONTENTS


@pytest.mark.parametrize("target", ["gemini/gemini-2.5-pro", "vertex_ai/gemini-2.0-flash"])
def test_older_models_get_them_as_text(target: str) -> None:
    done = chatmend.repair(CONTENTS, target)
    parts = done.messages[1]["parts"]
    assert [list(part) for part in parts] == [["text"]] * 3
    assert "Rome" in parts[0]["text"]
    assert [(change.code, change.effect) for change in done.changes] == [
        ("PART001", Effect.DEGRADES)
    ]
