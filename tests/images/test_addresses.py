"""Addresses of images are read as providers read them, repaired where they have one meaning, and never fetched."""

from __future__ import annotations

import base64
import socket
from typing import Any
from urllib.parse import quote

import pytest

import chatmend
from chatmend.images.reader import base64_reader
from tests.corpus import PIXEL
from tests.documents.pdfs import by_pillow
from tests.images.pictures import noise, saved
from tests.judges import judge

CLAUDE, GPT, GEMINI = "anthropic/claude-sonnet-4-5", "openai/gpt-4.1", "gemini/gemini-2.5-flash"
NOVA = "bedrock/us.amazon.nova-pro-v1:0"
DATA = saved(noise(24, 24), "PNG")
TEXT = base64.b64encode(DATA).decode()
URL = f"data:image/png;base64,{TEXT}"
PDF = base64.b64encode(by_pillow(1)).decode()


def chat(url: Any) -> list[Any]:
    part = {"type": "image_url", "image_url": {"url": url}}
    return [{"role": "user", "content": [{"type": "text", "text": "see"}, part]}]


def after(url: str, target: str = GPT) -> tuple[dict[str, Any], list[str]]:
    done = chatmend.repair(chat(url), target)
    assert chatmend.repair(done.messages, target).messages is done.messages
    return done.messages[0]["content"][1], [change.code for change in done.changes]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("an address was looked up")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


WITH_CAPITALS = [
    URL.replace("data:", "DATA:"),
    URL.replace("base64", "BASE64"),
    URL.replace("image/png", "image/PNG"),
]
WITH_PARAMETERS = [
    URL.replace(";base64", ";charset=utf-8;base64"),
    URL.replace(";base64", ";name=a-b_%20c.png;base64"),
    f"data:image/png;charset=utf-8;base64,{PIXEL}",  # its header is within the last 128 characters
]


@pytest.mark.parametrize("url", [URL, "https://example.com/a.png?x=1", "HTTP://example.com/a.png"])
@pytest.mark.parametrize("target", [GPT, CLAUDE, GEMINI, NOVA])
def test_what_a_provider_reads_is_the_same_object(url: str, target: str) -> None:
    messages = chat(url)
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("url", WITH_CAPITALS + WITH_PARAMETERS)
@pytest.mark.parametrize("target", [GPT, GEMINI])
def test_most_providers_read_a_media_type_in_any_spelling(url: str, target: str) -> None:
    messages = chat(url)
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("url", WITH_CAPITALS + WITH_PARAMETERS)
def test_claude_gets_the_media_type_in_lower_case_without_parameters(url: str) -> None:
    for _ in range(3):  # the structure of a clean message is known, and must not hide this one
        assert chatmend.repair(chat(URL), CLAUDE).changes == ()
    part, codes = after(url, CLAUDE)
    data = url.partition(",")[2]
    assert part["image_url"] == {"url": f"data:image/png;base64,{data}"}
    assert codes == ["IMG001"]
    longer = [*chat(url), {"role": "assistant", "content": "seen"}, *chat(url)]
    assert chatmend.repair(longer, CLAUDE).messages[0]["content"][1] == part


@pytest.mark.parametrize("url", WITH_CAPITALS)
def test_bedrock_gets_the_media_type_in_lower_case(url: str) -> None:
    part, _ = after(url, NOVA)
    assert part["image_url"] == {"url": URL}


@pytest.mark.parametrize("url", WITH_PARAMETERS)
def test_bedrock_reads_a_media_type_with_parameters(url: str) -> None:
    messages = chat(url)
    assert chatmend.repair(messages, NOVA).messages is messages


@pytest.mark.parametrize(
    "source",
    [
        {"type": "base64", "media_type": "image/PNG", "data": TEXT},
        {"media_type": "image/png", "data": TEXT},
        {"type": None, "media_type": "image/png", "data": TEXT},
    ],
)
def test_a_source_gets_the_type_and_the_media_type_that_claude_knows(source: Any) -> None:
    sound = {"type": "base64", "media_type": "image/png", "data": TEXT}
    assert in_block({"type": "image", "source": sound}) == {"type": "image", "source": sound}
    assert in_block({"type": "image", "source": source}) == {"type": "image", "source": sound}


@pytest.mark.parametrize(
    "source",
    [
        {"type": "base64", "media_type": "application/PDF", "data": PDF},
        {"media_type": "application/pdf", "data": PDF},
    ],
)
def test_a_document_gets_the_type_and_the_media_type_that_claude_knows(source: Any) -> None:
    sound = {"type": "base64", "media_type": "application/pdf", "data": PDF}
    assert in_block({"type": "document", "source": sound})["source"] is sound
    assert in_block({"type": "document", "source": source})["source"] == sound


def in_block(block: Any) -> Any:
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, block]}]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    again = chatmend.repair(done.messages, CLAUDE, dialect="anthropic_messages")
    assert again.messages is done.messages
    assert judge("anthropic_messages", CLAUDE, done.messages) == []
    return done.messages[0]["content"][1]


