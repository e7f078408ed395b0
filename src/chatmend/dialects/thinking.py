"""Thinking blocks of the dialects with blocks: recognises them and checks their signatures."""

from __future__ import annotations

from typing import Any

KINDS = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Types of content parts that hold thinking."""
_FOREIGN_PREFIXES = ("gAAAA", "rs_", "msg_", "{")
"""Prefixes that no signature has: OpenAI's encrypted reasoning, OpenAI's item ids, JSON."""
_CLAUDE_FORMATS = ("anthropic", "unknown")
"""Beginnings of the formats of ``reasoning_details`` that may be Claude's."""


def is_thinking(part: Any) -> bool:  # noqa: ANN401 - callers may send any value
    """Return whether a content part is a thinking block."""
    if part.__class__ is not dict:
        return False
    kind = part.get("type")
    return kind.__class__ is str and kind in KINDS


def has_thinking_text(block: dict[str, Any]) -> bool:
    """Return whether a thinking block has text, or a list as Mistral's have.

    Every block that a model wrote has one of them.
    """
    return block.get("type") != "thinking" or isinstance(block.get("thinking"), str | list)


def can_be_signature(signature: str | None) -> bool:
    """Return whether a value can be a thinking signature or the data of a redacted block."""
    return (
        signature is not None
        and bool(signature.strip())
        and not signature.startswith(_FOREIGN_PREFIXES)
    )


def is_signed_detail(detail: Any) -> bool:  # noqa: ANN401 - callers may send any value
    """Return whether an entry of OpenRouter's ``reasoning_details`` is Claude's signed thinking."""
    if detail.__class__ is not dict:
        return False
    form, proof = detail.get("format"), detail.get("signature") or detail.get("data")
    return can_be_signature(proof if isinstance(proof, str) else None) and (
        not isinstance(form, str) or form.startswith(_CLAUDE_FORMATS)
    )
