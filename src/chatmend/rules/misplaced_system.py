"""A system message at a position where the target does not accept one.

Why: ``role 'system' is not supported on this model`` (Anthropic); ``Unexpected role 'system' after
role 'assistant'`` (Mistral); ``System message must be at the beginning.`` (chat templates).

Repair: A system message in mid-conversation becomes a user message with a constant label, at the
same position: moving it to the front would rewrite the first bytes of the prompt at every turn. If
the model accepts a system message after a user turn, it stays one and moves to the end of that
turn. Several in a row stay separate there if the model accepts that. A message that only sets the
effort (Anthropic's ``output_config`` with ``content: []``) stays at its position if the model
accepts it. Several system messages at the front are merged if the target accepts only one.
``Policy(system="hoist")`` moves all system messages to the front. Cache markers and cache points of
a text go with it.

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
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect, Fix
from chatmend.dialects import server_tools
from chatmend.emptiness import EFFORT_ONLY, sets_only_effort
from chatmend.merging import merge
from chatmend.notes import has_text_in_other_keys
from chatmend.placeholders import SYSTEM_NOTE
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Opaque, Part, Role, Text
from chatmend.windows import minimal_fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

_MARKER, _POINT = "cache_control", "cachePoint"
_CONSECUTIVE = "consecutive_system"
"""The limit: the provider accepts several system messages in a row after a user turn."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move system messages, merge them or convert them to user messages."""
    mode = context.limits.system
    if mode == "anywhere" or not any(message.is_system for message in window.messages):
        return
    has_system_parameter = context.traits.has_top_level_system and mode != "never"
    lead = 0
    if window.is_opening:
        lead = _count_leading(window, context, as_parameter=has_system_parameter)
    if has_system_parameter and lead:
        parts = [part for message in window.messages[:lead] for part in message.parts]
        more = any(has_text_in_other_keys(message, context) for message in window.messages[:lead])
        effect = Effect.DROPS if more else Effect.RESHAPES
        yield Fix(
            0,
            lead,
            (),
            "the target takes the system prompt as a parameter, not as a message",
            effect,
            hoists=tuple(_hoisted(parts, context)),
        )
    becomes, merging = list(window.messages), Effect.RESHAPES
    front = [] if has_system_parameter else becomes[:lead]
    rest = becomes[lead:]
    if mode == "never" and front:
        rest, front = front + rest, []
    if mode == "first" and len(front) > 1:
        one, merging = merge(front, context.traits)
        front = [one]
    if mode == "after-user":
        rest, merging = _move_after_user(rest, context)
    elif mode == "not-after-reply":
        rest = _keep_after_user(rest)
    else:
        rest = [_as_user_message(message) if message.is_system else message for message in rest]
    if has_system_parameter:
        shifted = replace(window, messages=window.messages[lead:], origins=window.origins[lead:])
        for fix in minimal_fix(
            shifted,
            tuple(rest),
            "the target does not accept a system message at this position",
            merging,
        ):
            yield replace(fix, start=fix.start + lead, stop=fix.stop + lead)
    else:
        yield from minimal_fix(
            window,
            (*front, *rest),
            "the target does not accept a system message at this position",
            merging,
        )


def _count_leading(window: Window, context: Context, *, as_parameter: bool) -> int:
    """Count the system messages at the start of the window.

    ``as_parameter``: only those that can become the system prompt next to the messages.
    """
    for at, message in enumerate(window.messages):
        is_movable = not as_parameter or all(
            isinstance(part, Text) or _is_cache_point(part, context) for part in message.parts
        )
        is_movable &= not sets_only_effort(message, context.limits)
        if not message.is_system or not is_movable:
            return at
    return len(window.messages)


def _is_cache_point(part: Part, context: Context) -> bool:
    return isinstance(part, Opaque) and context.dialect.kind_of(part.extra) == _POINT


def _hoisted(parts: list[Part], context: Context) -> Iterator[str | dict[str, Any]]:
    """Yield the texts of the system prompt; blocks with a cache marker, and cache points, whole."""
    is_empty = True
    for part in parts:
        if isinstance(part, Text) and part.text.strip():
            is_empty = False
            has_marker = context.traits.cache_markers and part.extra.get(_MARKER)
            yield {**part.extra, "text": part.text} if has_marker else part.text
        elif not isinstance(part, Text) and not is_empty:
            yield part.extra


def _as_user_message(message: Message) -> Message:
    first, *rest = message.parts or (Text(""),)
    labelled = (
        (replace(first, text=SYSTEM_NOTE + first.text),)
        if isinstance(first, Text)
        else (Text(SYSTEM_NOTE), first)
    )
    return replace(message, role=Role.USER, native_role=Role.USER, parts=(*labelled, *rest))


def _move_after_user(messages: list[Message], context: Context) -> tuple[list[Message], Effect]:
    """Move system messages to the end of the window, directly after the last user turn.

    If the window does not end with a user turn, convert them to user messages instead. A system
    message may also follow an assistant message that ends with the result of a hosted tool.
    Messages that only set the effort stay, and do not count.
    """
    others = [message for message in messages if not message.is_system]
    accepts_several = context.limits.of(_CONSECUTIVE) is True
    end = _end_of_turn(messages)
    turn, behind = messages[:end], messages[end:]
    early = [message for message in turn if _moves(message, context)]
    late = [message for message in behind if _moves(message, context)]
    is_at_end = not early and (accepts_several or len(late) == 1)
    if is_at_end and _ends_hosted(others) and not any(message.calls for message in others):
        return messages, Effect.RESHAPES
    if not others or others[-1].is_assistant:
        return [
            _as_user_message(message) if _moves(message, context) else message
            for message in messages
        ], Effect.RESHAPES
    staying = [message for message in turn if not _moves(message, context)]
    if accepts_several or len(early) + len(late) <= 1:
        return [*staying, *early, *behind], Effect.RESHAPES
    one, effect = merge([*early, *late], context.traits)
    return [*staying, one, *(message for message in behind if not _moves(message, context))], effect


def _moves(message: Message, context: Context) -> bool:
    """Return whether a message is a system message with content."""
    return message.is_system and not sets_only_effort(message, context.limits)


def _end_of_turn(messages: list[Message]) -> int:
    """Return the index after the last message that is not a system message."""
    return next((at for at in range(len(messages), 0, -1) if not messages[at - 1].is_system), 0)


def _ends_hosted(messages: list[Message]) -> bool:
    """Return whether the last part of the last message is the result of a hosted tool."""
    part = messages[-1].parts[-1] if messages and messages[-1].parts else None
    return isinstance(part, Opaque) and server_tools.result_call_id(part.extra) is not None


def _keep_after_user(messages: list[Message]) -> list[Message]:
    """Convert system messages to user messages, except those that follow a user message."""
    out: list[Message] = []
    for message in messages:
        follows_reply = not out or out[-1].role in (Role.ASSISTANT, Role.TOOL)
        out.append(_as_user_message(message) if message.is_system and follows_reply else message)
    return out


RULE = Rule(
    "SYS001",
    "misplaced-system",
    find,
    STRUCTURE,
    own_limits={_CONSECUTIVE: bool, EFFORT_ONLY: bool},
)
