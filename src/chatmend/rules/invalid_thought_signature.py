"""A Gemini thought signature that is no base64, or a call without one where Gemini 3 wants it.

Why: ``Base64 decoding failed`` and ``Function call is missing a thought_signature in functionCall parts`` (Gemini). It
happens after a turn of another model, and with OpenRouter, which puts ids in their place.

Repair: a signature that cannot be one is left out. On a model that requires signatures, the first call of a message gets
the value that Google documents for calls that another model made: ``skip_thought_signature_validator``.

Before (gemini/gemini-2.5-flash):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "msg_not_base64!"}}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.rules.rule import Context, Rule
from chatmend.transcript import Part, ToolCall, is_unchanged
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

SKIP = base64.b64encode(b"skip_thought_signature_validator").decode()


def _is_base64(signature: object) -> bool:
    if not isinstance(signature, str) or not signature:
        return False
    try:
        base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Calls whose signature is wrong or missing."""
    mode = context.limits.thought_signatures
    if mode == "any" or context.top_level_system:
        return
    for at, message in enumerate(window.messages):
        first = next((call for call in message.calls), None)
        parts = tuple(_signed(part, first, mode) for part in message.parts)
        if not is_unchanged(message.parts, parts):
            wrong = any(call.signature is not None and not _is_base64(call.signature) for call in message.calls)
            effect = Effect.DROPS if wrong else Effect.ADDS
            yield Fix(at, at + 1, (replace(message, parts=parts),), "the thought signature cannot be valid", effect)


def _signed(part: Part, first: ToolCall | None, mode: str) -> Part:
    if not isinstance(part, ToolCall) or part.legacy:
        return part
    signature = part.signature if _is_base64(part.signature) else None
    if signature is None and mode == "required" and part is first:
        signature = SKIP
    return part if signature == part.signature else replace(part, signature=signature)


RULE = Rule("THINK003", "invalid-thought-signature", Symptom.THINKING, find)
