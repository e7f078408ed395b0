"""Signed thinking whose signature is under a key of another API, or whose text is missing.

Why: ``messages.1.content.0.thinking.signature: Field required`` (Anthropic). Claude's thinking from
Google's Antigravity and Gemini CLI is stored with Google's key ``thoughtSignature``; some agents
write ``thinkingSignature``. ``messages.1.content.0.thinking.thinking: Field required`` (Anthropic):
with ``display: "omitted"`` a stream has a signature and no text, and some clients store only that.

Repair: The same signature moves to Anthropic's key, and a missing text becomes an empty one. The
thinking and the signature are unchanged.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "Plan.", "thoughtSignature": "EqQBCkYIAhgCKkAx"},
         {"type": "text", "text": "Done."}]},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"},
         {"type": "text", "text": "Done."}]},
     {"role": "user", "content": "on"}]

Before (anthropic/claude-opus-4-7):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "signature": "EqQBCkYIAhgCKkAx"},
         {"type": "text", "text": "Done."}]},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "signature": "EqQBCkYIAhgCKkAx", "thinking": ""},
         {"type": "text", "text": "Done."}]},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from chatmend.changes import Fix
from chatmend.dialects.content import SIGNATURES
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Part, Thinking, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that give signed thinking the keys ``signature`` and ``thinking``."""
    if context.limits.thinking != "signed":
        return
    for at, message in enumerate(window.messages):
        keyed = tuple(map(_with_standard_key, message.parts))
        parts = tuple(map(_with_text, keyed))
        if not is_unchanged(message.parts, parts):
            why = (
                "the signature is under a key of another API"
                if is_unchanged(parts, keyed)
                else "signed thinking has no text"
            )
            yield Fix(at, at + 1, (message.with_parts(parts),), why)


def _with_standard_key(part: Part) -> Part:
    native = part.extra
    if not _is_signed_block(part) or native.get("signature") == part.signature:
        return part
    if all(native.get(key) != part.signature for key in SIGNATURES):
        return part  # the dialect keeps it elsewhere
    kept = {key: value for key, value in native.items() if key not in SIGNATURES}
    return replace(part, native={**kept, "signature": part.signature})


def _with_text(part: Part) -> Part:
    """Return a block of thinking with an empty text if its text is null or missing."""
    native = part.extra
    is_textless = native.get("type") == "thinking" and native.get("thinking") is None
    if not is_textless or not _is_signed_block(part):
        return part
    return replace(part, native={**native, "thinking": ""})


def _is_signed_block(part: Part) -> TypeGuard[Thinking]:
    return (
        isinstance(part, Thinking) and part.is_object and not part.redacted and bool(part.signature)
    )


RULE = Rule("THINK005", "misspelt-signature", find, STRUCTURE)
