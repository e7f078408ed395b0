r"""A document whose name the target refuses, or that has the name of another document.

Why: ``The document file name can only contain alphanumeric characters, whitespace characters,
hyphens, parentheses, and square brackets.``; ``Messages can not contain duplicate document names``;
``A text block must be included when using documents`` (Bedrock).

Repair: Refused characters of the name become hyphens, and a number makes the name unique. A message
without a text gets the text ``[continued]``.

Before (bedrock/us.amazon.nova-pro-v1:0):
    [{"role": "user", "content": [
        {"text": "Read it."},
        {"document": {"format": "txt", "name": "notes_v1.2.txt", "source": {"text": "hello"}}}]}]
After:
    [{"role": "user", "content": [
        {"text": "Read it."},
        {"document": {"format": "txt", "name": "notes_v1-2-txt", "source": {"text": "hello"}}}]}]
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect, Fix
from chatmend.dialects.blocks import name_of_file, with_file_name
from chatmend.placeholders import CONTINUED
from chatmend.rules.rule import KeyedJudge, Rule
from chatmend.rules.unsendable_part import LIMIT
from chatmend.sketch import Unsketched
from chatmend.transcript import Media, Part, Role, Text, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_LIMIT = "document_name_pattern"
_LONGEST = 200
"""Maximum length of a document name in characters (botocore 1.44.5, DocumentBlock)."""
_REFUSED = re.compile(r"[^A-Za-z0-9_()\[\]\s-]")
_UNNAMED = "document"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for the names of documents, and for messages with a document and no text."""
    pattern = context.limits.of(_LIMIT)
    if pattern is None:
        return
    converter = context.limits.of(LIMIT)
    names = _Names(
        memory,
        re.compile(pattern),
        names_required=converter is not None and not converter.names_files,
    )
    for at, message in enumerate(window.messages):
        parts = tuple(_with_valid_name(part, names) for part in message.parts)
        effect = Effect.RESHAPES
        if message.role is Role.USER and _needs_text(parts):
            parts, effect = (*parts, Text(CONTINUED)), Effect.ADDS
        if not is_unchanged(message.parts, parts):
            why = "the target refuses this document"
            yield Fix(at, at + 1, (message.with_parts(parts),), why, effect)


class _Names:
    """The names of the documents so far."""

    def __init__(self, memory: Memory, pattern: re.Pattern[str], *, names_required: bool) -> None:
        """``names_required``: whether a file block without a name needs one."""
        self.names_required = names_required
        self._sent = memory.item_ids
        self._new: set[str] = set()
        self._pattern = pattern

    def valid(self, name: object) -> str:
        """Return a valid name that no earlier document has; the same one if it is valid."""
        stem = name if isinstance(name, str) else ""
        if len(stem) > _LONGEST or not self._pattern.fullmatch(stem):
            stem = " ".join(_REFUSED.sub("-", stem).split())[:_LONGEST].strip() or _UNNAMED
        becomes, number = stem, 1
        while becomes in self._sent or becomes in self._new:
            number += 1
            becomes = f"{stem[: _LONGEST - len(str(number)) - 1]} {number}"
        self._new.add(becomes)
        return becomes


def _with_valid_name(part: Part, names: _Names) -> Part:
    if isinstance(part, ToolResult):
        content = tuple(_with_valid_name(inner, names) for inner in part.content)
        return part if is_unchanged(part.content, content) else replace(part, content=content)
    document = part.extra.get("document") if isinstance(part, Media) else None
    is_file = isinstance(part, Media) and _is_file(part.extra)
    own = name_of_file(part.extra) if is_file else None
    if own is not None or (is_file and names.names_required):
        name = names.valid(own)
        return part if name == own else replace(part, native=with_file_name(part.extra, name))
    if not isinstance(document, dict):
        return part
    name = names.valid(document.get("name"))
    if name == document.get("name"):
        return part
    return replace(part, native={**part.extra, "document": {**document, "name": name}})


def _is_file(block: dict[str, Any]) -> bool:
    """Return whether a block is one of LangChain's or OpenAI's with the data of a file."""
    held = block.get("file")
    is_openai = isinstance(held, dict) and "file_data" in held
    has_data = "base64" in block or block.get("source_type") == "base64" or is_openai
    return block.get("type") == "file" and has_data


def _needs_text(parts: tuple[Part, ...]) -> bool:
    media = [part.extra for part in parts if isinstance(part, Media)]
    has_document = any("document" in block or _is_file(block) for block in media)
    return has_document and not any(isinstance(part, Text) and part.text.strip() for part in parts)


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    return None if limits.of(_LIMIT) is None else _judge


def _judge(block: dict[str, Any]) -> object:
    """Raise for a document: its name may be that of any earlier document."""
    if _is_file(block) or isinstance(block.get("document"), dict):
        raise Unsketched
    return None


RULE = Rule(
    "DOC001",
    "invalid-document",
    find,
    {"parts": KeyedJudge(frozenset({"base64", "document", "source_type", "file"}), _make_judge)},
    own_limits={_LIMIT: str},
)
