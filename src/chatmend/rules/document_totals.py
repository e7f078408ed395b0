"""Shared code of the rules on totals of documents: counts them and replaces the oldest."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.dialects.documents import DOCUMENT_KEYS, find_document
from chatmend.rules import document_words
from chatmend.rules.image_repair import ImageRepair, ImageRewriter
from chatmend.signatures import last_signed
from chatmend.targets.image_limits import KEPT_SHARE
from chatmend.transcript import Media, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects.documents import Document
    from chatmend.rules.rule import Request
    from chatmend.transcript import Message, Part


@dataclass(frozen=True, slots=True)
class Total:
    """A limit on the documents of a request, and how it is counted and reported."""

    code: str
    name: str
    limit: int
    weigh: Callable[[Document], int]
    """How much of the limit a document uses."""
    write: Callable[[Document, int], str]
    """The text that replaces a document, from the document and its weight."""
    why: str
    """The reason of the change; ``{}`` is the number of documents removed from a message."""


@dataclass(frozen=True, slots=True)
class _SentDocument:
    """A document that is still sent."""

    at: int
    """The index of its message."""
    number: int
    """Its position among the documents of the message."""
    weight: int
    document: Document


@dataclass(slots=True)
class _Tally:
    """The documents that are still sent, counted message by message."""

    total: Total
    documents: deque[_SentDocument] = field(default_factory=deque)
    used: int = 0
    dropped: dict[int, dict[int, str]] = field(default_factory=dict)
    """For the index of a message, the text that replaces each document, by its position."""

    def add(self, document: _SentDocument) -> None:
        """Add a document, and drop the oldest ones if the limit is exceeded."""
        most = self.total.limit
        self.documents.append(document)
        self.used += document.weight
        if self.used <= most:
            return
        kept = int(most * KEPT_SHARE)
        while self.documents and self.used > (kept if len(self.documents) > 1 else most):
            oldest = self.documents.popleft()
            self.used -= oldest.weight
            if oldest.weight:
                text = self.total.write(oldest.document, oldest.weight)
                self.dropped.setdefault(oldest.at, {})[oldest.number] = text


def apply_total(request: Request, context: Context, total: Total) -> tuple[Request, list[Change]]:
    """Replace the oldest documents if a limit is exceeded; return one change per message."""
    tally = _Tally(total)
    for at, native in enumerate(request.messages):
        if not _may_hold_document(native):
            continue
        for number, document in enumerate(_documents_in(context.dialect.read(native).parts)):
            tally.add(_SentDocument(at, number, total.weigh(document), document))
    if not tally.dropped:
        return request, []
    return _replace_dropped(request, tally, context)


def _may_hold_document(native: object) -> bool:
    """Return whether a message has a list of parts, or is not a dict."""
    if not isinstance(native, dict):
        return getattr(native, "content", None).__class__ is list
    return any(_has_document_key(native.get(key)) for key in ("content", "parts", "output"))


def _has_document_key(parts: object) -> bool:
    return isinstance(parts, list) and any(
        isinstance(part, dict)
        and (
            not DOCUMENT_KEYS.isdisjoint(part)
            or _has_document_key(part.get("content"))
            or "toolResult" in part
            or "functionResponse" in part
        )
        for part in parts
    )


def _documents_in(parts: tuple[Part, ...]) -> Iterator[Document]:
    for part in parts:
        if isinstance(part, ToolResult):
            yield from _documents_in(part.content)
        elif isinstance(part, Media) and (document := find_document(part.extra)) is not None:
            yield document


def _replace_dropped(
    request: Request, tally: _Tally, context: Context
) -> tuple[Request, list[Change]]:
    allowed, total = context.policy.allow >= Effect.DROPS, tally.total
    signed = last_signed(request.messages, context)
    out: list[Any] = list(request.messages)
    changes: list[Change] = []
    for at, texts in sorted(tally.dropped.items()):
        becomes = _with_texts(out[at], texts, context) if allowed else out[at]
        changes.append(
            Change(
                total.code, total.name, Effect.DROPS, at, total.why.format(len(texts)),
                (out[at],), (becomes,), None, at,
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
        return ImageRepair((document_words.text_part(part, text, context),), "", Effect.DROPS)

    message = context.dialect.read(native)
    rewriter = ImageRewriter(replace_document, Effect.DROPS)
    return context.dialect.write(message.with_parts(rewriter.rewrite(message.parts, message.role)))


def may_hold_documents(message: Message) -> bool:
    """Return whether the structure of a message shows that it may hold a document."""
    return any(map(_may_be_document, message.parts))


def _may_be_document(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return any(map(_may_be_document, part.content))
    return isinstance(part, Media) and not DOCUMENT_KEYS.isdisjoint(part.extra)
