"""Reasoning without what it led to, or an entry without the reasoning that led to it.

Why: ``Item 'rs_1' of type 'reasoning' was provided without its required following item.`` and ``Item 'fc_1' of type
'function_call' was provided without its required 'reasoning' item: 'rs_1'.`` (OpenAI Responses). A stream was aborted; a
framework filtered the reasoning, and kept the ids.

Repair: reasoning that nothing follows in its answer is left out: the model cannot take it back. An entry whose reasoning
is gone loses its id (pairs are found by ids), and is sent as a plain one. That is only done while no request of this
conversation sent any reasoning: a caller who sends some sends all. An empty entry of reasoning goes where it is refused;
one without a summary gets an empty one.

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
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects.entries import says_something, settled_reasoning
from chatmend.jsontext import strings
from chatmend.placeholders import continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, Thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

_NAMES = ("type", "text", "summary_text", "reasoning_text")
_LED_TO = ("function_call", "message")
"""Entries that are known to be paired with reasoning by their ids."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Entries that lack what they are paired with."""
    limits, run = context.limits, window.run
    if not context.traits.items or limits.roles is None:
        return
    tail = run
    while tail and _is_reasoning(window.messages[tail - 1]):
        tail -= 1
    thinks = memory.has_reasoning or memory.elsewhere or any(map(_is_reasoning, window.messages[:tail]))
    for at, message in enumerate(window.messages[:run]):
        if _is_reasoning(message):
            ends = at >= tail and limits.reasoning_items != "any" and _has_id(message)
            native = message.extra
            settled = settled_reasoning(native)
            becomes = message if settled is native else context.dialect.read(settled)
            if ends or (not limits.empty_reasoning and not says_something(settled)):
                yield _gone(window, at, memory)
            elif becomes is not message:
                why = "the entry of reasoning has no summary, or holds what is no text"
                effect = Effect.DROPS if _words(native) - _words(settled) else Effect.RESHAPES
                yield Fix(at, at + 1, (becomes,), why, effect)
        elif limits.reasoning_items == "required" and not thinks and _has_id(message) and _is_led_to(message):
            becomes = replace(message, without=frozenset({"id", "status"}))
            yield Fix(at, at + 1, (becomes,), "the reasoning that it belongs to is not there")


def _gone(window: Window, at: int, memory: Memory) -> Fix:
    """Without the entry; a transcript of nothing else gets a turn in its place, because an empty one is refused."""
    alone = len(window.messages) == 1 and not memory.has_turns
    becomes = (continued(Role.USER),) if alone else ()
    return Fix(at, at + 1, becomes, "reasoning without what it led to", Effect.DROPS)


def _words(native: dict[str, object]) -> set[str]:
    held = [native.get(key) for key in ("summary", "content", "encrypted_content")]
    return {text for text in strings(held) if text not in _NAMES}


def _is_reasoning(message: Message) -> bool:
    return len(message.parts) == 1 and isinstance(message.parts[0], Thinking) and message.parts[0].place == "own"


def _has_id(message: Message) -> bool:
    return isinstance(message.extra.get("id"), str)


def _is_led_to(message: Message) -> bool:
    native = message.extra
    return native.get("type", "message") in _LED_TO or "role" in native  # which is a message, or becomes one


RULE = Rule("THINK006", "orphan-reasoning", find, STRUCTURE)
