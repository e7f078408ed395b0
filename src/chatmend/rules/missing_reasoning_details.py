"""A message with calls whose ``reasoning_details`` hold no signature that Gemini accepts.

OpenRouter sends the thought signatures of Gemini 3 as encrypted entries of ``reasoning_details``,
and requires them back with the calls.

Why: ``Gemini models require OpenRouter reasoning details to be preserved in each request.``,
``Corrupted thought signature.`` and ``Unable to submit request because Thought signature is not
valid.`` (Gemini 3 at OpenRouter, for calls of another model or of another conversation).

Repair: The encrypted entries of each message with calls are replaced by one with the value that
Google documents for calls of other models: ``skip_thought_signature_validator``. Other entries,
with the text of the reasoning, are unchanged. Only the provider can judge a signature, so the rule
does nothing without a lesson of ``chatmend.react``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect, Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.signatures import SKIPPED_CHECK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import WindowSketch
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window

_LIMIT = "details_signed"
_KEY, _ENCRYPTED = "reasoning_details", "reasoning.encrypted"
_SKIPPED = {
    "type": _ENCRYPTED,
    "data": SKIPPED_CHECK,
    "format": "google-gemini-v1",
    "index": 0,
}
_WHY = "the target requires reasoning details with a signature that it accepts"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages with calls whose details hold another signature or none."""
    if not _is_checked(context.limits, context.traits):
        return
    for at, message in enumerate(window.messages):
        if not (message.is_assistant and message.calls and message.is_object):
            continue
        held, details = message.extra.get(_KEY), _with_signature(message)
        if held != details:
            becomes = replace(message, native={**message.extra, _KEY: details})
            effect = Effect.DROPS if _encrypted(held) else Effect.ADDS
            yield Fix(at, at + 1, (becomes,), _WHY, effect)


def _with_signature(message: Message) -> list[Any]:
    """Return the details of a message with one encrypted entry, for its first call."""
    held = message.extra.get(_KEY)
    others = [one for one in held if not _is_encrypted(one)] if isinstance(held, list) else []
    return [*others, {**_SKIPPED, "id": message.calls[0].id}]


def _encrypted(details: object) -> list[Any]:
    return list(filter(_is_encrypted, details)) if isinstance(details, list) else []


def _is_encrypted(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("type") == _ENCRYPTED


def _is_checked(limits: Limits, traits: Traits) -> bool:
    return traits.typed_calls and bool(limits.of(_LIMIT))


def _watch(limits: Limits, traits: Traits) -> Callable[[WindowSketch], bool] | None:
    return (lambda _: True) if _is_checked(limits, traits) else None


RULE = Rule(
    "THINK010",
    "missing-reasoning-details",
    find,
    STRUCTURE,
    watches=_watch,
    own_limits={_LIMIT: bool},
)
