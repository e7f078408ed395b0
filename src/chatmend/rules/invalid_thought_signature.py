"""A Gemini thought signature that is not base64, or that is missing where Gemini 3 requires it.

Why: ``Base64 decoding failed``, ``Function call is missing a thought_signature in functionCall
parts`` and ``Image part is missing a thought_signature in content position 2, part position 1``
(Gemini). This happens after a turn of another model, and with OpenRouter, which sends ids instead
of signatures.

Repair: A value that cannot be a signature is removed. If the model requires signatures, the first
call of a message gets the value that Google documents for calls of other models:
``skip_thought_signature_validator``. For models that generate images, the first part of an answer
and each of its images get it. A call whose id ends with a valid signature, as in LiteLLM's
answers (``call_1__thought__CpcB...``), stays unchanged: LiteLLM sends that signature. A valid
signature inside ``functionCall``, where the API does not know it, moves to the part. The bytes of a
signature, as google-genai has them, stay in its contents and become base64 in a chat.

Before (gemini/gemini-2.5-flash):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"},
          "extra_content": {"google": {"thought_signature": "msg_not_base64!"}}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects.content import is_thought_signature, signature_in_id
from chatmend.dialects.gemini_parts import SIGNATURE_KEYS
from chatmend.images.payload import encode_base64
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.signatures import SKIP_SIGNATURE, signature_of, without_signature
from chatmend.transcript import Media, Part, Text, ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_KEY = SIGNATURE_KEYS[0]
_PARTS = "parts_signed"
"""The limit of models that generate images: all parts of an answer that they check are signed."""
WHY = "the thought signature is malformed or missing"
WHY_MISPLACED = "the thought signature is inside the call, or bytes instead of base64"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for signatures that are malformed or missing."""
    mode = context.limits.thought_signatures
    if mode == "any" or not context.traits.signs_calls:
        return
    is_required = needs_signature = mode == "required"
    keys = context.limits.part_keys
    typed = keys is None or "type" in keys
    for at, message in enumerate(window.messages):
        moved = tuple(_with_own_signature(part, context.traits) for part in message.parts)
        calls = [part for part in moved if isinstance(part, ToolCall)]
        first = calls[0] if calls and needs_signature else None
        unsigned = None if first is None or _has_signed_id(first, context.traits) else first
        if not message.is_assistant:
            needs_signature = is_required
        elif first is not None and context.limits.folds_turns:
            needs_signature = False  # the next message is sent as part of this one
        parts = tuple(
            part
            for old in moved
            if (part := _with_valid_signature(old, unsigned, typed=typed)) is not None
        )
        if is_unchanged(message.parts, parts):
            continue
        effect, why = Effect.ADDS, WHY
        if any(_has_malformed_signature(part, typed=typed) for part in moved):
            effect = Effect.DROPS
        elif is_unchanged(moved, parts):
            effect, why = Effect.RESHAPES, WHY_MISPLACED
        yield Fix(at, at + 1, (message.with_parts(parts),), why, effect)


def find_parts(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for answers to a model of images whose parts have no signature."""
    limits = context.limits
    if not limits.of(_PARTS) or _KEY not in (limits.part_keys or ()):
        return
    for at, message in enumerate(window.messages):
        parts = _with_signed_parts(message.parts) if message.is_assistant else message.parts
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (message.with_parts(parts),), WHY, Effect.ADDS)


def _with_signed_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts of an answer; its first text or image and each other image are signed."""
    first = next((part for part in parts if isinstance(part, Text | Media)), None)
    return tuple(
        _signed(part) if isinstance(part, Media) or part is first else part for part in parts
    )


def _signed(part: Part) -> Part:
    """Return a text or an image with the value that skips the check, unless it has a signature."""
    if signature_of(part) is not None:
        return part
    kept = {key: value for key, value in part.extra.items() if key not in SIGNATURE_KEYS}
    if isinstance(part, Text):
        return replace(part, native={**kept, "text": part.text, _KEY: SKIP_SIGNATURE})
    return replace(part, native={**kept, _KEY: SKIP_SIGNATURE}) if part.is_object else part


def _with_own_signature(part: Part, traits: Traits) -> Part:
    """Return a call with the valid signature that is inside its object, if it has no other.

    The bytes of a signature become base64 in a chat, because JSON has no bytes. In Gemini's
    contents they stay: google-genai encodes them.
    """
    if not isinstance(part, ToolCall):
        return part
    if isinstance(part.signature, bytes) and traits.has_calls_key:
        return replace(part, signature=encode_base64(part.signature))
    if part.signature is not None:
        return part
    for key, _ in traits.object_keys:
        held = part.extra.get(key)
        if not isinstance(held, dict):
            continue
        signature = next((held[name] for name in SIGNATURE_KEYS if name in held), None)
        if is_thought_signature(signature):
            kept = {name: value for name, value in held.items() if name not in SIGNATURE_KEYS}
            return replace(part, signature=signature, native={**part.extra, key: kept})
    return part


def _has_malformed_signature(part: Part, *, typed: bool) -> bool:
    """Return whether a part has a malformed signature.

    With ``typed``, a part with a type belongs to another dialect and is not checked.
    """
    if isinstance(part, ToolCall):
        return part.signature is not None and not is_thought_signature(part.signature)
    native = part.extra
    if not part.is_object or (typed and "type" in native) or isinstance(part, ToolResult):
        return False
    return any(
        native.get(key) is not None and not is_thought_signature(native[key])
        for key in SIGNATURE_KEYS
    )


def _has_signed_id(call: ToolCall, traits: Traits) -> bool:
    """Return whether LiteLLM sends the signature at the end of the id of a call."""
    return traits.signs_ids and signature_in_id(call.id) is not None


def _with_valid_signature(part: Part, unsigned: ToolCall | None, *, typed: bool) -> Part | None:
    """Return the part without a malformed signature; None if it then holds no data.

    ``unsigned`` is the call that must have a signature in its fields.
    """
    if not isinstance(part, ToolCall):
        is_malformed = _has_malformed_signature(part, typed=typed)
        return without_signature(part, typed=typed) if is_malformed else part
    if part.legacy:
        return part
    signature = part.signature if is_thought_signature(part.signature) else None
    if signature is None and part is unsigned:
        signature = SKIP_SIGNATURE
    return part if signature == part.signature else replace(part, signature=signature)


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.thought_signatures == "any" or not traits.signs_calls:
        return None
    return lambda signature: not is_thought_signature(signature)


def _judge_ids(limits: Limits, traits: Traits) -> Judge | None:
    if limits.thought_signatures != "required" or not traits.signs_ids:
        return None
    return lambda call_id: signature_in_id(call_id) is not None


RULE = Rule(
    "THINK003", "invalid-thought-signature", find, {"signatures": _judge, "ids": _judge_ids}
)
PARTS = Rule(
    "THINK003", "invalid-thought-signature", find_parts, STRUCTURE, own_limits={_PARTS: bool}
)
