"""Finds signed thinking, and reads and removes thought signatures."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import signature_in_id
from chatmend.dialects.gemini_parts import SIGNATURE_KEYS, data_keys
from chatmend.dialects.gemini_parts import signature_of as signature_of_part
from chatmend.transcript import Thinking, ToolCall, is_signed

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.transcript import Part

SKIPPED_CHECK = "skip_thought_signature_validator"
"""The value that makes Gemini skip the check of a signature, as OpenRouter takes it."""
SKIP_SIGNATURE = base64.b64encode(SKIPPED_CHECK.encode()).decode()
"""The same value in the form in which Gemini takes signatures."""


def last_signed(messages: list[Any], context: Context) -> int:
    """Return the index of the last message with thinking that the target signs; -1 if none."""
    if context.limits.thinking != "signed":
        return -1
    for at in range(len(messages) - 1, -1, -1):
        if is_signed(context.dialect.read(messages[at]).parts):
            return at
    return -1


def signature_of(part: Part) -> object:
    """Return the thought signature of a part; None if it has none."""
    if isinstance(part, ToolCall):
        return part.signature or signature_in_id(part.id)
    return signature_of_part(part.extra)


def without_genuine_signature(part: Part) -> Part | None:
    """Return a part as one whose signature is unknown: a call gets the value that skips the check.

    None if nothing else is in the part.
    """
    if isinstance(part, ToolCall):
        return replace(part, signature=SKIP_SIGNATURE)
    return without_signature(part)


def without_signature(part: Part, *, typed: bool = True) -> Part | None:
    """Return a part without its signature; None if it holds no data.

    With ``typed``, the data of a part with a type may be under any key.
    """
    native = part.extra
    kept = {key: value for key, value in native.items() if key not in SIGNATURE_KEYS}
    if not data_keys(kept) and not (typed and "type" in kept):
        return None
    return (
        replace(part, native=kept, signature=None)
        if isinstance(part, Thinking)
        else replace(part, native=kept)
    )
