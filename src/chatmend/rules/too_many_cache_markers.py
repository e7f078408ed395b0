"""More cache markers than the target takes, counted over system, tools and messages.

Why: ``A maximum of 4 blocks with cache_control may be provided. Found 5.`` (Anthropic). An agent
marks the newest message at every turn and never takes the old marks away.

Repair: the oldest markers in the messages go; those of system and tools, and the newest, stay. Content stays as it is.

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
from typing import Any

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Context, Request, RequestRule

CODE, NAME = "CACHE001", "too-many-cache-markers"


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
    return (replace(request, messages=out) if changes else request), changes


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
    return native if isinstance(native, dict) else context.dialect.read(native).native


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


RULE = RequestRule(CODE, NAME, apply, counts_parts=True)
