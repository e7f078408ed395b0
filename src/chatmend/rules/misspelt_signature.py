"""Signed thinking whose signature stands under a key of another route.

Why: ``messages.1.content.0.thinking.signature: Field required`` (Anthropic). Claude behind Google's Antigravity and Gemini
CLI routes is stored with Google's spelling, ``thoughtSignature``; some agents write ``thinkingSignature``.

Repair: the same signature under Anthropic's key. The thinking and the proof stay what they were.

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
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.dialects.content import SIGNATURES
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Part, Thinking, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with a signature under another key."""
    if context.limits.thinking != "signed":
        return
    for at, message in enumerate(window.messages):
        parts = tuple(map(_spelled, message.parts))
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (replace(message, parts=parts),), "the signature stands under another key")


def _spelled(part: Part) -> Part:
    native = part.extra
    if not isinstance(part, Thinking) or part.redacted or not part.is_object:
        return part
    if not part.signature or native.get("signature") == part.signature:
        return part
    kept = {key: value for key, value in native.items() if key not in SIGNATURES}
    return replace(part, native={**kept, "signature": part.signature})


RULE = Rule("THINK005", "misspelt-signature", find, STRUCTURE)
