"""A tool call in a field that the client library does not send, or sends in addition to another.

LangChain stores one call in up to six fields, and each partner package sends other ones of them. A
call in the wrong field is lost, or sent twice.

Why: ``messages with role 'tool' must be a response to a preceding message with 'tool_calls'``
(OpenAI, through langchain-nvidia-ai-endpoints); ``Invalid value: 'tool_call'`` (OpenAI, through
langchain-huggingface).

Repair: All calls of the message move to the field that is sent. They are not changed. This runs
only in the adapter for LangChain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.rules.unsendable_part import LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.converter_limits import ConverterLimits
    from chatmend.windows import Memory, Window

BLOCKS = "chatmend:call-blocks"
"""Key of a message with calls in its content: a description of them, made by the adapter."""
RAW = "chatmend:unsent-raw-calls"
"""Key of a message whose ``additional_kwargs`` lack a call."""
LEGACY = "chatmend:legacy-call"
"""Key of a message whose ``additional_kwargs`` repeat a call as ``function_call``."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages whose calls are in the wrong field."""
    converter: ConverterLimits | None = context.limits.of(LIMIT)
    if converter is None:
        return
    for at, message in enumerate(window.messages):
        held = message.extra.get(BLOCKS)
        omitted = {BLOCKS} if isinstance(held, dict) and _is_misplaced(held, converter) else set()
        omitted |= {RAW} & message.extra.keys()
        if converter.legacy_calls:
            omitted |= {LEGACY} & message.extra.keys()
        if omitted:
            becomes = replace(message, omitted_keys=message.omitted_keys | omitted)
            yield Fix(at, at + 1, (becomes,), "the partner package sends calls from another field")


def _is_misplaced(held: dict[str, Any], converter: ConverterLimits) -> bool:
    """Return whether a call in the content is lost, is sent twice, or must not be there."""
    calls = held["calls"]
    if any(call["only"] and not _is_sent(call, converter) for call in calls):
        return True
    if held["standard"] and converter.standard_calls:
        return False
    has_refused = any(call["type"] in converter.refused_mirrors for call in calls)
    return has_refused or (held["thinking_last"] and not converter.trailing_thinking)


def _is_sent(call: dict[str, Any], converter: ConverterLimits) -> bool:
    """Return whether a call that is only in the content is sent, with readable arguments."""
    types = converter.calls_inside
    return types is None or (
        call["type"] in types and (call["type"] != "tool_use" or call["has_object"])
    )


RULE = Rule("TOOL021", "mirrored-call", find, STRUCTURE)
