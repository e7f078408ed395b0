"""Parts of answers for models of Gemini that generate images, which check their signatures."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect
from chatmend.signatures import SKIP_SIGNATURE

MODEL = "gemini/gemini-3-pro-image-preview"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEXT, IMAGE = {"text": "Here."}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
THOUGHT = {"text": "I draw.", "thought": True}
GENUINE = {"thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaSwgbG9uZyBlbm91Z2g="}
SKIP = {"thoughtSignature": SKIP_SIGNATURE}


def conversation(*parts: dict[str, Any]) -> list[Any]:
    asked, again = ({"role": "user", "parts": [{"text": text}]} for text in ("draw", "edit"))
    return [asked, {"role": "model", "parts": list(parts)}, again]


@pytest.mark.parametrize(
    "parts",
    [
        (TEXT | GENUINE, IMAGE | GENUINE),
        (IMAGE | GENUINE, TEXT),
        (THOUGHT, IMAGE | GENUINE),
        (TEXT | GENUINE, TEXT),
    ],
)
def test_signed_answers_are_unchanged(parts: tuple[Any, ...]) -> None:
    contents = conversation(*parts)
    assert chatmend.repair(contents, MODEL).messages is contents


def test_parts_of_an_answer_that_gets_a_user_message_before_it_are_signed() -> None:
    contents = conversation(TEXT, IMAGE)[1:]
    done = chatmend.repair(contents, MODEL)
    assert done.messages[1:] == [
        {"role": "model", "parts": [TEXT | SKIP, IMAGE | SKIP]},
        contents[1],
    ]
    assert chatmend.repair(done.messages, MODEL).messages is done.messages


@pytest.mark.parametrize("model", ["gemini/gemini-3-pro-preview", "gemini/gemini-2.5-flash-image"])
def test_other_models_need_none(model: str) -> None:
    contents = conversation(TEXT)
    assert chatmend.repair(contents, model).messages is contents


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ((TEXT,), (TEXT | SKIP,)),
        ((IMAGE,), (IMAGE | SKIP,)),
        ((TEXT, IMAGE, TEXT), (TEXT | SKIP, IMAGE | SKIP, TEXT)),
        ((IMAGE | GENUINE, IMAGE), (IMAGE | GENUINE, IMAGE | SKIP)),
        ((THOUGHT, TEXT), (THOUGHT, TEXT | SKIP)),
    ],
)
def test_parts_without_a_signature_get_the_value_that_skips_the_check(
    given: Any, sent: Any
) -> None:
    done = chatmend.repair(conversation(*given), MODEL)
    assert done.messages == conversation(*sent)
    assert [(one.code, one.effect) for one in done.changes] == [("THINK003", Effect.ADDS)]
    assert chatmend.repair(done.messages, MODEL).messages is done.messages
