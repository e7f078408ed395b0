"""Targets that read files: images, PDFs, session files."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from hashlib import sha256

import chatmend
from chatmend import SessionFormatError
from chatmend.documents.pdf import probe_pdf
from chatmend.images import probe_image
from chatmend.sessions.document import OPENING, Document, parameters_block, parse
from chatmend.sessions.header import Header
from chatmend.sessions.rendering import render_messages
from tests.broken import broken
from tests.documents.pdfs import by_pillow, encrypted, part, with_object_streams
from tests.fuzz_bytes.target import FuzzTarget
from tests.images.fuzz import seeds as image_files

NOW = datetime(2026, 11, 24, tzinfo=UTC)
_BEFORE_DIGEST = OPENING + b"digest: sha256:"
_DIGITS = 64


def image_headers(data: bytes) -> None:
    """The size and format of an image: its bytes and its base64 show the same, and nothing is raised."""
    from_bytes, from_text = probe_image(data), probe_image(base64.b64encode(data).decode())
    assert from_bytes == from_text, (from_bytes, from_text)


def pdf_files(data: bytes) -> None:
    """Pages and encryption of a PDF, by themselves and in a request."""
    probe_pdf(data)
    messages = [{"role": "user", "content": [part(data)]}]
    done = chatmend.repair(messages, "anthropic/claude-sonnet-4-5", dialect="anthropic_messages")
    assert done.messages


def session_files(data: bytes) -> None:
    """A session file is read or refused with `SessionFormatError`; what was read is written as it was."""
    try:
        document, messages = parse(_with_digest(data), "session.md")
    except SessionFormatError:
        return
    again, same = parse(document.render(), "session.md")
    assert repr(same) == repr(messages)
    assert again.render() == document.render()


def _with_digest(data: bytes) -> bytes:
    """Correct the digest, so that what comes behind it is read."""
    end = len(_BEFORE_DIGEST) + _DIGITS
    if not data.startswith(_BEFORE_DIGEST) or len(data) <= end:
        return data
    return _BEFORE_DIGEST + sha256(data[end + 1 :]).hexdigest().encode() + data[end:]


def _session(seed: int, dialect: str) -> bytes:
    blocks, markers = render_messages(broken(seed, dialect))
    header = Header(NOW, NOW, "main", messages=len(blocks), markers=tuple(markers))
    return Document(header, tuple(blocks), parameters_block({"system": "Be kind."})).render()


TARGETS = [
    FuzzTarget(
        "image_headers",
        image_headers,
        lambda: [file for files in image_files().values() for file in files],
    ),
    FuzzTarget("pdf_files", pdf_files, lambda: [by_pillow(2), with_object_streams(3), encrypted()]),
    FuzzTarget(
        "session_files",
        session_files,
        lambda: [
            _session(seed, dialect)
            for seed in range(6)
            for dialect in ("openai_chat", "anthropic_messages")
        ],
    ),
]
