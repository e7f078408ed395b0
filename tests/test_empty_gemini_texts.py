"""Empty texts in the contents of Gemini: Vertex AI refuses them, the Gemini API does not."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect
from tests.judges import judge

VERTEX, STUDIO = "vertex_ai/gemini-2.5-pro", "gemini/gemini-2.5-pro"
EMPTY, SAID = {"text": ""}, {"text": "a"}
SIGNED = {"text": "", "thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaSwgbG9uZyBlbm91Z2g="}
FILE = {"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a.png"}}


def conversation(*parts: dict[str, Any], role: str = "model") -> list[Any]:
    others = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "user", "parts": [{"text": "n"}]},
    ]
    return [others[0], {"role": role, "parts": list(parts)}, others[1]]


@pytest.mark.parametrize("parts", [(EMPTY,), (EMPTY, SAID), (SIGNED,), ({"text": " "},)])
def test_the_gemini_api_gets_them(parts: tuple[dict[str, Any], ...]) -> None:
    contents = conversation(*parts)
    assert chatmend.repair(contents, STUDIO).messages is contents


@pytest.mark.parametrize(
    "parts",
    [(SIGNED,), (SAID, SIGNED), ({"text": " "},), (EMPTY, SAID), (SAID, EMPTY), (EMPTY, FILE)],
)
def test_vertex_gets_signatures_blanks_and_what_is_beside_other_content(
    parts: tuple[dict[str, Any], ...],
) -> None:
    contents = conversation(*parts)
    assert chatmend.repair(contents, "vertex_ai/gemini-3-pro-preview").messages is contents


@pytest.mark.parametrize("parts", [(EMPTY,), (EMPTY, EMPTY)])
def test_vertex_gets_no_answer_without_a_text(parts: tuple[dict[str, Any], ...]) -> None:
    contents = conversation(*parts)
    done = chatmend.repair(contents, VERTEX)
    filled = {"role": "model", "parts": [{"text": "[continued]"}]}
    assert done.messages == [contents[0], filled, contents[2]]
    assert [(one.code, one.effect) for one in done.changes] == [("TEXT004", Effect.ADDS)]
    assert judge("gemini_contents", VERTEX, done.messages) == []


def test_vertex_gets_no_question_without_a_text() -> None:
    contents = conversation(EMPTY, role="user")
    done = chatmend.repair(contents, VERTEX)
    assert done.messages == [contents[0], contents[2]]
    assert [(one.code, one.effect) for one in done.changes] == [("TEXT004", Effect.RESHAPES)]
