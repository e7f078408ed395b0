"""A conversation that ends with an assistant or system message which the target refuses at the end.

Why: ``This model does not support assistant message prefill. The conversation must end with a user
message.`` (Claude 4.6 and later); ``Expected last role User or Tool (or Assistant with prefix
True)`` (Mistral); ``final assistant content cannot end with trailing whitespace`` (older Claude);
``The last message is not an ToolMessage or HumanMessage`` (langchain-cohere, for a system message).

Repair: A user message ``[continued]`` is added. If the target refuses only white space at the end,
this is removed instead. A turn that ends with a hosted tool of Anthropic or with a compaction stays
last: Anthropic paused it (``stop_reason``: ``pause_turn`` or ``compaction``) and continues it when
it is sent back unchanged. So does the last message of a request whose parameters need no user
message after it: ``continue_final_message`` (vLLM, llama.cpp) and ``compaction`` (Anthropic), with
which the API summarizes the conversation. If the next message is the answer to a request that was
repaired in this way (LangChain's answers record it), the repair is made again, so that what was
sent does not change. After a system message it is made again before every answer.

Before (mistral/mistral-large-latest):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "partial answer"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "partial answer"},
     {"role": "user", "content": "[continued]"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.emptiness import sets_only_effort
from chatmend.last_turn import FINAL_ASSISTANT, is_refused_at_end
from chatmend.placeholders import continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Role, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window


ANSWERS = "_answers_continuation"
"""The key of an answer to a request whose end was repaired by this rule."""
_SYSTEM = "trailing_system"
_ASKING = (Role.USER, Role.TOOL)


def find_answered(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield a fix for an assistant message that was the last one when the next one was written."""
    mode = context.limits.trailing_assistant
    for at in range(1, window.run_length):
        last, answer = window.messages[at - 1 : at + 1]
        if not answer.extra.get(ANSWERS):
            continue
        if mode == "refused":
            why = "the target has been sent this message after the message of the assistant"
            yield Fix(at, at, (continued(Role.USER),), why, Effect.ADDS)
        elif mode == "no-trailing-space" and (becomes := _without_space(last)) is not None:
            why = "the target has been sent the message without white space at its end"
            yield Fix(at - 1, at, (becomes,), why)


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield a fix for a last message of the assistant that the target refuses."""
    limits, end = context.limits, len(window.messages)
    if not end:
        return
    last = window.messages[-1]
    if _ends_with_system(window, memory, limits):
        why = "the target does not accept a system message at the end"
        yield Fix(end, end, (continued(Role.USER),), why, Effect.ADDS)
    if window.is_last and sets_only_effort(last, limits):
        # It is no turn: what counts is the message before it.
        last = next((m for m in reversed(window.messages) if not m.is_system), last)
    if not last.is_assistant or not window.is_last:
        return
    if is_refused_at_end(last, limits):
        yield Fix(
            end,
            end,
            (continued(Role.USER),),
            "the target does not accept an assistant message at the end",
            Effect.ADDS,
        )
    elif (
        limits.trailing_assistant == "no-trailing-space"
        and (becomes := _without_space(last)) is not None
    ):
        why = "the target does not accept white space at the end of the last text"
        yield Fix(end - 1, end, (becomes,), why)


def _ends_with_system(window: Window, memory: Memory, limits: Limits) -> bool:
    """Return whether a window that can be sent ends with a system message, and must not."""
    if limits.of(_SYSTEM) is not False or not window.messages[-1].is_system:
        return False
    return memory.has_user or any(m.role in _ASKING for m in window.messages)


def _without_space(message: Message) -> Message | None:
    """Return a message without white space at the end of its last text; None if it has none."""
    text = message.parts[-1] if message.parts else None
    if not isinstance(text, Text) or not text.text.strip() or text.text == text.text.rstrip():
        return None
    return message.with_parts((*message.parts[:-1], replace(text, text=text.text.rstrip())))


def _judge(limits: Limits, traits: Traits) -> Callable[[str], bool] | None:
    """Return a judge of the text at the end: whether it ends with white space."""
    return _ends_with_space if limits.trailing_assistant == "no-trailing-space" else None


def _ends_with_space(text: str) -> bool:
    return text[-1:].isspace()


RULE = Rule(
    "TURN005",
    "trailing-assistant",
    find,
    {"last_text": _judge},
    own_limits={_SYSTEM: bool, FINAL_ASSISTANT: list[str]},
)
ANSWERED = Rule("TURN005", "trailing-assistant", find_answered, STRUCTURE)
