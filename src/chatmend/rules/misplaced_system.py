"""A system message where the target takes none.

Why: ``role 'system' is not supported on this model`` (Anthropic); ``Unexpected role 'system' after role 'assistant'``
(Mistral); ``System message must be at the beginning.`` (chat templates).

Repair: in mid-conversation it is told in place, as a user message under a constant label: hoisting it would rewrite the
first bytes of the prompt at every turn. A model that takes it there gets it behind the user's turn. Several at the front
become one where only one is taken. ``Policy(system="hoist")`` moves all to the front.

Before (mistral/mistral-large-latest):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "yes"},
     {"role": "system", "content": "new rule"},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "yes"},
     {"role": "user", "content": "System message at this point of the conversation: new rule"},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.merging import merge
from chatmend.notes import says_beside
from chatmend.placeholders import SYSTEM_NOTE
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, Text, texts
from chatmend.windows import trimmed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """System messages that must stand elsewhere, or be said otherwise."""
    mode = context.limits.system
    if mode == "anywhere" or not any(message.is_system for message in window.messages):
        return
    beside = context.traits.system_beside and mode != "never"
    lead = _lead(window, words_only=beside) if window.opening else 0
    if beside and lead:
        words = tuple(text for message in window.messages[:lead] for text in texts(message.parts) if text.strip())
        more = any(says_beside(message, context) for message in window.messages[:lead])
        effect = Effect.DROPS if more else Effect.RESHAPES
        yield Fix(0, lead, (), "the system prompt stands beside the messages", effect, hoists=words)
    becomes, merging = list(window.messages), Effect.RESHAPES
    front = [] if beside else becomes[:lead]
    rest = becomes[lead:]
    if mode == "never" and front:
        rest, front = front + rest, []
    if mode == "first" and len(front) > 1:
        one, merging = merge(front, context.traits)
        front = [one]
    if mode == "after-user":
        rest, merging = _behind_the_user(rest, context)
    elif mode == "not-after-reply":
        rest = _behind_a_user(rest)
    else:
        rest = [_told(message) if message.is_system else message for message in rest]
    if beside:
        shifted = replace(window, messages=window.messages[lead:], origins=window.origins[lead:])
        for fix in trimmed(shifted, tuple(rest), "the target takes no system message here", merging):
            yield replace(fix, start=fix.start + lead, stop=fix.stop + lead)
    else:
        yield from trimmed(window, (*front, *rest), "the target takes no system message here", merging)


def _lead(window: Window, *, words_only: bool) -> int:
    """How many system messages open the window; ``words_only`` ends at the first that holds more than text."""
    for at, message in enumerate(window.messages):
        if not message.is_system or (words_only and not all(isinstance(part, Text) for part in message.parts)):
            return at
    return len(window.messages)


def _told(message: Message) -> Message:
    label, *rest = message.parts or (Text(""),)
    words = (replace(label, text=SYSTEM_NOTE + label.text),) if isinstance(label, Text) else (Text(SYSTEM_NOTE), label)
    return replace(message, role=Role.USER, spelling=Role.USER, parts=(*words, *rest))


def _behind_the_user(messages: list[Message], context: Context) -> tuple[list[Message], Effect]:
    """Native system messages directly behind the last user turn, at the end of the window."""
    others = [message for message in messages if not message.is_system]
    if not others or others[-1].is_assistant:
        return [_told(message) if message.is_system else message for message in messages], Effect.RESHAPES
    systems = [message for message in messages if message.is_system]
    if len(systems) < 2:  # noqa: PLR2004 - more than one is too many
        return [*others, *systems], Effect.RESHAPES
    one, effect = merge(systems, context.traits)
    return [*others, one], effect


def _behind_a_user(messages: list[Message]) -> list[Message]:
    """Told as a user message where an assistant or a tool spoke last; native behind a user."""
    out: list[Message] = []
    for message in messages:
        behind_reply = not out or out[-1].role in (Role.ASSISTANT, Role.TOOL)
        out.append(_told(message) if message.is_system and behind_reply else message)
    return out


RULE = Rule("SYS001", "misplaced-system", find, STRUCTURE)
