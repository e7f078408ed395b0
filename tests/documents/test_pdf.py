"""Facts about PDF files, without a library, for intact, damaged and hostile files."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmend.dialects.documents import find_document
from chatmend.documents.pdf import PdfFacts, probe_pdf
from tests.documents.pdfs import SHAPES, by_pillow, encrypted, part, with_object_streams
from tests.scale import examples
from tests.steps import steps


@pytest.mark.parametrize("pages", [1, 2, 7, 120])
def test_pages_of_plain_objects_and_of_object_streams_are_counted(pages: int) -> None:
    assert probe_pdf(by_pillow(pages)).pages == pages
    assert probe_pdf(with_object_streams(pages)).pages == pages


def test_the_smaller_number_counts_if_the_root_and_the_pages_differ() -> None:
    data = by_pillow(3)
    assert b"/Count 3" in data
    assert probe_pdf(data.replace(b"/Count 3", b"/Count 9")).pages == 3
    assert probe_pdf(data.replace(b"/Count 3", b"/Count 2")).pages == 2


def test_outlines_have_counts_that_are_not_pages() -> None:
    outline = b"\n50 0 obj << /Type /Outlines /Count 800 >> endobj\n"
    assert probe_pdf(by_pillow(2) + outline).pages == 2


def test_an_encrypted_file_has_no_known_pages() -> None:
    facts = probe_pdf(encrypted())
    assert (facts.is_pdf, facts.is_encrypted, facts.pages) == (True, True, None)
    stream = b"\n8 0 obj << /Type /XRef /Encrypt 9 0 R >> stream x endstream endobj\n"
    assert probe_pdf(with_object_streams(2) + stream).is_encrypted


@pytest.mark.parametrize("data", [b"", b"%PDF", b"<html>", b" " * 2000 + b"%PDF-1.4"])
def test_a_file_without_the_header_is_no_pdf(data: bytes) -> None:
    assert probe_pdf(data) == PdfFacts(len(data), is_pdf=False)


def test_an_object_stream_that_inflates_to_more_than_the_budget_is_not_read() -> None:
    bomb = zlib.compress(bytes(64 << 20), 9)
    head = b"%PDF-1.5\n1 0 obj << /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode >>\nstream\n"
    facts = probe_pdf(head + bomb + b"\nendstream endobj" + by_pillow(2))
    assert facts.is_pdf
    assert facts.pages == 2


@given(
    st.sampled_from(["plain", "streams", "encrypted"]),
    st.lists(st.tuples(st.integers(0, 4000), st.binary(max_size=12)), max_size=8),
    st.integers(0, 4000),
)
def test_no_damaged_file_raises(kind: str, edits: list[tuple[int, bytes]], cut: int) -> None:
    made = {"plain": by_pillow, "streams": with_object_streams, "encrypted": encrypted}[kind](4)
    data = bytearray(made)
    for position, text in edits:
        at = position % len(data)
        data[at : at + len(text)] = text
    facts = probe_pdf(bytes(data[: cut or None]))
    assert facts.pages is None or facts.pages >= 0


@given(st.binary(max_size=600))
def test_no_bytes_raise(data: bytes) -> None:
    probe_pdf(b"%PDF-1.7\n" + data)


HOSTILE = {
    "objects without an end": b"1 0 obj << ",
    "ends without objects": b"endobj ",
    "trailers": b"trailer ",
    "empty object streams": b"1 0 obj << /Type /ObjStm /N 9 /First 9 /Filter /FlateDecode >> stream\n endobj ",
    "nodes": b"1 0 obj << /Type /Pages /Count 9 >> endobj ",
    "open nodes": b"/Type /Pages /Count 9 ",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_the_steps_grow_with_the_file(name: str) -> None:
    repeat = examples(200, 2000)
    small, large = (
        steps(lambda times=times: probe_pdf(b"%PDF-1.7\n" + HOSTILE[name] * times))  # type: ignore[misc]
        for times in (repeat, 4 * repeat)
    )
    assert large <= 4.2 * small + 200


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pdf_is_found_in_every_form_of_content_part(shape: str) -> None:
    document = find_document(part(by_pillow(2), "a.pdf", shape))
    assert document is not None
    assert document.name == "a.pdf"
    assert probe_pdf(document.payload.decode()).pages == 2


def test_links_ids_and_other_files_are_no_documents() -> None:
    for native in (
        {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}},
        {"type": "document", "source": None},
        {"type": ["document"]},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
        7,
    ):
        assert find_document(native) is None
