"""Fuzzes the readers of documents, recordings, metadata and addresses with damaged files.

    python -m tests.documents.fuzz [COUNT [KIND ...]]

No reader may raise, and none may take more memory than a fixed amount plus a multiple of the file. A repair
of a message with such a file must be a fixed point.
"""

from __future__ import annotations

import base64
import random
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import chatmend
from chatmend.documents import decode_text, probe_pdf, probe_recording, read_docx
from chatmend.documents.splitting import split_pdf
from chatmend.images.addresses import corrected_link, is_address, read_data_url
from chatmend.images.metadata import strip_metadata
from chatmend.images.reader import bytes_reader
from tests.documents import files
from tests.documents.pdfs import by_pillow, encrypted, protected, with_object_streams
from tests.images.fuzz import damaged
from tests.images.fuzz import seeds as images

if TYPE_CHECKING:
    from collections.abc import Callable

TARGETS = ("anthropic/claude-sonnet-4-5", "openai/gpt-4.1", "gemini/gemini-2.5-flash")
_MEMORY, _MEMORY_PER_BYTE = 4 << 20, 60
"""Object streams and .docx are inflated to 1 MiB plus 20 bytes for each byte, and then read."""


def seeds() -> dict[str, list[bytes]]:
    """Whole files by kind."""
    pictures = images()
    return {
        "pdf": [by_pillow(3), with_object_streams(5), encrypted(), protected(""), protected("x", "AES-256-R5")],
        "docx": [files.docx("Hello", "World"), files.zipped({"word/document.xml": "<a/>"})],
        "recording": [files.wav(0.1), files.mp3(3, tagged=True), files.mp4(2), files.mp4(2, version=1), files.ogg(1), files.flac(1)],
        "metadata": [data for kind in ("JPEG", "PNG", "WEBP", "GIF") for data in pictures[kind]],
        "address": [
            text.encode()
            for text in (
                "data:image/png;base64,iVBORw0KGgo=", ' \n"DATA:;charset=x;base64,%69VBO"', "//host/a.png",
                "data:image/svg+xml,%3Csvg/%3E", "file:///a", "data:a;base64,data:b;base64,AAAA", "image/png;base64,AA",
            )
        ],
    }  # fmt: skip


def _read_address(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    found = read_data_url(text)
    assert found is None or isinstance(found.data, str | bytes)
    is_address(text)
    corrected_link(text, ("http", "https"))


def _strip(data: bytes) -> None:
    for kind in ("jpeg", "png", "webp", "gif"):
        stripped = strip_metadata(data, kind)
        assert stripped is None or strip_metadata(stripped, kind) is None


def _read_pdf(data: bytes) -> None:
    facts = probe_pdf(data)
    assert facts.size == len(data)
    if len(data) % 8 == 0:  # pypdf is slow
        split_pdf(data, 2)


READERS: dict[str, Callable[[bytes], Any]] = {
    "pdf": _read_pdf,
    "docx": lambda data: (read_docx(data), decode_text(data, is_called_text=True)),
    "recording": lambda data: probe_recording(bytes_reader(data)),
    "metadata": _strip,
    "address": _read_address,
}
_TYPES = {"pdf": "application/pdf", "docx": files.DOCX, "recording": "audio/wav"}


def check(kind: str, data: bytes, target: str) -> str | None:
    """Return what goes wrong with a damaged file, if anything."""
    tracemalloc.start()
    READERS[kind](data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if kind != "pdf" and peak > _MEMORY + _MEMORY_PER_BYTE * len(data):
        return f"{peak} bytes of memory for {len(data)} bytes"
    text = base64.b64encode(data).decode()
    url = (
        data.decode("utf-8", "replace")
        if kind == "address"
        else f"data:{_TYPES.get(kind, 'image/png')};base64,{text}"
    )
    part = (
        files.image(url)
        if kind in ("address", "metadata")
        else {"type": "file", "file": {"filename": "a", "file_data": url}}
    )
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, part]}]
    done = chatmend.repair(messages, target)
    if chatmend.repair(done.messages, target).messages is not done.messages:
        return "not a fixed point"
    return None


def run(count: int, kinds: list[str]) -> int:
    """Fuzz each kind ``count`` times; return how many went wrong."""
    whole = seeds()
    everything = [data for group in whole.values() for data in group]
    return sum(_run(kind, whole[kind], everything, count) for kind in kinds or sorted(whole))


def _run(kind: str, whole: list[bytes], everything: list[bytes], count: int) -> int:
    lots, wrong = random.Random(f"documents {kind}"), 0
    for at in range(count):
        data = damaged(whole, everything, lots)
        try:
            fault = check(kind, data, TARGETS[at % len(TARGETS)])
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            fault = f"{type(error).__name__}: {error}"
        if fault:
            wrong += 1
            print(kind, at, fault)
    print(f"{kind:10} {count} files, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if run(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2:]) else 0)
