"""Fifty files of every kind that messages hold: documents, recordings, stored files, malformed addresses."""

from __future__ import annotations

import base64
import io
import struct
import zipfile
from functools import cache
from typing import Any

from tests.documents.pdfs import by_pillow, encrypted, protected, with_object_streams

Part = dict[str, Any]
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def docx(*paragraphs: str, extra: str = "") -> bytes:
    """A Word file with these paragraphs and a table of one row."""
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    cells = "".join(f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in "ab")
    xml = f'<w:document xmlns:w="{_WORD}"><w:body>{body}<w:tbl><w:tr>{cells}</w:tr></w:tbl>{extra}</w:body></w:document>'
    return zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": xml})


def zipped(files: dict[str, str | bytes]) -> bytes:
    """An archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def wav(seconds: float, rate: int = 8000) -> bytes:
    """A silent recording."""
    data = bytes(int(seconds * rate) * 2)
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16)
    body = b"WAVE" + head + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def mp3(frames: int, *, tagged: bool = False) -> bytes:
    """Frames of MPEG 1, layer 3, with 128 kbit/s and 44.1 kHz, of 417 bytes each."""
    tag = b"ID3\x03\0\0\0\0\x01\0" + bytes(128) if tagged else b""
    return tag + (b"\xff\xfb\x90\x00" + bytes(413)) * frames


def mp4(seconds: int, *, version: int = 0) -> bytes:
    """The boxes of a film: type, data, and the header at the end."""
    wide = version == 1
    times = struct.pack(">QQIQ" if wide else ">IIII", 0, 0, 1000, seconds * 1000)
    mvhd = _box(b"mvhd", bytes([version, 0, 0, 0]) + times + bytes(80))
    return _box(b"ftyp", b"isom\0\0\2\0isomiso2") + _box(b"mdat", bytes(999)) + _box(b"moov", mvhd)


def _box(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body) + 8, name) + body


def ogg(seconds: int) -> bytes:
    """The first and the last page of a recording with the codec Opus."""
    head = b"OggS\0\2" + bytes(20) + b"\1\x13OpusHead\1\2" + bytes(9)
    return head + b"\0" * 500 + b"OggS\0\4" + struct.pack("<Q", seconds * 48_000) + bytes(14)


def flac(seconds: int) -> bytes:
    """The header of a lossless recording with 44.1 kHz."""
    rate = 44_100
    packed = (rate << 44 | 15 << 36 | seconds * rate).to_bytes(8, "big")
    return b"fLaC\0\0\0\x22" + bytes(10) + packed + bytes(100)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def file(data: bytes | str, name: str, media_type: str) -> Part:
    """A file as OpenAI's part; a text is sent unchanged."""
    given = f"data:{media_type};base64,{encoded(data)}" if isinstance(data, bytes) else data
    return {"type": "file", "file": {"filename": name, "file_data": given}}


def inline(data: bytes, media_type: str) -> Part:
    return {"inlineData": {"mimeType": media_type, "data": encoded(data)}}


def audio(data: bytes, form: str) -> Part:
    return {"type": "input_audio", "input_audio": {"data": encoded(data), "format": form}}


def image(url: str) -> Part:
    return {"type": "image_url", "image_url": {"url": url}}


