"""Documents that Claude refuses become texts; all others stay the same objects."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chatmend
from chatmend.sandbox import Sandbox
from tests.documents.pdfs import (
    by_pillow,
    encrypted,
    part,
    protected,
    said,
    with_object_streams,
)

CLAUDE = "anthropic/claude-sonnet-4-5"
BLOCKS = "anthropic_messages"


def repaired(messages: list[Any], target: str = CLAUDE, **options: Any) -> Any:
    done = chatmend.repair(messages, target, dialect=BLOCKS, **options)
    assert chatmend.replay(messages, done.changes) == done.messages
    again = chatmend.repair(done.messages, target, dialect=BLOCKS, **options)
    assert again.messages is done.messages
    return done


def second(messages: list[Any], at: int = 0) -> Any:
    return messages[at]["content"][1]


def test_documents_within_the_limit_are_the_same_objects() -> None:
    messages = said(part(by_pillow(40), "a"), part(with_object_streams(60), "b"))
    done = repaired(messages)
    assert done.messages is messages
    assert done.changes == ()


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "mistral/mistral-medium-latest", "other"])
def test_targets_without_a_known_limit_get_every_document(target: str) -> None:
    messages = said(part(by_pillow(120), "a", "file"))
    done = chatmend.repair(messages, target, dialect="openai_chat")
    assert not [change for change in done.changes if change.code.startswith("DOC")]


def test_a_file_that_is_no_pdf_becomes_a_text_that_says_so() -> None:
    for data, why in (
        (b"", "0 bytes): it is empty"),
        (b"\x89PNG\0\0", "6 bytes): it is not a PDF"),
    ):
        done = repaired(said(part(data, "a.pdf")))
        assert second(done.messages) == {
            "type": "text",
            "text": f"Document removed (a.pdf, {why}.",
        }
        (change,) = done.changes
        assert (change.code, change.effect.name) == ("DOC002", "DROPS")


@pytest.mark.parametrize("data", [b"", b"\x89PNG\0\0"])
def test_a_file_part_of_a_chat_becomes_such_a_text_too(data: bytes) -> None:
    done = chatmend.repair(said(part(data, "a.pdf", "file")), CLAUDE, dialect="openai_chat")
    assert second(done.messages)["text"].startswith("Document removed (a.pdf, ")
    assert chatmend.repair(done.messages, CLAUDE, dialect="openai_chat").messages is done.messages


def test_a_text_that_is_called_a_pdf_is_sent_as_text() -> None:
    done = repaired(said(part("Überschrift\n1;2".encode(), "table.csv")))
    assert second(done.messages)["text"] == "Document table.csv:\nÜberschrift\n1;2"
    assert [(change.code, change.effect.name) for change in done.changes] == [
        ("DOC002", "RESHAPES")
    ]


def test_a_pdf_with_a_password_becomes_a_text_that_says_so() -> None:
    done = repaired(said(part(encrypted(), "a.pdf")))
    assert second(done.messages)["text"].endswith("): it is encrypted.")
    assert [(change.code, change.effect.name) for change in done.changes] == [("DOC002", "DROPS")]


def test_a_pdf_that_opens_without_a_password_is_reported_and_sent() -> None:
    messages = said(part(protected("")))
    done = repaired(messages)
    assert done.messages is messages
    assert [(change.code, change.finding) for change in done.changes] == [("DOC002", True)]


@pytest.mark.parametrize("shape", ["file", "input_file", "langchain"])
def test_a_document_in_another_format_is_written_in_that_of_the_messages(shape: str) -> None:
    data = by_pillow(2)
    foreign = part(data, "a.pdf", shape) | {"cache_control": {"type": "ephemeral"}}
    done = repaired(said(foreign))
    expected = part(data, "a.pdf") | {"cache_control": {"type": "ephemeral"}}
    assert second(done.messages) == expected
    assert [(change.code, change.effect.name) for change in done.changes] == [
        ("DOC004", "RESHAPES")
    ]


@pytest.mark.parametrize(
    ("target", "dialect", "shape"),
    [
        ("openai/gpt-4.1", "openai_chat", "file"),
        ("openai/gpt-4.1", "openai_responses", "input_file"),
        ("bedrock/us.amazon.nova-pro-v1:0", "bedrock_converse", "bedrock"),
        ("gemini/gemini-2.5-flash", "gemini_contents", "gemini"),
    ],
)
def test_a_document_of_anthropic_is_written_in_other_formats(
    target: str, dialect: str, shape: str
) -> None:
    parts = "parts" if dialect == "gemini_contents" else "content"
    messages = [{"role": "user", parts: [part(by_pillow(1), "a")]}]
    done = chatmend.repair(messages, target, dialect=dialect)
    found = done.messages[0][parts][0]
    expected = part(by_pillow(1), "a", shape)
    expected.get("inlineData", {}).pop("displayName", None)
    assert found == expected, done.report()
    assert chatmend.repair(done.messages, target, dialect=dialect).messages is done.messages


def test_the_oldest_documents_go_when_there_are_too_many_pages() -> None:
    messages = said(part(by_pillow(90), "old.pdf"), part(by_pillow(30), "new.pdf"))
    done = repaired(messages)
    text = second(done.messages)["text"]
    assert text.startswith("Document removed (old.pdf, ")
    assert text.endswith(", 90 pages): the request held more pages than the model takes.")
    assert done.messages[2] is messages[2]
    (change,) = done.changes
    assert (change.code, change.effect.name, change.index) == ("DOC003", "DROPS", 0)


def test_a_document_with_too_many_pages_goes_alone() -> None:
    messages = said(part(by_pillow(20), "a"), part(by_pillow(125), "b"), part(by_pillow(20), "c"))
    done = repaired(messages)
    kinds = [second(done.messages, at)["type"] for at in (0, 2, 4)]
    assert kinds == ["document", "text", "document"]
    assert "it has more pages than the model takes (100)" in second(done.messages, 2)["text"]
    assert [change.code for change in done.changes] == ["DOC006"]


def test_documents_in_tool_results_count_too() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [part(by_pillow(80), "r")]}
    call = {"type": "tool_use", "id": "t1", "name": "fetch", "input": {}}
    messages = [
        {"role": "user", "content": [part(by_pillow(60), "a"), {"type": "text", "text": "see"}]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    done = repaired(messages)
    assert done.messages[0]["content"][0]["type"] == "text"
    assert done.messages[2] is messages[2]


def test_what_was_sent_changes_only_in_coarse_steps() -> None:
    parts = [part(by_pillow(10), f"document {at}") for at in range(25)]
    sent: list[Any] = []
    changed = 0
    for turn in range(1, len(parts) + 1):
        done = chatmend.repair(said(*parts[:turn])[:-2], CLAUDE, dialect=BLOCKS).messages
        changed += done[: len(sent)] != sent
        sent = done
    assert changed == 4  # at 110 pages, then after each further 40


def test_a_policy_that_allows_no_drops_gets_a_report() -> None:
    messages = said(part(by_pillow(101), "a"))
    done = chatmend.repair(messages, CLAUDE, dialect=BLOCKS, policy={"allow": "degrades"})
    assert done.messages is messages
    assert {(change.code, change.applied) for change in done.changes} == {
        ("DOC003", False),
        ("DOC006", False),
    }


def test_the_first_document_of_a_structure_does_not_decide_for_the_next() -> None:
    text = {"type": "text", "media_type": "text/plain", "data": "x"}
    first = said({"type": "document", "source": text})
    assert chatmend.repair(first, CLAUDE, dialect=BLOCKS).changes == ()
    many = said(part(by_pillow(101), "a"))
    assert [change.code for change in chatmend.repair(many, CLAUDE, dialect=BLOCKS).changes] == [
        "DOC006"
    ]


@pytest.mark.parametrize("target", ["bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"])
def test_claude_on_bedrock_has_the_same_limit(target: str) -> None:
    document = part(by_pillow(101), "report", "bedrock")
    messages = [{"role": "user", "content": [{"text": "Summarise it."}, document]}]
    done = chatmend.repair(messages, target, dialect="bedrock_converse")
    assert "101 pages" in done.messages[0]["content"][1]["text"]


def test_the_sandbox_refuses_before_the_repair_and_accepts_after_it() -> None:
    with Sandbox() as sandbox:

        def post(messages: list[Any]) -> int:
            body = {"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": messages}
            url = sandbox.url("anthropic/v1/messages")
            return httpx.post(url, json=body, timeout=60).status_code

        for messages in (
            said(part(by_pillow(60), "a"), part(by_pillow(60), "b")),
            said(part(b"", "a")),
            said(part(base64.b64decode("iVBORw0KGgo="), "a")),
        ):
            assert post(messages) == 400
            assert post(repaired(messages).messages) == 200


_VALUES = st.one_of(
    st.none(), st.integers(), st.text(max_size=40), st.binary(max_size=40), st.lists(st.none(), max_size=1),
    st.sampled_from(["application/pdf", "data:application/pdf;base64,JVBERi0x", "JVBERi0xLjQK", "pdf"]),
)  # fmt: skip


@given(st.data())
def test_no_value_in_a_document_raises(data: st.DataObject) -> None:
    def draw(*keys: str) -> dict[str, object]:
        return {key: data.draw(_VALUES) for key in keys}

    forms: list[dict[str, object]] = [
        {
            "type": "document",
            "source": {"type": "base64", **draw("media_type", "data")},
            **draw("title"),
        },
        {"type": "file", "file": draw("filename", "file_data", "format")},
        {"type": "file", **draw("base64", "mime_type", "filename")},
        {"type": "document", **draw("source")},
    ]
    messages = said(data.draw(st.sampled_from(forms)))
    done = chatmend.repair(messages, CLAUDE, dialect=BLOCKS)
    assert chatmend.repair(done.messages, CLAUDE, dialect=BLOCKS).messages is done.messages
