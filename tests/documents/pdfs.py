"""Makes PDF files: by Pillow, by hand with object streams, encrypted, and hostile ones."""

from __future__ import annotations

import base64
import io
import zlib
from functools import cache
from typing import Any

import pypdf
from PIL import Image


@cache
def by_pillow(pages: int) -> bytes:
    """A PDF with plain objects, written by Pillow; it contains the time at which it is made."""
    out = io.BytesIO()
    first, *rest = [Image.new("L", (20, 20), at % 255) for at in range(pages)]
    first.save(out, "PDF", save_all=True, append_images=rest)
    return out.getvalue()


def with_object_streams(pages: int, *, level: int = 9) -> bytes:
    """A PDF of version 1.5, whose page tree is in a compressed object stream."""
    leaves = [f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {at} 9] >>" for at in range(pages)]
    kids = " ".join(f"{3 + at} 0 R" for at in range(pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        *leaves,
    ]
    offsets, body = [], ""
    for number, text in enumerate(objects, 1):
        offsets.append(f"{number} {len(body)}")
        body += text + "\n"
    head = " ".join(offsets) + "\n"
    stream = zlib.compress((head + body).encode(), level)
    dictionary = f"<< /Type /ObjStm /N {len(objects)} /First {len(head)} /Filter /FlateDecode /Length {len(stream)} >>"
    return (
        b"%PDF-1.5\n99 0 obj\n"
        + dictionary.encode()
        + b"\nstream\n"
        + stream
        + b"\nendstream\nendobj\nstartxref\n0\n%%EOF\n"
    )


def encrypted(pages: int = 3) -> bytes:
    """A PDF whose trailer names its encryption."""
    return by_pillow(pages).replace(b"trailer\n<<", b"trailer\n<< /Encrypt 9 0 R ", 1)


def protected(password: str, algorithm: str = "RC4-128") -> bytes:
    """A PDF that only its owner may print; it opens with a password, which may be empty."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(by_pillow(2)))
    writer.encrypt(password, "owner", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def part(data: bytes, name: str = "report.pdf", shape: str = "anthropic") -> dict[str, Any]:
    """A PDF as a content part."""
    text = base64.b64encode(data).decode()
    url = f"data:application/pdf;base64,{text}"
    return {
        "anthropic": {
            "type": "document",
            "title": name,
            "source": {"type": "base64", "media_type": "application/pdf", "data": text},
        },
        "file": {"type": "file", "file": {"filename": name, "file_data": url}},
        "input_file": {"type": "input_file", "filename": name, "file_data": url},
        "bedrock": {"document": {"format": "pdf", "name": name, "source": {"bytes": text}}},
        "gemini": {
            "inlineData": {"mimeType": "application/pdf", "data": text, "displayName": name}
        },
        "langchain": {
            "type": "file", "base64": text, "mime_type": "application/pdf", "filename": name
        },
    }[shape]  # fmt: skip


SHAPES = ("anthropic", "file", "input_file", "bedrock", "gemini", "langchain")


def said(*parts: dict[str, Any]) -> list[Any]:
    """A conversation in which each part comes with one question."""
    messages: list[Any] = []
    for at, item in enumerate(parts):
        question = {"type": "text", "text": f"Question {at}?"}
        messages += [
            {"role": "user", "content": [question, item]},
            {"role": "assistant", "content": "Answer."},
        ]
    return [*messages, {"role": "user", "content": "And?"}]
