"""Signatures without a record of their origin are recognised by their form."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend.dialects.thinking import can_be_signature, is_claude_signature, is_gemini_signature

# The beginnings of signatures in recorded requests.
CLAUDE = ["EqEWCkYICxgCKkCP", "EoQDCm0IDhgCKkCD", "Ev8BCm0IDhgCKkCy", "EtkBCkgIEBABGAIq"]
GEMINI = [
    "CiQBvj72+2XVOLYM", "CoECARFNMg82dp+D", "EnMKcQEMOdbHYbU9", "Eq0eCqoeARFNMg+P",
    "CrICAb4-9vtrrkiS", "CiwBjz1rX10IDaj9",
]  # fmt: skip
OPENAI = "gAAAAABqKxZV3R1R"
REST = "A" * 24
ASK, NEXT = {"role": "user", "content": "go"}, {"role": "user", "content": "on"}


@pytest.mark.parametrize("beginning", CLAUDE)
def test_a_signature_of_claude(beginning: str) -> None:
    assert can_be_signature(beginning + REST)
    assert (is_claude_signature(beginning + REST), is_gemini_signature(beginning)) == (True, False)


@pytest.mark.parametrize("beginning", GEMINI)
def test_a_signature_of_gemini(beginning: str) -> None:
    assert not can_be_signature(beginning + REST)
    assert (is_gemini_signature(beginning + REST), is_claude_signature(beginning)) == (True, False)


@pytest.mark.parametrize(
    "unknown",
    ["", "E", "C", "EqQB", "Cg==", "signature", "c2lnbmF0dXJl", "EEEEEEEEEEEEEEEE", "Eé€"],
)
def test_any_other_value_has_no_known_form(unknown: str) -> None:
    assert (is_claude_signature(unknown), is_gemini_signature(unknown)) == (False, False)


def sent(messages: list[Any], target: str) -> list[Any]:
    done = chatmend.repair(messages, target)
    assert chatmend.repair(done.messages, target).messages is done.messages
    return done.messages


def thinking(signature: str) -> list[Any]:
    block = {"type": "thinking", "thinking": "Plan.", "signature": signature + REST}
    return [ASK, {"role": "assistant", "content": [block, {"type": "text", "text": "a"}]}, NEXT]


@pytest.mark.parametrize("foreign", [*GEMINI, OPENAI])
@pytest.mark.parametrize("target", ["anthropic/claude-sonnet-4-5", "anthropic/claude-opus-5"])
def test_claude_does_not_get_thinking_of_gemini_or_openai(target: str, foreign: str) -> None:
    expected = [ASK, {"role": "assistant", "content": [{"type": "text", "text": "a"}]}, NEXT]
    assert sent(thinking(foreign), target) == expected


@pytest.mark.parametrize("own", CLAUDE)
def test_claude_gets_its_own_thinking(own: str) -> None:
    messages = thinking(own)
    assert sent(messages, "anthropic/claude-sonnet-4-5") is messages


def contents(signature: str) -> list[Any]:
    used = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": signature + REST}
    found = {"functionResponse": {"name": "f", "response": {"r": 1}}}
    return [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [used]},
        {"role": "user", "parts": [found]},
    ]


@pytest.mark.parametrize("foreign", [*CLAUDE, OPENAI])
def test_gemini_does_not_get_the_signature_of_claude_or_openai(foreign: str) -> None:
    (_, answer, _) = sent(contents(foreign), "gemini/gemini-2.5-flash")
    assert answer["parts"] == [{"functionCall": {"name": "f", "args": {}}}]
    (_, answer, _) = sent(contents(foreign), "gemini/gemini-3-pro-preview")
    assert answer["parts"][0]["thoughtSignature"].startswith("c2tpcF90aG91Z2h0")


@pytest.mark.parametrize("own", [beginning for beginning in GEMINI if "-" not in beginning])
def test_gemini_gets_its_own_signature(own: str) -> None:
    messages = contents(own)
    assert sent(messages, "gemini/gemini-3-pro-preview") is messages


TEXT = {"type": "text", "text": "Done."}


@pytest.mark.parametrize("textless", [{}, {"thinking": None}])
@pytest.mark.parametrize("key", ["signature", "thoughtSignature"])
def test_signed_thinking_without_a_text_gets_an_empty_one(textless: Any, key: str) -> None:
    signature = CLAUDE[0] + REST
    stored = {"type": "thinking", **textless, key: signature}
    sent = {"type": "thinking", "thinking": "", "signature": signature}
    for given, expected in (
        ({"content": [stored, TEXT]}, {"content": [sent, TEXT]}),
        (
            {"content": "Done.", "thinking_blocks": [stored]},
            {"content": "Done.", "thinking_blocks": [sent]},
        ),
    ):
        messages = [ASK, {"role": "assistant", **given}, NEXT]
        done = chatmend.repair(messages, "anthropic/claude-opus-4-7")
        assert done.messages == [ASK, {"role": "assistant", **expected}, NEXT]
        assert [(c.code, c.effect.name) for c in done.changes] == [("THINK005", "RESHAPES")]
        assert chatmend.repair(done.messages, "anthropic/claude-opus-4-7").messages is done.messages
        assert chatmend.replay(messages, done.changes) == done.messages


@pytest.mark.parametrize("signed", [{}, {"signature": ""}, {"signature": OPENAI}])
def test_thinking_without_a_text_and_a_signature_is_dropped(signed: dict[str, Any]) -> None:
    said = {"role": "assistant", "content": [{"type": "thinking", **signed}, TEXT]}
    done = chatmend.repair([ASK, said, NEXT], "anthropic/claude-opus-4-7")
    assert done.messages == [ASK, {"role": "assistant", "content": [TEXT]}, NEXT]
    assert [change.code for change in done.changes] == ["THINK001"]


def test_signed_thinking_that_langchain_stored_without_a_text_gets_an_empty_one() -> None:
    langchain = pytest.importorskip("langchain_core.messages")
    stored = {"type": "thinking", "signature": CLAUDE[0] + REST, "index": 0}
    answer = langchain.AIMessage([stored, {**TEXT, "index": 1}])
    messages = [langchain.HumanMessage("go"), answer, langchain.HumanMessage("on")]
    done = chatmend.repair(messages, "anthropic/claude-opus-4-7").messages
    assert done[1].content == [{**stored, "thinking": ""}, {**TEXT, "index": 1}]
    assert chatmend.repair(done, "anthropic/claude-opus-4-7").messages is done
