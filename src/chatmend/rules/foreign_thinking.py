"""Thinking that the target refuses: unsigned, or signed or redacted by another provider.

Why: ``messages.2.content.0.thinking.signature: Field required`` and ``Invalid `signature` in
`thinking` block`` (Anthropic); other providers refuse all thinking blocks. ``Reasoning input is not
enabled for this model`` (Mistral, models that do not reason). This happens when a conversation
falls back to another model.

Repair: The block is removed and reported; so is a chunk of Mistral's, whose thinking is a list. It
is never converted to text of the assistant. Signed thinking of the same provider is never changed,
with or without text. Encrypted reasoning of OpenAI that LiteLLM has put in such a block stays,
except for Claude: LiteLLM sends it to OpenAI as reasoning.

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
from chatmend.dialects.thinking import (
    can_be_signature,
    has_thinking_text,
    is_kept_by_litellm,
    is_thinking,
)
from chatmend.rules.rule import Rule
from chatmend.transcript import Message, Opaque, Part, Thinking, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


_KEY = "thinking_blocks"
_SIGNATURE = "signature"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove thinking which the target does not accept."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        parts = tuple(part for part in message.parts if not _is_refused(part, message, context))
        if context.limits.thinking == "unsigned":
            keeps_block = _SIGNATURE in context.limits.refused_part_keys
            unsigned = tuple(_without_signature(part, keeps_block=keeps_block) for part in parts)
            if len(parts) == len(message.parts) and not is_unchanged(parts, unsigned):
                why = "the target does not accept the signature"
                yield Fix(at, at + 1, (message.with_parts(unsigned),), why, Effect.DROPS)
            parts = unsigned
        if len(parts) < len(message.parts):
            becomes = message.with_parts(parts)
            yield Fix(
                at, at + 1, (becomes,), "the target does not accept this thinking", Effect.DROPS
            )


def _is_refused(part: Part, message: Message, context: Context) -> bool:
    mode = context.limits.thinking
    if not isinstance(part, Thinking) or part.location == "own":
        # An opaque part may be thinking: Mistral's blocks hold a list.
        is_chunk = isinstance(part, Opaque) and is_thinking(part.extra)
        return is_chunk and not _accepts_chunks(message, context)
    if part.location in ("reasoning_content", "thinking"):
        return not part.is_generated and part.raw_string is None
    if mode == "any":
        return part.is_object and not has_thinking_text(part.extra)
    if not message.is_assistant:
        return True
    if mode == "signed":
        return not can_be_signature(part.signature) or _is_foreign(message, context)
    is_read = _is_own(message, context) or _is_sent_by_litellm(part, context)
    return part.redacted if mode == "unsigned" else not is_read


def _is_sent_by_litellm(part: Thinking, context: Context) -> bool:
    """Return whether LiteLLM sends the encrypted reasoning in this part to OpenAI.

    It does so from the blocks of Anthropic's format, and from a key of chat messages.
    """
    if not is_kept_by_litellm(part.signature):
        return False
    if part.location == _KEY:
        limits = context.limits
        is_known = limits.known_keys is None or _KEY in limits.known_keys
        return is_known and _KEY not in limits.refused_keys
    return context.traits.types_by_role


def _accepts_chunks(message: Message, context: Context) -> bool:
    """Return whether the target accepts Mistral's thinking chunks in a message."""
    known, mode = context.accepted_types(message), context.limits.thinking
    is_accepted = mode == "any" or (mode == "chunks" and message.is_assistant)
    return is_accepted and (known is None or "thinking" in known)


def _without_signature(part: Part, *, keeps_block: bool) -> Part:
    """Return thinking without a signature.

    ``keeps_block``: the target refuses the key of the signature, also if it is empty.
    """
    if not isinstance(part, Thinking) or part.signature is None:
        return part
    if not keeps_block or not part.is_object:
        return replace(part, signature=None, native=None)
    kept = {key: value for key, value in part.extra.items() if key != _SIGNATURE}
    return replace(part, signature=None, native=kept)


def _is_foreign(message: Message, context: Context) -> bool:
    """Return whether the message names another provider as its origin."""
    owners = context.limits.signature_owners
    return bool(owners) and message.provider is not None and message.provider not in owners


def _is_own(message: Message, context: Context) -> bool:
    """Return whether the message names the target's provider as its origin."""
    return message.provider in context.limits.signature_owners


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.thinking == "signed":
        return lambda signature: not can_be_signature(signature)
    return is_kept_by_litellm if limits.thinking in ("refused", "chunks") else None


RULE = Rule("THINK001", "foreign-thinking", find, {"signatures": _judge})
