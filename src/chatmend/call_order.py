"""The order of calls and other content in a message of the assistant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.dialects import server_tools
from chatmend.transcript import Opaque, Text, Thinking, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.transcript import Part


def ends_with_text(parts: tuple[Part, ...]) -> bool:
    """Return whether parts with a call end with a text."""
    return any(isinstance(part, ToolCall) for part in parts) and isinstance(parts[-1], Text)


def has_content_behind_calls(parts: Sequence[Part]) -> bool:
    """Return whether a text follows a call, or thinking the last one.

    A model may think between its calls.
    """
    calls = [at for at, part in enumerate(parts) if isinstance(part, ToolCall)]
    if not calls:
        return False
    has_text = any(isinstance(part, Text) for part in parts[calls[0] :])
    return has_text or any(isinstance(part, Thinking) for part in parts[calls[-1] :])


def has_call_before_hosted_tool(parts: tuple[Part, ...]) -> bool:
    """Return whether a hosted tool is called after a call, and has its result in these parts.

    Calls that the code of a hosted tool has made stay where they are, among its blocks.
    """
    first = next((at for at, part in enumerate(parts) if is_own_call(part)), len(parts))
    if any(is_own_call(part) and server_tools.caller_id(part.extra) for part in parts):
        return False
    following = [part.extra for part in parts[first:] if isinstance(part, Opaque)]
    called = {server_tools.call_id(block) for block in following} - {None}
    return not called.isdisjoint(map(server_tools.result_call_id, following))


def is_own_call(part: Part) -> bool:
    """Return whether a part is a call whose result the caller sends."""
    return isinstance(part, ToolCall) and part.awaits_result
