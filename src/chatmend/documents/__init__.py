"""Inspects documents and recordings without a library for their formats.

A module is imported when the first file of its kind is found.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.documents.contents import decode_text, is_zip, read_docx
    from chatmend.documents.pdf import PdfFacts, is_pdf, names_encryption, probe_pdf
    from chatmend.documents.recordings import RecordingFacts, probe_recording
    from chatmend.documents.splitting import can_split, split_pdf

__all__ = [
    "PdfFacts",
    "RecordingFacts",
    "can_split",
    "decode_text",
    "is_pdf",
    "is_zip",
    "names_encryption",
    "probe_pdf",
    "probe_recording",
    "read_docx",
    "split_pdf",
]
_NAMES_BY_MODULE = {
    "contents": ("decode_text", "is_zip", "read_docx"),
    "pdf": ("PdfFacts", "is_pdf", "names_encryption", "probe_pdf"),
    "recordings": ("RecordingFacts", "probe_recording"),
    "splitting": ("can_split", "split_pdf"),
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name on first access."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