@cache
def samples() -> dict[str, list[Part]]:
    """The parts by name."""
    from tests.images.pictures import part as picture  # noqa: PLC0415 - needs Pillow
    from tests.images.pictures import samples as pictures  # noqa: PLC0415

    png = picture(pictures()["small alpha"])["image_url"]["url"].partition(",")[2]
    pdf, text = by_pillow(3), "a,b\n1,2\n"
    one: dict[str, Part] = {
        "pdf": file(pdf, "a.pdf", "application/pdf"),
        "pdf with object streams": file(with_object_streams(9), "a.pdf", "application/pdf"),
        "pdf of 101 pages": file(by_pillow(101), "long.pdf", "application/pdf"),
        "pdf of 1001 pages": file(with_object_streams(1001), "long.pdf", "application/pdf"),
        "pdf with a password": file(protected("secret"), "a.pdf", "application/pdf"),
        "pdf of unknown encryption": file(encrypted(), "a.pdf", "application/pdf"),
        "pdf of 6 MB": file(pdf + b"%" * 6_000_000, "a.pdf", "application/pdf"),
        "empty pdf": file(b"", "a.pdf", "application/pdf"),
        "html called pdf": file(b"<html>hi</html>", "a.pdf", "application/pdf"),
        "png called pdf": file(base64.b64decode(png), "a.pdf", "application/pdf"),
        "word called pdf": file(docx("Hello"), "a.pdf", "application/pdf"),
        "bare pdf": file(encoded(pdf), "a.pdf", ""),
        "pdf of no type": file(pdf, "a.pdf", "application/octet-stream"),
        "pdf with line breaks": file(
            "data:application/pdf;base64," + base64.encodebytes(pdf).decode(), "a.pdf", ""
        ),
        "pdf in anthropic's form": {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": encoded(pdf)},
        },
        "pdf in gemini's form": inline(pdf, "application/pdf"),
        "pdf in bedrock's form": {
            "document": {"format": "pdf", "name": "a", "source": {"bytes": encoded(pdf)}}
        },
        "pdf in the form of responses": {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": f"data:application/pdf;base64,{encoded(pdf)}",
        },
        "pdf in langchain's form": {
            "type": "file",
            "base64": encoded(pdf),
            "mime_type": "application/pdf",
        },
        "text": file(b"hello", "a.txt", "text/plain"),
        "csv": file(text.encode(), "a.csv", "text/csv"),
        "csv in latin-1": file("Größe;1".encode("cp1252"), "a.csv", "text/csv"),
        "markdown": file(b"# Title", "a.md", "text/markdown"),
        "json": file(b'{"a": 1}', "a.json", "application/json"),
        "text in utf-16": file("Größe".encode("utf-16"), "a.txt", "text/plain"),
        "text of 2 MB": file(b"line of text\n" * 160_000, "a.txt", "text/plain"),
        "word": file(docx("Hello", "World"), "a.docx", DOCX),
        "broken word": file(docx("Hello")[:-40], "a.docx", DOCX),
        "excel": file(zipped({"xl/workbook.xml": "<x/>"}), "a.xlsx", XLSX),
        "zip": file(zipped({"a.txt": "hi"}), "a.zip", "application/zip"),
        "unknown bytes": file(bytes(range(256)), "a.bin", "application/octet-stream"),
        "text in anthropic's form": {
            "type": "document",
            "title": "a.txt",
            "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
        },
        "wav": audio(wav(2.5), "wav"),
        "mp3": audio(mp3(100), "mp3"),
        "wav in gemini's form": inline(wav(1), "audio/wav"),
        "wav in langchain's form": {
            "type": "audio",
            "base64": encoded(wav(1)),
            "mime_type": "audio/wav",
        },
        "mp4": {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{encoded(mp4(5))}"}},
        "mp4 in bedrock's form": {"video": {"format": "mp4", "source": {"bytes": encoded(mp4(5))}}},
        "mp4 in gemini's form": inline(mp4(5), "video/mp4"),
        "file of openai": {"type": "file", "file": {"file_id": "file-abcdefgh1234"}},
        "file of anthropic": {
            "type": "document",
            "source": {"type": "file", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"},
        },
        "file of gemini": {
            "fileData": {
                "mimeType": "application/pdf",
                "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc",
            }
        },
        "file in s3": {
            "document": {"format": "pdf", "name": "a", "source": {"s3Location": {"uri": "s3://b/a.pdf"}}}
        },
        "bare image": image(png),
        "percent-encoded image": image(f"data:image/png;base64,{png.replace('/', '%2F').replace('+', '%2B')}"),
        "image after white space": image(f" \n data:image/png;base64,{png}"),
        "image in a file": image("file:///tmp/a.png"),
        "image in a browser": image("blob:https://example.com/1"),
    }  # fmt: skip
    many = file(pdf, "a.pdf", "application/pdf")
    return {
        **{name: [part] for name, part in one.items()},
        "six documents": [many] * 6,
        "two long documents": [file(by_pillow(60), f"{at}.pdf", "application/pdf") for at in "ab"],
    }
