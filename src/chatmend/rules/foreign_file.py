"""A file that another provider stores, named by its id or address.

Why: ``Invalid or unsupported file uri`` (Gemini); ``No such File object`` (OpenAI); ``File not
found`` (Anthropic). After a fallback to another provider, the ids of the first one mean nothing.

Repair: A text replaces the part and states the name, the type and the id. The form of the id tells
the provider: ``file-...`` is OpenAI's, ``file_01...`` Anthropic's; an address tells the store
(``gs://``, ``s3://``, the host of the Gemini API). An id of another form stays, with a finding.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
        {"type": "text", "text": "Read it."},
        {"type": "file", "file": {"file_id": "file-abcdefgh1234", "filename": "a.pdf"}}]}]
After:
    [{"role": "user", "content": [
        {"type": "text", "text": "Read it."},
        {"type": "text", "text": "Document not available (a.pdf, application/pdf, \
file-abcdefgh1234): it is stored at OpenAI."}]}]
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.changes import Effect
from chatmend.dialects.attachments import ATTACHMENT_KEYS, find_attachment
from chatmend.rules import document_words
from chatmend.rules.image_repair import ImageRepair, repair_images
from chatmend.rules.rule import KeyedJudge, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.dialects.attachments import Attachment
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window

_LIMIT = "file_stores"
_OWN = "own"
_LITELLM = "bGl0ZWxsb"
"""LiteLLM's own ids, which it replaces, contain this base64."""


class _Store(NamedTuple):
    name: str
    title: str
    pattern: re.Pattern[str]


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that replace files of other providers, and findings for unknown ids."""
    readable = context.limits.of(_LIMIT)
    if readable is None:
        return

    def repair_file(part: Media, role: str) -> ImageRepair | None:
        found = find_attachment(part.extra)
        owner = None if found is None else _owner_of(found, context.limits)
        if found is None or owner is None or owner == _OWN:
            return None
        if not owner:
            why = "the target may not store a file with this id"
            return ImageRepair((part,), why, Effect.DEGRADES, finding=True)
        text = document_words.stored_text(found, owner)
        why = f"the file is stored at {owner}"
        replacement = document_words.text_part(part, text, context)
        return ImageRepair((replacement,), why, Effect.DEGRADES)

    yield from repair_images(window, context, repair_file)


def _owner_of(found: Attachment, limits: Limits) -> str | None:
    """Return who stores a file: ``own`` if the target reads it, empty if unknown, None if no id."""
    name = found.reference
    if not name or _LITELLM in name[:64]:
        return None
    store = next((store for store in _stores() if store.pattern.match(name)), None)
    if store is not None:
        return _OWN if store.name in limits.of(_LIMIT) else store.title
    if found.shape != "stored" or "://" in name[:64] or name[:5].lower() == "data:":
        return None
    return "" if limits.file_references is None else _OWN  # else PART001 judges the id


@lru_cache(maxsize=1)
def _stores() -> tuple[_Store, ...]:
    file = resources.files("chatmend.targets").joinpath("file_stores.toml")
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return tuple(
        _Store(name, store["title"], re.compile(store["pattern"]))
        for name, store in table["stores"].items()
    )


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of references: who stores the file."""

    def judge(part: dict[str, Any]) -> object:
        found = find_attachment(part)
        owner = None if found is None else _owner_of(found, limits)
        return None if owner == _OWN else owner

    return None if limits.of(_LIMIT) is None else judge


RULE = Rule(
    "FILE001",
    "foreign-file",
    find,
    {"parts": KeyedJudge(ATTACHMENT_KEYS, _make_judge)},
    own_limits={_LIMIT: list[str]},
)
