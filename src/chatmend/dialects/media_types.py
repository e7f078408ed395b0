"""Media types of files, by the ending of their names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PDF = "application/pdf"
PLAIN = "text/plain"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_BY_ENDING = {
    "pdf": PDF,
    "docx": DOCX,
    "doc": "application/msword",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    "xls": "application/vnd.ms-excel",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "txt": PLAIN,
    "log": PLAIN,
    "md": "text/markdown",
    "html": "text/html",
    "htm": "text/html",
    "css": "text/css",
    "xml": "application/xml",
    "json": "application/json",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "js": "text/javascript",
    "py": "text/x-python",
    "rtf": "application/rtf",
    "zip": "application/zip",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "webm": "video/webm",
}
_BEDROCK_FORMATS = ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")
FORMAT_OF_TYPE = {_BY_ENDING[form]: form for form in _BEDROCK_FORMATS}
"""The ``format`` of a document in Bedrock's Converse API, by media type."""
_TEXT_TYPES = frozenset(
    {
        *("application/json", "application/xml", "application/yaml", "application/x-yaml"),
        *("application/javascript", "application/x-javascript", "application/typescript"),
        *("application/x-python", "application/x-sh", "application/sql", "application/csv"),
        *("application/x-ndjson", "application/jsonl", "application/toml"),
    }
)
"""Media types of texts that do not begin with ``text/``."""


def media_type_of_name(name: str) -> str:
    """Return the media type of a file by the ending of its name; empty if it is not known.

    >>> media_type_of_name("Report.PDF")
    'application/pdf'
    """
    _, dot, ending = name.rpartition(".")
    return _BY_ENDING.get(ending.lower(), "") if dot else ""


def is_pdf_type(label: object) -> bool:
    """Return whether a value is the media type of PDFs, in any spelling."""
    return isinstance(label, str) and label.partition(";")[0].strip().lower() == PDF


def is_text_type(media_type: str) -> bool:
    """Return whether files of a media type are texts."""
    return (
        media_type.startswith("text/")
        or media_type in _TEXT_TYPES
        or media_type.endswith(("+xml", "+json"))
    )


def is_one_of_types(media_type: str, accepted: Iterable[str]) -> bool:
    """Return whether a media type matches one of these patterns, such as ``text/*``."""
    return any(fnmatchcase(media_type, pattern) for pattern in accepted)
