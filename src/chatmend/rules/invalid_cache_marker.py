"""A cache marker that is none, or that stands where none may be.

Why: ``messages.0.content.0.cache_control.type: Input should be 'ephemeral'`` and
``messages.1.content.0.thinking.cache_control: Extra inputs are not permitted`` (Anthropic).

Repair: the marker goes; what it stood on is not touched.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "forever"}}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Opaque, Part, Thinking, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

_KEY = "cache_control"
_TTLS = (None, "5m", "1h")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with a marker to be left out."""
    taken = _is_taken if context.limits.max_cache_markers is not None else _is_marker
    if taken is _is_marker and not context.traits.cache_markers:
        return
    for at, message in enumerate(window.messages):
        bare = message
        if message.is_object and not taken(message.extra):
            bare = replace(message, without=frozenset({_KEY}))
        parts = tuple(_unmarked(part, message, taken) for part in bare.parts)
        if bare is not message or not is_unchanged(bare.parts, parts):
            yield Fix(at, at + 1, (replace(bare, parts=parts),), "the target takes no such cache marker")


def _unmarked(part: Part, message: Message, taken: Callable[[dict[str, Any]], bool]) -> Part:
    if isinstance(part, ToolResult):
        content = tuple(_unmarked(p, message, taken) for p in part.content)
        if not is_unchanged(part.content, content):
            part = replace(part, content=content)
    native = part.extra
    if isinstance(part, Opaque) or not part.is_object or part.is_from(message):
        return part
    on_thinking = taken is _is_taken and isinstance(part, Thinking) and native.get(_KEY) is not None
    if taken(native) and not on_thinking:
        return part
    return replace(part, native={key: value for key, value in native.items() if key != _KEY})


def _is_marker(native: dict[str, Any]) -> bool:
    """What the format itself asks for, where nothing is known of the host."""
    marker = native.get(_KEY)
    return marker is None or (isinstance(marker, dict) and marker.get("type") == "ephemeral")


def _is_taken(native: dict[str, Any]) -> bool:
    marker = native.get(_KEY)
    return _is_marker(native) and (marker is None or marker.get("ttl") in _TTLS)


RULE = Rule("CACHE002", "invalid-cache-marker", find, STRUCTURE)
