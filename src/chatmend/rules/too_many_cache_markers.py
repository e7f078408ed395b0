"""More cache markers than the target takes, counted over system, tools and messages, or a long one behind a short one.

Why: ``A maximum of 4 blocks with cache_control may be provided. Found 5.`` and ``a ttl='1h' cache_control block must not
come after a ttl='5m' cache_control block`` (Anthropic). An agent marks the newest message at every turn and never takes
the old marks away.

Repair: the oldest markers in the messages go; those of system and tools, and the newest, stay. A marker of an hour behind
one of five minutes lives for five minutes. Content stays as it is.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "d", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "e", "cache_control": {"type": "ephemeral"}}]}]
After:
    [{"role": "user", "content": [
         {"type": "text", "text": "a"},
         {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "d", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "e", "cache_control": {"type": "ephemeral"}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Request, RequestRule
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.transcript import Message

CODE, NAME = "CACHE001", "too-many-cache-markers"
_LONG = "1h"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """The request with no more markers than are taken."""
    limit = context.limits.max_cache_markers
    if limit is None:
        return request, []
    messages = request.messages
    beyond = [
        (at, native)
        for at, native in enumerate(messages)
        # Most are a text without a marker: told here, because a call for each costs more than the look.
        if native.__class__ is not dict or native.get("content").__class__ is not str or "cache_control" in native
        if native.__class__ is dict or getattr(native, "content", None).__class__ is list
    ]
    marked = [(at, count) for at, native in beyond if (count := _of_message(_shown(native, context)))]
    request, shortened = _with_lives_in_order(request, context, [at for at, _ in marked] if limit else [])
    messages = request.messages
    over = sum(count for _, count in marked) + markers(request.system) + markers(request.tools) - limit
    changes: list[Change] = []
    out = messages
    for at, count in marked:
        if over <= 0:
            break
        shown = _with_fewer(_shown(messages[at], context), over)
        over -= count - _of_message(shown)
        becomes = context.dialect.write(context.dialect.read(shown))
        out = list(messages) if out is messages else out
        out[at] = becomes
        why = f"at most {limit} cache markers"
        changes.append(Change(CODE, NAME, Effect.RESHAPES, at, why, (messages[at],), (becomes,), None, at))
    return (replace(request, messages=out) if changes else request), [*shortened, *changes]


def _with_lives_in_order(request: Request, context: Context, places: list[int]) -> tuple[Request, list[Change]]:
    """The request with no marker that lives for an hour behind one of five minutes; ``places``: messages with markers."""
    messages = request.messages
    lives = list(_lives([request.tools, request.system, [_shown(messages[at], context) for at in places]]))
    if _LONG not in lives or _LONG not in lives[_first_short(lives) :]:
        return request, []
    changes: list[Change] = []
    seen = any(life != _LONG for life in _lives([request.tools, request.system]))
    out = list(messages)
    for at in places:
        native = messages[at]
        shown = _shown(native, context)
        becomes = _shortened(shown, seen=seen)
        seen = seen or any(life != _LONG for life in _lives(shown))
        if becomes is not shown:
            out[at] = context.dialect.write(context.dialect.read(becomes))
            why = "a cache marker of an hour stands behind one of five minutes"
            changes.append(Change(CODE, NAME, Effect.RESHAPES, at, why, (native,), (out[at],), None, at))
    return (replace(request, messages=out) if changes else request), changes


def _first_short(lives: list[object]) -> int:
    return next((at for at, life in enumerate(lives) if life != _LONG), len(lives))


def _lives(value: object) -> Iterator[object]:
    """How long the markers in a value live, in the order in which the provider reads them."""
    if isinstance(value, list):
        for item in value:
            yield from _lives(item)
    elif isinstance(value, dict):
        yield from _lives(value.get("content"))
        if isinstance(marker := value.get("cache_control"), dict):
            yield marker.get("ttl")


def _shortened(value: Any, *, seen: bool) -> Any:  # noqa: ANN401 - anything may stand in a transcript
    """A message or a block whose markers of an hour, behind one of five minutes, live for five minutes."""
    if isinstance(value, list):
        blocks = []
        for item in value:
            blocks.append(_shortened(item, seen=seen))
            seen = seen or any(life != _LONG for life in _lives(item))
        return value if is_unchanged(blocks, value) else blocks
    if not isinstance(value, dict):
        return value
    inner = value.get("content")
    held = _shortened(inner, seen=seen) if isinstance(inner, list) else inner
    seen = seen or any(life != _LONG for life in _lives(inner))
    new = {**value, "content": held} if held is not inner else value
    marker = new.get("cache_control")
    if seen and isinstance(marker, dict) and marker.get("ttl") == _LONG:
        new = {**new, "cache_control": {**marker, "ttl": "5m"}}
    return new


def markers(value: object) -> int:
    """Cache markers in a list of blocks, and in what its tool results hold."""
    count = 0
    for block in value if isinstance(value, list) else ():
        if isinstance(block, dict):
            count += block.get("cache_control") is not None
            if (inside := block.get("content")).__class__ is list:
                count += markers(inside)
    return count


def _shown(native: object, context: Context) -> Any:  # noqa: ANN401 - anything may stand in a transcript
    """A message as a dict, where it can be one."""
    return native if isinstance(native, dict) else context.dialect.read(native).extra


def _of_message(native: object) -> int:
    if not isinstance(native, dict):
        return 0
    if native.get("content").__class__ is str and "cache_control" not in native:
        return 0
    return markers(native.get("content")) + (native.get("cache_control") is not None)


def _with_fewer(message: dict[str, Any], over: int) -> dict[str, Any]:
    """The message without its first ``over`` markers."""
    if message.get("cache_control") is not None:
        return _with_fewer({k: v for k, v in message.items() if k != "cache_control"}, over - 1)
    content = message.get("content")
    if not isinstance(content, list) or over <= 0:
        return message
    blocks: list[Any] = []
    for block in content:
        kept = block
        if isinstance(block, dict) and over > 0 and block.get("cache_control") is not None:
            over -= 1
            kept = {k: v for k, v in block.items() if k != "cache_control"}
        if isinstance(kept, dict) and over > 0 and (inside := markers(kept.get("content"))):
            kept = _with_fewer(kept, over)
            over -= inside - markers(kept.get("content"))
        blocks.append(kept)
    return {**message, "content": blocks}


def _holds(message: Message) -> bool:
    native = message.extra
    return message.is_object and ("cache_control" in native or _of_message(native) > 0)


RULE = RequestRule(CODE, NAME, apply, _holds)
