"""An empty or blank text part, or a message that has no other content.

Why: ``messages: text content blocks must be non-empty`` and ``... must contain non-whitespace
text`` (Anthropic); ``message must not be empty in a turn`` (Cohere); ``the message at position 1
with role 'assistant' must not be empty`` (Kimi); ``compaction.content: content can't be empty``
(Anthropic), after a compaction that failed; ``tool_result: content cannot be empty if `is_error` is
true`` (Claude).

Repair: An empty part is removed; its cache marker moves to the part before it. A message without
other content is removed too. If all assistant messages of a window are empty, or all its other
messages, the last of them gets the text ``[continued]`` instead, so that the turn remains. A blank
text between other parts of an assistant message is unchanged, because providers generate such
texts themselves; only Converse refuses it there. Thinking without a text and a signature counts as
empty. A result without content gets the same text if the target refuses it: Converse every result,
Claude one with ``is_error``. An empty text next to tool calls becomes null, or a space if the
target refuses null, too.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [{"type": "text", "text": "  "}, {"type": "text", "text": "hi"}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]

Before (bedrock/us.amazon.nova-pro-v1:0):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": ""},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "[continued]"},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.emptiness import (
    is_empty,
    is_empty_thinking,
    remove_empty,
    without_empty_parts,
)
from chatmend.notes import has_text_in_other_keys
from chatmend.placeholders import CONTINUED, NO_WORDS
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import (
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_blank,
    is_unchanged,
    location_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


_CONTENT = ("content", "parts")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove empty parts, and remove or fill empty messages."""
    limits = context.limits
    fills_results = not (limits.empty_results and limits.empty_error_results)
    if limits.empty_parts and not fills_results and not limits.empty_roles:
        return
    stripped = [
        _with_words(without_empty_parts(message, context), context) for message in window.messages
    ]
    if fills_results:
        stripped = [_with_filled_results(message, context) for message in stripped]
    if not limits.empty_beside_calls:
        stripped = [_without_empty_text_beside_calls(message, context) for message in stripped]
    has_content = [not is_empty(message, context) for message in stripped]
    run = window.run_length
    all_others = range(run, len(stripped))
    turn_messages = [at for at in all_others if not stripped[at].is_system]
    kept = [
        _last_if_all_empty(group, has_content) for group in (range(run), all_others, turn_messages)
    ]
    for at, message in enumerate(stripped):
        old = window.messages[at]
        if has_content[at]:
            if message is not old:
                effect = Effect.ADDS if _has_new_content(old, message) else Effect.RESHAPES
                yield Fix(at, at + 1, (message,), "the target refuses empty text", effect)
            continue
        # After the assistant's messages, a system message cannot replace the user's turn: a user
        # message or tool result is compared only with messages that are not system messages.
        group_index = 0 if at < run else 1 if message.is_system else 2
        if message.results or at == kept[group_index]:
            yield Fix(
                at,
                at + 1,
                (_with_placeholder(message),),
                "the target refuses empty messages",
                Effect.ADDS,
            )
        else:
            has_thinking = any(isinstance(part, Thinking) and part.text for part in message.parts)
            effect = (
                Effect.DROPS
                if has_thinking or has_text_in_other_keys(message, context)
                else Effect.RESHAPES
            )
            yield Fix(at, at + 1, (), "the target refuses empty messages", effect)


def _with_words(message: Message, context: Context) -> Message:
    """Return an empty message with the words that it has under another key as its content."""
    return message.with_words_as_content() if is_empty(message, context) else message


def _without_empty_text_beside_calls(message: Message, context: Context) -> Message:
    """Return a message with calls whose empty text has become null, or a space instead of null."""
    native = message.extra
    content = native.get("content")
    if not message.is_assistant or not message.calls or not isinstance(content, str | list):
        return message
    said = tuple(
        part
        for part in message.parts
        if location_of(part) == "content" and not isinstance(part, ToolCall)
    )
    if not is_blank(said, whitespace=context.limits.blank_is_empty):
        return message
    parts = tuple(part for part in message.parts if not isinstance(part, Text))
    if "assistant+calls" in (context.limits.null_content or ()):
        return message.with_parts((Text(NO_WORDS), *parts))
    return replace(message, parts=parts, native={**native, "content": None})


def _with_filled_results(message: Message, context: Context) -> Message:
    """Return a message whose results have content: no empty texts, or a placeholder."""
    limits = context.limits
    parts = tuple(
        _with_content(part, whitespace=limits.blank_is_empty)
        if isinstance(part, ToolResult) and _needs_content(part, context)
        else part
        for part in message.parts
    )
    return message if is_unchanged(message.parts, parts) else message.with_parts(parts)


def _needs_content(result: ToolResult, context: Context) -> bool:
    """Return whether the target refuses a result of the caller's tools if it has no content."""
    if result.is_hosted:
        return False
    is_error = context.traits.marks_errors and result.extra.get("is_error") is True
    limits = context.limits
    return not limits.empty_results or (is_error and not limits.empty_error_results)


def _has_new_content(old: Message, new: Message) -> bool:
    """Return whether a result got a placeholder, or a message with calls a space."""
    if new.calls and any(_is_text(part, NO_WORDS) for part in new.parts):
        return not any(_is_text(part, NO_WORDS) for part in old.parts)
    return any(
        len(result.content) == 1 and _is_text(result.content[0], CONTINUED)
        for result in new.results
        if result not in old.results
    )


def _is_text(part: Part, text: str) -> bool:
    """Return whether a part is a text that chatmend wrote."""
    return isinstance(part, Text) and part.is_generated and part.text == text


def _with_content(result: ToolResult, *, whitespace: bool) -> ToolResult:
    kept = remove_empty(result.content, whitespace=whitespace)
    if kept and len(kept) == len(result.content):
        return result
    return replace(result, content=kept or (Text(CONTINUED),))


def _last_if_all_empty(group: Sequence[int], has_content: list[bool]) -> int | None:
    """Return the index of the last message of a group if none of the group has content."""
    return group[-1] if group and not any(has_content[at] for at in group) else None


def _with_placeholder(message: Message) -> Message:
    if message.results:
        parts = tuple(
            replace(p, content=(Text(CONTINUED),)) if isinstance(p, ToolResult) else p
            for p in message.parts
        )
        return message.with_parts(parts)
    role = Role.USER if message.is_system else message.role
    rest = tuple(
        part for part in message.parts if not isinstance(part, Text) and not is_empty_thinking(part)
    )
    native = (
        {k: v for k, v in message.extra.items() if k not in _CONTENT} if message.is_object else None
    )
    return replace(
        message, role=role, native_role=role, parts=(Text(CONTINUED), *rest), native=native
    )


RULE = Rule("TEXT004", "empty-text", find, STRUCTURE)