@pytest.mark.parametrize(
    ("block", "becomes"),
    [
        ({"base64": URL, "mime_type": "image/png"}, {"base64": TEXT, "mime_type": "image/png"}),
        ({"base64": URL}, {"base64": TEXT, "mime_type": "image/png"}),
        ({"data": URL, "mimeType": "image/png"}, {"data": TEXT, "mimeType": "image/png"}),
        ({"data": URL, "mimeType": "image/jpeg"}, {"data": TEXT, "mimeType": "image/png"}),
    ],
)
def test_a_data_url_in_a_field_for_base64_becomes_base64(block: Any, becomes: Any) -> None:
    kept = [{"role": "user", "content": [{"type": "image", **becomes}]}]
    assert chatmend.repair(kept, "other").messages is kept
    done = chatmend.repair([{"role": "user", "content": [{"type": "image", **block}]}], "other")
    assert done.messages == kept


@pytest.mark.parametrize(
    "url",
    [
        TEXT,
        f" \n\t{URL}",
        f'"{URL}"',
        f"<{URL}>",
        f"data:image/png,{quote(DATA)}",
        f"data:image/png;base64,{quote(TEXT, safe='')}",
        f"data:;base64,{TEXT}",
        f"data:base64,{TEXT}",
        f"data:application/octet-stream;base64,{TEXT}",
        f"data:image/jpeg;base64,{TEXT}",
        f"image/png;base64,{TEXT}",
        URL + '\n"',
        f"data:image/png;base64,{URL}",
    ],
)
@pytest.mark.parametrize("target", [GPT, CLAUDE])
def test_a_malformed_address_with_one_meaning_is_repaired(url: str, target: str) -> None:
    part, codes = after(url, target)
    assert part["image_url"]["url"] == URL
    assert codes == ["IMG001"]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.rstrip("="),
        base64.urlsafe_b64encode(DATA).decode(),
        base64.encodebytes(DATA).decode(),
    ],
)
def test_base64_that_claude_does_not_read_is_rewritten(text: str) -> None:
    assert after(f"data:image/png;base64,{text}", CLAUDE)[0]["image_url"]["url"] == URL


@pytest.mark.parametrize("field", [URL, f" {URL}", URL.replace("data:", "DATA:")])
def test_a_data_url_in_a_field_for_base64_is_replaced_by_its_data(field: str) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": field}
    messages = [{"role": "user", "content": [{"type": "image", "source": source}]}]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    assert done.messages[0]["content"][0]["source"]["data"] == TEXT
    parts = [{"inlineData": {"mimeType": "image/png", "data": field}}]
    done = chatmend.repair([{"role": "user", "parts": parts}], GEMINI, dialect="gemini_contents")
    assert done.messages[0]["parts"][0]["inlineData"]["data"] == TEXT


def test_a_data_url_in_a_source_for_links_becomes_a_source_with_data() -> None:
    part = {"type": "image", "source": {"type": "url", "url": URL}}
    messages = [{"role": "user", "content": [part]}]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    source = {"type": "base64", "media_type": "image/png", "data": TEXT}
    assert done.messages[0]["content"] == [{"type": "image", "source": source}]


@pytest.mark.parametrize(
    ("url", "becomes"),
    [
        ("//example.com/a.png", "https://example.com/a.png"),
        (" https://example.com/a.png\n", "https://example.com/a.png"),
        ("<https://example.com/a.png>", "https://example.com/a.png"),
    ],
)
def test_a_malformed_link_is_repaired(url: str, becomes: str) -> None:
    part, codes = after(url)
    assert (part["image_url"]["url"], codes) == (becomes, ["IMG014"])


@pytest.mark.parametrize(
    "url",
    ["file:///srv/a.png", "blob:https://example.com/1", "/srv/a.png", "a.png", "C:\\a.png", "cid:1", "https://", "gs://b/a.png"],
)  # fmt: skip
def test_an_address_that_no_provider_reads_becomes_a_text_with_it(url: str) -> None:
    part, codes = after(url)
    assert part["text"] == f"Image not available: the model cannot read the address {url}."
    assert codes == ["IMG014"]


def test_an_address_that_only_some_targets_read_stays_there() -> None:
    for url, target in (("gs://b/a.png", GEMINI), ("file:///a.png", "hosted_vllm/x")):
        messages = chat(url)
        assert chatmend.repair(messages, target).messages is messages


def test_many_repeated_heads_take_no_more_time_than_one() -> None:
    part, _ = after("data:image/png;base64," * 20_000 + TEXT)
    assert part["type"] == "text"


def test_the_header_of_a_data_url_is_not_read_as_base64() -> None:
    url = f"data:image/png;name=a_b 1.png;charset=utf-8;base64,{PIXEL}"
    start = url.index(",") + 1
    assert len(url) - start < 128
    assert base64_reader(url, start).canonical
    assert base64_reader(url, start).read_tail(8) == base64.b64decode(PIXEL)[-8:]
    assert not base64_reader(url + "\n", start).canonical
