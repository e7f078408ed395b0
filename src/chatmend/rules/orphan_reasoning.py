"""Reasoning without the item that it led to, or an item without its reasoning.

Why: ``Item 'rs_1' of type 'reasoning' was provided without its required following item.`` and
``Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.``
(OpenAI Responses). This happens when a stream was aborted, or when a framework removed the
reasoning but kept the ids. ``Invalid 'input[1].content': array too long. Expected an array with
maximum length 0``: the texts of reasoning from another provider.

Repair: Reasoning that no item of its answer follows is removed, because the model cannot take it
back. The same holds for reasoning that is known only by its id if the text after it has lost its
own. An item without its reasoning loses its id, by which OpenAI pairs the two; without an id it is
accepted. Ids are removed only while the conversation has no reasoning at all, because a caller that
sends some reasoning back sends all of it, and from a text that follows a call. An empty reasoning
item is removed if the target refuses it. A reasoning item without a summary gets an empty one.
Texts of reasoning are removed where they are refused, with the item if it holds nothing else.

Before (openai/gpt-5):
    [{"role": "user", "content": "1"},
     {"type": "reasoning", "id": "rs_a", "summary": []},
     {"role": "user", "content": "2"}]
After:
    [{"role": "user", "content": "1"},
     {"role": "user", "content": "2"}]
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect, Fix
from chatmend.dialects.entries import (
    has_encrypted_content,
    is_nonempty_reasoning,
    repair_reasoning,
    texts_of,
)
from chatmend.jsontext import is_one_of, strings
from chatmend.placeholders import continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, Thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_NAMES = ("type", "text", "summary_text", "reasoning_text")
"""Keys and types in a reasoning item, which are not texts of the model."""
_PAIRED_TYPES = ("function_call", "message")
"""Types of items that are known to be paired with reasoning by their ids."""
_PAIRING_KEYS = frozenset({"id", "status"})
_REFUSES_TEXTS = "refuses_reasoning_texts"
"""The limit of targets that take reasoning only as a summary or encrypted."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for reasoning without its item, and for items without their reasoning."""
    limits, run = context.limits, window.run_length
    is_checked = limits.roles is not None or limits.reasoning_items != "any"
    if not context.traits.messages_are_items or not is_checked:
        return
    led_to = _items_of_reasoning(window)
    removed = {at for at, item in led_to.items() if _is_orphan(window.messages[at], item, context)}
    has_reasoning = (
        memory.has_reasoning
        or memory.has_stored_history
        or any(item is not None and at not in removed for at, item in led_to.items())
    )
    is_emptied = len(removed) == len(window.messages) and not memory.has_turns
    for at, message in enumerate(window.messages[:run]):
        if at in removed:
            yield _removal(at, is_last=is_emptied and at == run - 1)
        elif at in led_to:
            if (fix := _repair(at, message, context)) is not None:
                yield fix
        elif (
            limits.reasoning_items == "required"
            and not has_reasoning
            and _has_id(message)
            and _is_paired(message, context)
        ):
            becomes = replace(message, omitted_keys=_PAIRING_KEYS)
            yield Fix(at, at + 1, (becomes,), "the reasoning that the item requires is missing")


def _repair(at: int, message: Message, context: Context) -> Fix | None:
    """Return a fix for a reasoning item that is sent, None if the target accepts all of it."""
    native, limits = message.extra, context.limits
    repaired = repair_reasoning(native)
    if repaired is not native and limits.roles is not None:
        why = "the reasoning item has no summary, or contains something other than text"
    else:
        repaired, why = native, "the target takes no texts of reasoning"
    if limits.of(_REFUSES_TEXTS) and repaired.get("content"):
        repaired = {key: value for key, value in repaired.items() if key != "content"}
    if repaired is native:
        return None
    effect = Effect.DROPS if _texts(native) - _texts(repaired) else Effect.RESHAPES
    return Fix(at, at + 1, (context.dialect.read(repaired),), why, effect)


def _items_of_reasoning(window: Window) -> dict[int, Message | None]:
    """Return the item that each reasoning item, by its index, led to; None if none follows."""
    led_to: dict[int, Message | None] = {}
    following: Message | None = None
    for at in reversed(range(window.run_length)):
        message = window.messages[at]
        if _is_reasoning(message):
            led_to[at] = following
        elif message.kind != "mcp_list_tools":  # the list of tools that a server has
            following = message
    return led_to


def _is_orphan(reasoning: Message, item: Message | None, context: Context) -> bool:
    """Return whether a reasoning item is empty, or led to no item that keeps its id."""
    limits, native = context.limits, reasoning.extra
    refuses_texts = bool(limits.of(_REFUSES_TEXTS)) and bool(native.get("content"))
    needs_more = refuses_texts or not limits.empty_reasoning
    if needs_more and not is_nonempty_reasoning(repair_reasoning(native)):
        return True
    if limits.reasoning_items == "any" or not _has_id(reasoning):
        return False
    # Reasoning that holds its content needs no id to belong to a text that was written anew. A call
    # is not reported to need one.
    has_content = has_encrypted_content(native) or has_readable_text(native, limits)
    return item is None or not (has_content or item.calls or _has_id(item))


def has_readable_text(reasoning: dict[str, Any], limits: Limits) -> bool:
    """Return whether a reasoning item holds a text that the target reads."""
    if limits.of(_REFUSES_TEXTS):
        return False
    is_summary_read = limits.reasoning_form in ("unencrypted", "content")
    keys = ("content", "summary") if is_summary_read else ("content",)
    return any(texts_of(reasoning.get(key)) for key in keys)


def find_after_call(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for texts that follow a call: the reasoning before it belongs to the call."""
    if context.limits.reasoning_items != "required":
        return
    run = window.messages[: window.run_length]
    for at, (before, message) in enumerate(pairwise(run), 1):
        if before.calls and not message.calls and _has_id(message) and _is_paired(message, context):
            becomes = replace(message, omitted_keys=_PAIRING_KEYS)
            yield Fix(at, at + 1, (becomes,), "the reasoning that the item requires is missing")


def _removal(at: int, *, is_last: bool) -> Fix:
    """Return a fix that removes an item.

    If nothing else is left (``is_last``), ``[continued]`` replaces the item, because an empty
    transcript is refused.
    """
    why = "the reasoning is empty, or the item that it led to is missing"
    return Fix(at, at + 1, (continued(Role.USER),) if is_last else (), why, Effect.DROPS)


def _texts(native: dict[str, object]) -> set[str]:
    values = [native.get(key) for key in ("summary", "content", "encrypted_content")]
    return {text for text in strings(values) if text not in _NAMES}


def _is_reasoning(message: Message) -> bool:
    return (
        len(message.parts) == 1
        and isinstance(message.parts[0], Thinking)
        and message.parts[0].location == "own"
    )


def _has_id(message: Message) -> bool:
    return isinstance(message.extra.get("id"), str)


def _is_paired(message: Message, context: Context) -> bool:
    native = message.extra
    if is_one_of(message.kind, context.traits.item_types):
        return message.kind in _PAIRED_TYPES
    # Any other dict with a role is a message, or becomes one.
    return native.get("type", "message") in _PAIRED_TYPES or "role" in native


RULE = Rule("THINK006", "orphan-reasoning", find, STRUCTURE, own_limits={_REFUSES_TEXTS: bool})
AFTER_CALL = Rule("THINK006", "orphan-reasoning", find_after_call, STRUCTURE)
AFTER_IDS = Rule("THINK006", "orphan-reasoning", find, STRUCTURE)
