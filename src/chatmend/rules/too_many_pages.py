"""More pages of PDF documents in one request than the target accepts.

Why: ``A maximum of 100 PDF pages may be provided.`` (Anthropic). The pages of all documents in the
history count, so the session ends with the document that exceeds the limit.

Repair: The oldest documents are replaced by texts with their names and numbers of pages, in coarse
steps: if the limit is exceeded, enough documents are removed at once to leave a quarter of it free,
except for the newest one. A document that alone has too many pages is replaced too. A document
whose pages cannot be counted counts as none.

Before (anthropic/claude-sonnet-4-5): a report of 90 pages, and later a contract of 30
After: the text ``Document removed (report.pdf, 1.2 MB, 90 pages): the request held more pages than
the model takes.``, and later the contract
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.dialects.documents import DOCUMENT_KEYS, find_document, text_in_place_of
from chatmend.rules import document_words
from chatmend.rules.document_facts import facts_of
from chatmend.rules.image_repair import ImageRepair, ImageRewriter
from chatmend.rules.rule import Request, RequestRule
from chatmend.signatures import last_signed
from chatmend.targets.image_limits import KEPT_SHARE
from chatmend.transcript import Media, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects.documents import Document
    from chatmend.transcript import Message, Part

CODE, NAME = "DOC003", "too-many-pages"
_LIMIT = "max_pdf_pages"
_WHY = "the request held more pages than the model takes"


@dataclass(frozen=True, slots=True)
class _SentDocument:
    """A document that is still sent."""

    at: int
    """The index of its message."""
    number: int
    """Its position among the documents of the message."""
    pages: int
    document: Document


@dataclass(slots=True)
class _Tally:
    """The documents that are still sent, counted message by message."""

    most: int
    documents: deque[_SentDocument] = field(default_factory=deque)
    pages: int = 0
    dropped: dict[int, dict[int, str]] = field(default_factory=dict)
    """For the index of a message, the text that replaces each document, by its position."""

    def add(self, document: _SentDocument) -> None:
        """Add a document, and drop the oldest ones if there are too many pages."""
        self.documents.append(document)
        self.pages += document.pages
        if self.pages <= self.most:
            return
        kept = int(self.most * KEPT_SHARE)
        while self.documents and self.pages > (kept if len(self.documents) > 1 else self.most):
            oldest = self.documents.popleft()
            self.pages -= oldest.pages
            if oldest.pages:
                text = document_words.removed_text(oldest.document, _WHY, oldest.pages)
                self.dropped.setdefault(oldest.at, {})[oldest.number] = text


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Replace the oldest documents if there are too many pages; return one change per message."""
    most = context.limits.of(_LIMIT)
    if most is None:
        return request, []
    tally = _Tally(most)
    for at, native in enumerate(request.messages):
        if not _may_hold_document(native):
            continue
        documents = _documents_in(context.dialect.read(native).parts)
        for number, document in enumerate(documents):
            tally.add(_SentDocument(at, number, facts_of(document).pages or 0, document))
    if not tally.dropped:
        return request, []
    return _replace_dropped(request, tally.dropped, context)


def _may_hold_document(native: object) -> bool:
    """Return whether a message has a list of parts, or is not a dict."""
    if not isinstance(native, dict):
        return getattr(native, "content", None).__class__ is list
    return any(_has_document_key(native.get(key)) for key in ("content", "parts", "output"))


def _has_document_key(parts: object) -> bool:
    return isinstance(parts, list) and any(
        isinstance(part, dict)
        and (not DOCUMENT_KEYS.isdisjoint(part) or _has_document_key(part.get("content")))
        for part in parts
    )


def _documents_in(parts: tuple[Part, ...]) -> Iterator[Document]:
    for part in parts:
        if isinstance(part, ToolResult):
            yield from _documents_in(part.content)
        elif isinstance(part, Media) and (document := find_document(part.extra)) is not None:
            yield document


def _replace_dropped(
    request: Request, dropped: dict[int, dict[int, str]], context: Context
) -> tuple[Request, list[Change]]:
    allowed = context.policy.allow >= Effect.DROPS
    signed = last_signed(request.messages, context)
    out: list[Any] = list(request.messages)
    changes: list[Change] = []
    for at, texts in sorted(dropped.items()):
        becomes = _with_texts(out[at], texts, context) if allowed else out[at]
        why = f"too many PDF pages for one request; oldest documents removed: {len(texts)}"
        changes.append(
            Change(
                CODE, NAME, Effect.DROPS, at, why, (out[at],), (becomes,), None, at,
                applied=allowed, invalidates_thinking=allowed and at <= signed,
            )
        )  # fmt: skip
        out[at] = becomes
    return (replace(request, messages=out) if allowed else request), changes


def _with_texts(native: object, texts: dict[int, str], context: Context) -> object:
    """Return a message with texts in place of some of its documents."""
    numbers = count()

    def replace_document(part: Media, role: str) -> ImageRepair | None:
        if find_document(part.extra) is None or (text := texts.get(next(numbers))) is None:
            return None
        return ImageRepair((Text(text, text_in_place_of(part.extra, text)),), "", Effect.DROPS)

    message = context.dialect.read(native)
    rewriter = ImageRewriter(replace_document, Effect.DROPS)
    return context.dialect.write(message.with_parts(rewriter.rewrite(message.parts, message.role)))


def _may_count(message: Message) -> bool:
    """Return whether the structure of a message shows that it may hold a document."""
    return any(map(_may_be_document, message.parts))


def _may_be_document(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return any(map(_may_be_document, part.content))
    return isinstance(part, Media) and not DOCUMENT_KEYS.isdisjoint(part.extra)


RULE = RequestRule(CODE, NAME, apply, _may_count)
