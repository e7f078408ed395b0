"""Thinking that the target cannot take back: unsigned, of another provider, redacted elsewhere.

Why: ``messages.2.content.0.thinking.signature: Field required`` and ``Invalid `signature` in `thinking` block``
(Anthropic); other providers refuse the blocks as such. It happens when a conversation falls back to another model.

Repair: the block is left out and reported. It is never turned into words of the assistant. Signed thinking of the same
provider is never touched, with or without text.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "t", "signature": ""},
         {"type": "text", "text": "answer"}]},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [{"type": "text", "text": "answer"}]},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects.thinking import can_be_proof, is_thinking, is_worded
from chatmend.rules.rule import Rule
from chatmend.transcript import Message, Opaque, Part, Thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with thinking that must not be sent."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        parts = tuple(part for part in message.parts if not _is_refused(part, message, context))
        if len(parts) < len(message.parts):
            becomes = replace(message, parts=parts)
            yield Fix(at, at + 1, (becomes,), "the target cannot verify this thinking", Effect.DROPS)


def _is_refused(part: Part, message: Message, context: Context) -> bool:
    if isinstance(part, Opaque):  # a list of thoughts, as Mistral writes them
        return context.limits.thinking == "signed" and is_thinking(part.extra)
    if not isinstance(part, Thinking) or part.place == "own":
        return False
    if part.place == "reasoning_content":
        return not part.is_ours and part.bare is None
    if context.limits.thinking == "any":
        return part.is_object and not is_worded(part.extra)
    if context.limits.thinking == "refused" or not message.is_assistant:
        return True
    return not can_be_proof(part.signature) or _is_foreign(message, context)


def _is_foreign(message: Message, context: Context) -> bool:
    """Whether the message says that another provider wrote it."""
    origin = message.extra.get("_provenance")
    provider = origin.get("provider") if isinstance(origin, dict) else None
    owners = context.limits.signature_owners
    return bool(owners) and isinstance(provider, str) and provider not in owners


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return (lambda proof: not can_be_proof(proof)) if limits.thinking == "signed" else None


RULE = Rule("THINK001", "foreign-thinking", find, {"proofs": _judge})
