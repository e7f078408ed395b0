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
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects.content import is_thought_signature
from chatmend.rules.rule import Rule
from chatmend.transcript import Part, Thinking, ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_KEYS = ("thoughtSignature", "thought_signature")
"""Where a part has its signature, in the dialect where any part may have one."""
_BESIDE = frozenset({
    "thought", "videoMetadata", "video_metadata", "mediaResolution", "media_resolution", "partMetadata", "part_metadata",
})  # fmt: skip
"""What such a part may have beside its data, and beside its signature."""
SKIP = base64.b64encode(b"skip_thought_signature_validator").decode()


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Calls whose signature is wrong or missing."""
    mode = context.limits.thought_signatures
    if mode == "any" or not context.traits.signs_calls:
        return
    unsigned = mode == "required"
    keys = context.limits.part_keys
    typed = keys is None or "type" in keys
    for at, message in enumerate(window.messages):
        first = next(iter(message.calls), None) if unsigned else None
        unsigned = unsigned and (first is None or not context.limits.folds_turns)
        parts = tuple(part for old in message.parts if (part := _signed(old, first, typed=typed)) is not None)
        if not is_unchanged(message.parts, parts):
            wrong = any(_is_wrong(part, typed=typed) for part in message.parts)
            effect = Effect.DROPS if wrong else Effect.ADDS
            yield Fix(at, at + 1, (replace(message, parts=parts),), "the thought signature cannot be valid", effect)


def _is_wrong(part: Part, *, typed: bool) -> bool:
    """Whether a part has a signature that cannot be one; ``typed``: a part with a type is of another dialect."""
    if isinstance(part, ToolCall):
        return part.signature is not None and not is_thought_signature(part.signature)
    native = part.extra
    if not part.is_object or (typed and "type" in native) or isinstance(part, ToolResult):
        return False
    return any(key in native and not is_thought_signature(native[key]) for key in _KEYS)


def _signed(part: Part, first: ToolCall | None, *, typed: bool) -> Part | None:
    """The part with a signature that can be valid; None for one that held nothing but a wrong one."""
    if not isinstance(part, ToolCall):
        return _without_signature(part) if _is_wrong(part, typed=typed) else part
    if part.legacy:
        return part
    signature = part.signature if is_thought_signature(part.signature) else None
    if signature is None and part is first:
        signature = SKIP
    return part if signature == part.signature else replace(part, signature=signature)


def _without_signature(part: Part) -> Part | None:
    native = part.extra
    kept = {key: value for key, value in native.items() if key not in _KEYS}
    if kept.keys() <= _BESIDE:
        return None
    return replace(part, native=kept, signature=None) if isinstance(part, Thinking) else replace(part, native=kept)


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.thought_signatures == "any" or not traits.signs_calls:
        return None
    return lambda proof: not is_thought_signature(proof)


RULE = Rule("THINK003", "invalid-thought-signature", find, {"proofs": _judge})
