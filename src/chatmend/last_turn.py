"""Whether the assistant goes on with the last turn of a request, or a user message must follow."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatmend.dialects import server_tools
from chatmend.jsontext import value_at
from chatmend.transcript import Opaque, Role

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window

FINAL_ASSISTANT = "final_assistant_parameters"
"""The limit with the parameters that let the assistant's message be the last one.

Each is the path of a key in the request, and its JSON value: ``add_generation_prompt=false``.
Without a value, any value counts except null and false.
"""
_EXTRA_BODY = "extra_body"
"""The parameter of the OpenAI SDK and of LiteLLM with further keys of the request."""
_COMPACTION = "compaction"
"""The block of a paused compaction (Anthropic, ``pause_after_compaction``)."""


def is_refused_at_end(message: Message, limits: Limits) -> bool:
    """Return whether the target refuses this message of the assistant as the last one."""
    if limits.trailing_assistant != "refused":
        return False
    if limits.prefill_key and message.extra.get(limits.prefill_key) is True:
        return False
    if message.calls and limits.trailing_calls:
        return False
    return not (limits.server_tools_paired and _is_paused(message))


def ends_with_assistant(body: dict[str, Any], limits: Limits) -> bool:
    """Return whether a parameter of a request lets the assistant's message be the last one."""
    parameters = limits.of(FINAL_ASSISTANT)
    if not parameters:
        return False
    extra = body.get(_EXTRA_BODY)
    bodies = (body, extra) if isinstance(extra, dict) else (body,)
    return any(
        _is_set(value_at(one, path), value)
        for path, value in _paths_and_values(parameters)
        for one in bodies
    )


def _is_set(found: object, value: object) -> bool:
    if value is None:
        return bool(found)
    return type(found) is type(value) and found == value


@lru_cache(maxsize=64)
def _paths_and_values(parameters: frozenset[str]) -> tuple[tuple[str, object], ...]:
    parts = (parameter.partition("=") for parameter in sorted(parameters))
    return tuple((path, json.loads(value) if value else None) for path, _, value in parts)


def _is_paused(message: Message) -> bool:
    """Return whether a message ends with a call or result of a hosted tool, or a compaction.

    Claude goes on after such a message: ``stop_reason`` was ``pause_turn`` or ``compaction``.
    """
    end = message.parts[-1] if message.parts else None
    if not isinstance(end, Opaque):
        return False
    block = end.extra
    if block.get("type") == _COMPACTION:
        return True
    return server_tools.call_id(block) is not None or server_tools.result_call_id(block) is not None


def lacks_user(window: Window, memory: Memory, context: Context) -> bool:
    """Return whether the target requires a user message, but no message so far is one."""
    return (
        context.limits.needs_user
        and not memory.has_user
        and not memory.has_stored_history
        and all(message.role is not Role.USER for message in window.messages)
    )
