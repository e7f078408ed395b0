"""Signed thinking whose signature is under a key of another API.

Why: ``messages.1.content.0.thinking.signature: Field required`` (Anthropic). Claude's thinking from
Google's Antigravity and Gemini CLI is stored with Google's key ``thoughtSignature``; some agents
write ``thinkingSignature``.

Repair: The same signature moves to Anthropic's key. The thinking and the signature are unchanged.

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
    """Yield fixes that move signatures to the key ``signature``."""
    if context.limits.thinking != "signed":
        return
    for at, message in enumerate(window.messages):
        parts = tuple(map(_with_standard_key, message.parts))
        if not is_unchanged(message.parts, parts):
            yield Fix(
                at,
                at + 1,
                (message.with_parts(parts),),
                "the signature is under a key of another API",
            )


def _with_standard_key(part: Part) -> Part:
    native = part.extra
    if not isinstance(part, Thinking) or part.redacted or not part.is_object:
        return part
    if not part.signature or native.get("signature") == part.signature:
        return part
    if all(native.get(key) != part.signature for key in SIGNATURES):
        return part  # the dialect keeps it elsewhere
    kept = {key: value for key, value in native.items() if key not in SIGNATURES}
    return replace(part, native={**kept, "signature": part.signature})


RULE = Rule("THINK005", "misspelt-signature", find, STRUCTURE)
