"""Cuts a PDF into smaller ones, with pypdf (the extra ``pdf``)."""

from __future__ import annotations

import io
import logging
from functools import lru_cache
from typing import Any

_LARGEST = 64 << 20
"""Larger files are not split: pypdf holds several copies of a file in memory."""


@lru_cache(maxsize=1)
def _pypdf() -> Any:  # noqa: ANN401 - a module or None
    try:
        import pypdf
    except ImportError:
        return None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    return pypdf


def can_split() -> bool:
    """Return whether the library that splits PDFs is installed."""
    return _pypdf() is not None


def split_pdf(data: bytes, pages: int, *, first_only: bool = False) -> list[bytes] | None:
    """Return the pages of a PDF in several PDFs; None if it cannot be split.

    Never raises. The same file is split into the same bytes by the same version of pypdf.

    Args:
        data: the file.
        pages: the most pages of one piece.
        first_only: whether only the first piece is needed.
    """
    pypdf = _pypdf()
    if pypdf is None or len(data) > _LARGEST:
        return None
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        count = len(reader.pages)
        starts = range(0, pages if first_only else count, pages)
        return [_piece(pypdf, reader, at, min(at + pages, count)) for at in starts]
    except Exception:  # noqa: BLE001 - pypdf raises many kinds of exceptions for a damaged file
        return None


def _piece(pypdf: Any, reader: Any, start: int, stop: int) -> bytes:  # noqa: ANN401 - pypdf has no types here
    writer = pypdf.PdfWriter()
    writer.append(reader, pages=(start, stop), import_outline=False)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
