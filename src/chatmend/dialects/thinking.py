"""Thinking blocks of the dialects with blocks: recognises them and checks their signatures.

A signature does not name the provider that made it, but its form does. Claude's and Gemini's are
protocol buffers in base64. In all recorded requests the bytes of Claude's are ``12 LENGTH 0a LENGTH
08``, and those of Gemini's ``0a LENGTH 01`` or ``12 LENGTH 0a LENGTH 01``.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import Any

KINDS = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Types of content parts that hold thinking."""
_LITELLM_PREFIX = "litellm_encrypted_reasoning:"
"""Precedes OpenAI's encrypted reasoning where LiteLLM 1.110 puts it in place of a signature."""
_FOREIGN_PREFIXES = ("gAAAA", "rs_", "msg_", "{", _LITELLM_PREFIX)
"""Prefixes that no signature has: OpenAI's encrypted reasoning, OpenAI's item ids, JSON."""
_CLAUDE_CONTENT, _GEMINI_CONTENT = 0x08, 0x01
"""The first byte inside the wrappers of a signature."""
_BEGINNING = 16
"""Characters of a signature that are enough to recognise its form."""
_LENGTH_CONTINUES = 0x80
"""The bit of a byte that is set if the length of a wrapper continues in the next byte."""
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
    """Return whether a value can be Claude's signature or the data of its redacted blocks."""
    return (
        signature is not None
        and bool(signature.strip())
        and not signature.startswith(_FOREIGN_PREFIXES)
        and not is_gemini_signature(signature)
    )


def is_kept_by_litellm(signature: str | None) -> bool:
    """Return whether a value is encrypted reasoning of OpenAI that LiteLLM will put in its place.

    Nobody else writes or reads it: LiteLLM sends it to the Responses API as a reasoning item.
    """
    return signature is not None and signature.startswith(_LITELLM_PREFIX)


def is_claude_signature(signature: str) -> bool:
    """Return whether a signature has the form of Claude's thinking signatures."""
    if not signature.startswith("E"):  # the byte 12
        return False
    wrappers, content = _unwrap(signature[:_BEGINNING])
    return wrappers == b"\x12\x0a" and content == _CLAUDE_CONTENT


def is_gemini_signature(signature: str) -> bool:
    """Return whether a signature has the form of Gemini's thought signatures."""
    if not signature.startswith(("C", "E")):  # the bytes 0a and 12
        return False
    wrappers, content = _unwrap(signature[:_BEGINNING])
    return wrappers.endswith(b"\x0a") and content == _GEMINI_CONTENT


@lru_cache(maxsize=1024)
def _unwrap(beginning: str) -> tuple[bytes, int]:
    """Return the tags at the beginning, at most one of each kind, and the byte that follows."""
    try:
        data = base64.b64decode(beginning, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b"", 0
    at, tags = 0, b""
    for tag in b"\x12\x0a":
        if at < len(data) and data[at] == tag:
            tags, at = tags + bytes([tag]), at + 1
            while at < len(data) and data[at] & _LENGTH_CONTINUES:
                at += 1
            at += 1
    return tags, data[at] if at < len(data) else 0


def is_signed_detail(detail: Any) -> bool:  # noqa: ANN401 - callers may send any value
    """Return whether an entry of OpenRouter's ``reasoning_details`` is Claude's signed thinking."""
    if detail.__class__ is not dict:
        return False
    proof = detail.get("signature") or detail.get("data")
    is_signature = can_be_signature(proof if isinstance(proof, str) else None)
    return is_signature and not is_foreign_detail(detail)


def is_foreign_detail(detail: dict[str, Any]) -> bool:
    """Return whether an entry of ``reasoning_details`` names a format that is not Claude's."""
    form = detail.get("format")
    return isinstance(form, str) and not form.startswith(_CLAUDE_FORMATS)
