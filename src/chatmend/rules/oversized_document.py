"""A document that alone has more pages or bytes than the target accepts.

Why: ``A maximum of 100 PDF pages may be provided.`` (Anthropic), 1000 pages and 50 MB (Gemini),
4.5 MB (Bedrock).

Repair: A text replaces the document and states its name, size and number of pages. With the policy
``documents="split"`` and the extra ``pdf`` (pypdf), a PDF is split at the limit instead: into
several PDFs, each after a caption with its pages. If the limit holds for all pages of a request,
only the first ones are sent, and the caption says so.

Before (anthropic/claude-sonnet-4-5): a report of 250 pages
After: the text ``Document removed (report.pdf, 3.1 MB, 250 pages): it has more pages than the model
takes (100).``
After (anthropic/claude-sonnet-4-5, documents="split"): the text ``Document report.pdf, 3.1 MB, 250
pages: pages 1 to 100.``, and a PDF of these pages
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from chatmend import documents, images
from chatmend.changes import Effect
from chatmend.dialects.documents import DOCUMENT_KEYS, find_document, replace_data
from chatmend.images.payload import encode_base64
from chatmend.rules import document_words
from chatmend.rules.document_facts import content_of, pages_of, size_of
from chatmend.rules.image_repair import ImageRepair, repair_images, without_cache_marker
from chatmend.rules.rule import KeyedJudge, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.dialects.documents import Document
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Media, Part
    from chatmend.windows import Memory, Window

_PAGES, _BYTES = "max_document_pages", "max_document_bytes"
_ROOM = 0.8
"""The share of the limit on bytes that a piece should use: pages differ in size."""
_MOST_PIECES = 50
"""A document with more pieces is replaced by a text."""


class _Excess(NamedTuple):
    """How a document exceeds a limit."""

    what: str
    """``pages`` or ``bytes``."""
    limit: int
    is_total: bool
    """Whether the limit holds for the whole request."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that split or replace documents above a limit."""
    if not _is_limited(context.limits):
        return

    def repair_document(part: Media, role: str) -> ImageRepair | None:
        document = find_document(part.extra)
        excess = None if document is None else _excess_of(document, context.limits)
        if document is None or excess is None:
            return None
        return _repair(part, document, excess, context)

    yield from repair_images(window, context, repair_document)


def _is_limited(limits: Limits) -> bool:
    return any(limits.of(name) for name in (_PAGES, _BYTES, "max_pdf_pages"))


def _excess_of(document: Document, limits: Limits) -> _Excess | None:
    most = limits.of(_BYTES)
    if most is not None and size_of(document) > most:
        return _Excess("bytes", most, is_total=False)
    for name in (_PAGES, "max_pdf_pages"):
        most = limits.of(name)
        if most is not None and document.is_called_pdf and pages_of(document) > most:
            return _Excess("pages", most, is_total=name != _PAGES)
    return None


def _repair(part: Media, document: Document, excess: _Excess, context: Context) -> ImageRepair:
    pages = pages_of(document)
    limit = str(excess.limit) if excess.what == "pages" else images.format_size(excess.limit)
    problem = f"it has more {excess.what} than the model takes ({limit})"
    why = f"{document_words.measure(document, pages)}: {problem}"
    if context.policy.documents == "split" and (pieces := _split(document, excess, pages)):
        parts = _pieces_of(part, document, pieces, pages, context)
        effect = Effect.DEGRADES if excess.is_total else Effect.RESHAPES
        return ImageRepair(parts, f"{why}; split into {len(pieces)}", effect)
    if context.policy.documents == "split" and document.is_called_pdf and not documents.can_split():
        why += "; to split it: pip install 'chatmend[pdf]'"
    text, effect = document_words.removed_text(document, problem, pages), Effect.DROPS
    if excess.what == "bytes" and (content := content_of(document)) is not None:
        text, effect = document_words.content_text(document.name, content), Effect.DEGRADES
    return ImageRepair((document_words.text_part(part, text, context),), why, effect)


class _Piece(NamedTuple):
    data: bytes
    first: int
    last: int


def _split(document: Document, excess: _Excess, pages: int) -> list[_Piece]:
    """Return the pieces of a PDF; empty if it cannot be split so that each fits."""
    if not document.is_called_pdf or not pages or not documents.can_split():
        return []
    step = excess.limit
    if excess.what == "bytes":
        step = int(pages * excess.limit * _ROOM / size_of(document))
    if step < 1 or (pages / step > _MOST_PIECES and not excess.is_total):
        return []
    pieces = documents.split_pdf(document.payload.decode(), step, first_only=excess.is_total) or []
    if excess.what == "bytes" and any(len(piece) > excess.limit for piece in pieces):
        return []
    firsts = range(1, pages + 1, step)
    return [
        _Piece(data, first, min(first + step - 1, pages))
        for data, first in zip(pieces, firsts, strict=False)
    ]


def _pieces_of(
    part: Media, document: Document, pieces: list[_Piece], pages: int, context: Context
) -> tuple[Part, ...]:
    """Return a caption and a PDF for each piece. The last one keeps the cache marker."""
    native = part.extra
    out: list[Part] = []
    bare = replace(part, native=without_cache_marker(native))
    for number, piece in enumerate(pieces, 1):
        caption = document_words.pages_text(document, piece.first, piece.last, pages)
        out.append(document_words.caption_part(bare, caption, context))
        kept = native if number == len(pieces) else bare.extra
        data = encode_base64(piece.data)
        becomes = replace_data(kept, document.shape, data, document.media_type)
        out.append(replace(part, native=becomes))
    return tuple(out)


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of documents: whether one exceeds a limit, and which."""

    def judge(part: dict[str, object]) -> object:
        document = find_document(part)
        return None if document is None else _excess_of(document, limits)

    return judge if _is_limited(limits) else None


RULE = Rule(
    "DOC006",
    "oversized-document",
    find,
    {"parts": KeyedJudge(DOCUMENT_KEYS, _make_judge)},
    own_limits={_PAGES: int, _BYTES: int},
)
