"""A conversation that ends with the assistant, for a target that has nothing to answer then.

Why: ``This model does not support assistant message prefill. The conversation must end with a user message.`` (Claude 4.6
and later); ``Expected last role User or Tool (or Assistant with prefix True)`` (Mistral); ``final assistant content cannot
end with trailing whitespace`` (older Claude).

Repair: ``[continued]`` in the user's name behind it; where only white space at the end is refused, that goes. A turn that
ends with a server tool of Anthropic stays last: Anthropic paused it (``stop_reason: "pause_turn"``) and continues it when
it is sent back unchanged.

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
from chatmend.dialects.content import server_call, server_result
from chatmend.placeholders import continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Opaque, Role, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import Seen
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """The end of the transcript."""
    limits, end = context.limits, len(window.messages)
    if not end or not window.messages[-1].is_assistant or not window.last:
        return
    mode = limits.trailing_assistant
    last = window.messages[-1]
    native = last.extra
    if mode == "refused" and not (limits.prefill_key and native.get(limits.prefill_key) is True):
        goes_on = (last.calls and limits.trailing_calls) or (limits.server_tools_paired and _is_paused(last))
        if not goes_on:
            yield Fix(end, end, (continued(Role.USER),), "the last message may not be the assistant's", Effect.ADDS)
    elif mode == "no-trailing-space":
        text = next((part for part in reversed(last.parts) if isinstance(part, Text)), None)
        if text is not None and text is last.parts[-1] and text.text != text.text.rstrip() and text.text.strip():
            parts = (*last.parts[:-1], replace(text, text=text.text.rstrip()))
            yield Fix(end - 1, end, (replace(last, parts=parts),), "the last text may not end with white space")


def _is_paused(message: Message) -> bool:
    """Whether a turn ends in the call or the result of a tool that the provider runs itself."""
    end = message.parts[-1] if message.parts else None
    if not isinstance(end, Opaque):
        return False
    return server_call(end.extra) is not None or server_result(end.extra) is not None


def _watch(limits: Limits, traits: Traits) -> Callable[[Seen], bool] | None:
    """How the last text ends is looked at in the last window alone."""
    if limits.trailing_assistant != "no-trailing-space":
        return None
    return lambda seen: seen.last and not seen.group.followed


RULE = Rule("TURN005", "trailing-assistant", find, STRUCTURE, _watch)
