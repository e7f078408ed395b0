"""Blocks of thinking, as every dialect of blocks has them: what is one, and what can be its proof."""

from __future__ import annotations

from typing import Any

KINDS = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Types of content parts that hold thinking."""
_FOREIGN = ("gAAAA", "rs_", "msg_", "{")
"""How other providers' proofs begin: OpenAI's encrypted reasoning and item ids, JSON."""


def is_thinking(part: Any) -> bool:  # noqa: ANN401 - anything may stand here
    """Whether a content part holds thinking."""
    if part.__class__ is not dict:
        return False
    kind = part.get("type")
    return kind.__class__ is str and kind in KINDS


def is_worded(block: dict[str, Any]) -> bool:
    """Whether a block of thinking holds a text, or as Mistral's a list, as each does that a model wrote."""
    return block.get("type") != "thinking" or isinstance(block.get("thinking"), str | list)


def can_be_proof(signature: str | None) -> bool:
    """Whether a value can be the signature of a thinking block, or the data of a redacted one."""
    return signature is not None and bool(signature.strip()) and not signature.startswith(_FOREIGN)
