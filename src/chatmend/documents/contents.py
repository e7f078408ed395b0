"""Reads the text of a document without a library: of text files and of Word's .docx."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from xml.parsers import expat

_WORD = "word/document.xml"
_ZIP = b"PK\x03\x04"
_INFLATED_PER_BYTE, _INFLATED_ALWAYS, _MOST_INFLATED = 20, 1 << 20, 32 << 20
"""The text of a .docx is inflated to at most 1 MiB, plus 20 bytes for each byte of the file.

It is never inflated to more than 32 MiB.
"""
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Other compressions cannot be read in pieces, so their size cannot be limited."""
_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_STRICT_NAMESPACE = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_ENDS = {"p": "\n", "tc": "\t"}
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
"""Encodings of text by the mark at its beginning."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
"""Characters that no text contains."""
_WINDOWS = "cp1252"
_PIECE = 1 << 16


def decode_text(data: bytes, *, is_called_text: bool = False) -> str | None:
    """Return the text of a file; None if it is not a text.

    Args:
        data: the file, as UTF-8, or as UTF-16 with a mark.
        is_called_text: whether its name or media type says that it is a text. Then it may also
            be encoded for Windows in Western Europe.
    """
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    for candidate in (encoding, _WINDOWS) if is_called_text else (encoding,):
        try:
            text = data.decode(candidate)
        except UnicodeDecodeError:
            continue
        return None if _CONTROL.search(text) else text
    return None


def is_zip(head: bytes) -> bool:
    """Return whether a file begins like an archive, as a .docx does."""
    return head.startswith(_ZIP)


def read_docx(data: bytes) -> str | None:
    """Return the text of a .docx, one line per paragraph; None if it cannot be read.

    Never raises. Pictures, headers, footnotes and deleted text are left out.
    """
    if not is_zip(data):
        return None
    try:
        xml = _document_xml(data)
        return None if xml is None else _text_of(xml)
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, RuntimeError, OSError):
        return None
    except (ValueError, KeyError, EOFError, NotImplementedError, OverflowError, IndexError):
        return None


def _document_xml(data: bytes) -> bytes | None:
    budget = min(_INFLATED_ALWAYS + _INFLATED_PER_BYTE * len(data), _MOST_INFLATED)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entry = archive.getinfo(_WORD)
        if entry.compress_type not in _READABLE:
            return None
        with archive.open(entry) as file:
            xml = file.read(budget + 1)
    return xml if len(xml) <= budget else None


def _text_of(xml: bytes) -> str:
    """Return the text in the XML of a document. A document type, which could expand, is refused."""
    reader = _TextReader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.read
    parser.StartDoctypeDeclHandler = _refuse
    for at in range(0, len(xml), _PIECE):
        parser.Parse(xml[at : at + _PIECE], at + _PIECE >= len(xml))
    lines = "".join(reader.out).split("\n")
    return "\n".join(line.rstrip("\t ") for line in lines).strip("\n")


def _refuse(*_: object) -> None:
    raise ValueError("a document type is not allowed")


class _TextReader:
    """Collects the texts of a document while its elements are read."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self._is_text = False

    def start(self, tag: str, _: dict[str, str]) -> None:
        name = _local(tag)
        self._is_text = name == "t"
        if name in _BREAKS:
            self.out.append(_BREAKS[name])

    def end(self, tag: str) -> None:
        name = _local(tag)
        self._is_text = False
        if name == "tc" and self.out and self.out[-1] == "\n":
            self.out.pop()  # the last paragraph of a cell does not end its row
        if name in _ENDS:
            self.out.append(_ENDS[name])
        elif name == "tr":
            self.out.append("\n")

    def read(self, text: str) -> None:
        if self._is_text:
            self.out.append(text)


def _local(tag: str) -> str:
    """Return the name of an element of WordprocessingML; empty for other elements."""
    namespace, _, name = tag.rpartition(" ")
    return name if namespace in (_NAMESPACE, _STRICT_NAMESPACE) else ""
