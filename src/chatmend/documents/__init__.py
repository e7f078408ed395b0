"""Inspects documents without a library for their formats.

The module for PDF is imported when a first document is found.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.documents.pdf import PdfFacts, is_pdf, names_encryption, probe_pdf

__all__ = ["PdfFacts", "is_pdf", "names_encryption", "probe_pdf"]


def __getattr__(name: str) -> object:
    """Import a public name on first access."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.pdf"), name)
    globals()[name] = value
    return value
