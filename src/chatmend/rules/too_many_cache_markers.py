"""Too many cache markers in a request, or markers whose lifetimes do not fit together.

The markers in system, tools and messages count together.

Why: ``A maximum of 4 blocks with cache_control may be provided. Found 5.`` and ``a ttl='1h'
cache_control block must not come after a ttl='5m' cache_control block`` (Anthropic). An agent marks
the newest message at every turn and never removes the old markers.

Repair: The oldest markers in the messages are removed. The newest ones, and those in system and
tools, are kept. The automatic marker, the key ``cache_control`` of the request, counts as one. A
one-hour marker after a five-minute marker becomes a five-minute marker. If the last block has a
one-hour marker, the automatic marker, which is set on the same block, gets one hour, too. The
content is unchanged.

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
    from collections.abc import Callable

    from chatmend.context import Context
    from chatmend.transcript import Message

CODE, NAME = "CACHE001", "too-many-cache-markers"
_POINT = "cachePoint"
_KEYS = ("cache_control", _POINT)
"""The keys of cache markers: Anthropic's, and the blocks of Bedrock's Converse API."""
_ONE_HOUR = "1h"
_OTHER_TTL = "the last block has a cache marker with another lifetime"
_LATE = "a one-hour cache marker follows a five-minute one"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Remove the oldest cache markers over the limit, and shorten one-hour markers if needed."""
    if context.limits.of("cache_points") is False:
        return _without_points(request)
    limit = context.limits.max_cache_markers
    if limit is None:
        return request, []
    messages = request.messages
    candidates = [
        (at, native)
        for at, native in enumerate(messages)
        # Most messages are a text without a marker; this check is faster than a call for each.
        if native.__class__ is not dict
        or native.get("content").__class__ is not str
        or "cache_control" in native
        if native.__class__ is dict or getattr(native, "content", None).__class__ is list
    ]
    marked = [
        (at, count)
        for at, native in candidates
        if (count := count_in_message(as_dict(native, context)))
    ]
    request, ttl_changes = _shorten_late_ttls(
        request, context, [at for at, _ in marked] if limit else []
    )
    messages = request.messages
    over = (
        sum(count for _, count in marked)
        + count_markers(request.system)
        + count_markers(request.tools)
        + isinstance(request.cache_control, dict)
        - limit
    )
    changes: list[Change] = []
    out = messages
    for at, count in marked:
        if over <= 0:
            break
        kept = _remove_first(as_dict(messages[at], context), over)
        over -= count - count_in_message(kept)
        becomes = context.dialect.write(context.dialect.read(kept))
        out = list(messages) if out is messages else out
        out[at] = becomes
        why = f"the target accepts at most {limit} cache markers per request"
        changes.append(
            Change(CODE, NAME, Effect.RESHAPES, at, why, (messages[at],), (becomes,), None, at)
        )
    request = replace(request, messages=out) if changes else request
    request, automatic = _match_automatic(request, context) if limit else (request, [])
    return request, [*ttl_changes, *changes, *automatic]


def _match_automatic(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Give the automatic marker the lifetime of a marker that the last block already has."""
    given = request.cache_control
    if not isinstance(given, dict) or not request.messages:
        return request, []
    marker = _last_marker(as_dict(request.messages[-1], context))
    if marker is None or marker.get("ttl") != _ONE_HOUR or given.get("ttl") == _ONE_HOUR:
        return request, []  # a five-minute marker has shortened the automatic one
    new = {**given, "ttl": _ONE_HOUR}
    change = Change(
        CODE, NAME, Effect.RESHAPES, None, _OTHER_TTL, (given,), (new,), where="cache_control"
    )
    return replace(request, cache_control=new), [change]


def _last_marker(message: Any) -> dict[str, Any] | None:  # noqa: ANN401 - any JSON value
    """Return the marker of the last block that can have one; None if it has none."""
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    held = next((block for block in reversed(blocks) if _is_cacheable(block)), None)
    for owner in (held, message):
        marker = owner.get("cache_control") if isinstance(owner, dict) else None
        if isinstance(marker, dict):
            return marker
    return None


def _is_cacheable(block: object) -> bool:
    """Return whether a block can have a marker: thinking and empty texts cannot."""
    if not isinstance(block, dict):
        return True
    kind, text = block.get("type"), block.get("text")
    is_empty = kind == "text" and isinstance(text, str) and not text.strip()
    return not is_empty and kind not in ("thinking", "redacted_thinking")


def without_excess_markers(
    hoisted: list[str | dict[str, Any]], request: Request, context: Context
) -> list[str | dict[str, Any]]:
    """Return what moves to the system prompt without the first markers over the limit.

    The markers that the caller has set in the system prompt and the tools stay.
    """
    limit = context.limits.max_cache_markers
    if limit is None:
        return hoisted
    own = count_markers(request.system) + count_markers(request.tools)
    over = own + isinstance(request.cache_control, dict) + count_markers(hoisted) - limit
    kept: list[str | dict[str, Any]] = []
    for entry in hoisted:
        if over <= 0 or not count_markers([entry]):
            kept.append(entry)
            continue
        over -= 1
        kept += [] if isinstance(entry, str) or _POINT in entry else [str(entry["text"])]
    return kept


def _without_points(request: Request) -> tuple[Request, list[Change]]:
    """Remove cache points from the system prompt and the tools; those in messages are gone."""
    changes: list[Change] = []
    for where, value in (("system", request.system), ("tools", request.tools)):
        if not isinstance(value, list):
            continue
        kept = [block for block in value if not isinstance(block, dict) or _POINT not in block]
        if len(kept) < len(value):
            why = "the target does not accept cache points"
            changes.append(
                Change(CODE, NAME, Effect.RESHAPES, None, why, (value,), (kept,), where=where)
            )
            request = replace(request, **{where: kept})
    return request, changes


def _shorten_late_ttls(
    request: Request, context: Context, indexes: list[int]
) -> tuple[Request, list[Change]]:
    """Change each one-hour marker after a five-minute marker to five minutes.

    The provider reads the tools, then the system prompt, then the messages. The automatic marker
    is last. ``indexes`` are the indexes of the messages with markers.
    """
    automatic = {"cache_control": request.cache_control}
    messages = [as_dict(request.messages[at], context) for at in indexes]
    ttls = _ttls([request.tools, request.system, messages, automatic])
    if _ONE_HOUR not in ttls or _ONE_HOUR not in ttls[_first_short_ttl(ttls) :]:
        return request, []
    changes: list[Change] = []
    out = list(request.messages)
    after_short = False

    def shorten(value: Any) -> Any:  # noqa: ANN401 - any JSON value
        nonlocal after_short
        becomes = _shorten_ttls(value, after_short=after_short)
        after_short = after_short or any(ttl != _ONE_HOUR for ttl in _ttls(value))
        return becomes

    def record(at: int | None, before: object, after: object, where: str = "messages") -> None:
        change = Change(
            CODE, NAME, Effect.RESHAPES, at, _LATE, (before,), (after,), None, at or 0, where
        )
        changes.append(change)

    tools, system = shorten(request.tools), shorten(request.system)
    for at, found in zip(indexes, messages, strict=True):
        if (becomes := shorten(found)) is not found:
            out[at] = context.dialect.write(context.dialect.read(becomes))
            record(at, request.messages[at], out[at])
    marker = shorten(automatic)["cache_control"]
    for where, before, after in (
        ("tools", request.tools, tools),
        ("system", request.system, system),
        ("cache_control", request.cache_control, marker),
    ):
        if after is not before:
            record(None, before, after, where)
    same = is_unchanged(out, request.messages)
    return Request(request.messages if same else out, system, tools, marker), changes


def _first_short_ttl(ttls: list[object]) -> int:
    return next((at for at, ttl in enumerate(ttls) if ttl != _ONE_HOUR), len(ttls))


def _ttls(value: object) -> list[object]:
    """Return the lifetimes of the markers in a value, in the order in which the provider reads."""
    ttls: list[object] = []
    _collect_ttls(value, ttls.append)
    return ttls


def _collect_ttls(value: object, add: Callable[[object], None]) -> None:
    for item in value if isinstance(value, list) else (value,):
        if isinstance(item, dict):
            content = item.get("content")
            if isinstance(content, (list, dict)):
                _collect_ttls(content, add)
            for key in _KEYS:
                if isinstance(marker := item.get(key), dict):
                    add(marker.get("ttl"))
        elif isinstance(item, list):
            _collect_ttls(item, add)


def _shorten_ttls(value: Any, *, after_short: bool) -> Any:  # noqa: ANN401 - any JSON value
    """Change one-hour markers in a message or block that follow a five-minute marker.

    ``after_short``: whether a five-minute marker precedes the value.
    """
    if isinstance(value, list):
        blocks = []
        for item in value:
            blocks.append(_shorten_ttls(item, after_short=after_short))
            after_short = after_short or any(ttl != _ONE_HOUR for ttl in _ttls(item))
        return value if is_unchanged(blocks, value) else blocks
    if not isinstance(value, dict):
        return value
    inner = value.get("content")
    new_content = (
        _shorten_ttls(inner, after_short=after_short) if isinstance(inner, list) else inner
    )
    after_short = after_short or any(ttl != _ONE_HOUR for ttl in _ttls(inner))
    new = {**value, "content": new_content} if new_content is not inner else value
    for key in _KEYS:
        marker = new.get(key)
        if after_short and isinstance(marker, dict) and marker.get("ttl") == _ONE_HOUR:
            new = {**new, key: {**marker, "ttl": "5m"}}
    return new


def count_markers(value: object) -> int:
    """Count the cache markers in a list of blocks, including those in tool results."""
    count = 0
    for block in value if isinstance(value, list) else ():
        if isinstance(block, dict):
            count += block.get("cache_control") is not None or block.get(_POINT) is not None
            if (inside := block.get("content")).__class__ is list:
                count += count_markers(inside)
    return count


def as_dict(native: object, context: Context) -> Any:  # noqa: ANN401 - any JSON object
    """Return a message as a dict; empty if it has no dict form."""
    return native if isinstance(native, dict) else context.dialect.read(native).extra


def count_in_message(native: object) -> int:
    """Count the cache markers of a message."""
    if not isinstance(native, dict):
        return 0
    if native.get("content").__class__ is str and "cache_control" not in native:
        return 0
    return count_markers(native.get("content")) + (native.get("cache_control") is not None)


def _remove_first(message: dict[str, Any], over: int) -> dict[str, Any]:
    """Return the message without its first ``over`` markers."""
    if message.get("cache_control") is not None:
        return _remove_first({k: v for k, v in message.items() if k != "cache_control"}, over - 1)
    content = message.get("content")
    if not isinstance(content, list) or over <= 0:
        return message
    blocks: list[Any] = []
    for block in content:
        kept = block
        if isinstance(block, dict) and over > 0 and block.get(_POINT) is not None:
            over -= 1
            continue
        if isinstance(block, dict) and over > 0 and block.get("cache_control") is not None:
            over -= 1
            kept = {k: v for k, v in block.items() if k != "cache_control"}
        if isinstance(kept, dict) and over > 0 and (inside := count_markers(kept.get("content"))):
            kept = _remove_first(kept, over)
            over -= inside - count_markers(kept.get("content"))
        blocks.append(kept)
    return {**message, "content": blocks}


def has_markers(message: Message) -> bool:
    """Return whether a message has a cache marker, on itself or in its content."""
    native = message.extra
    return message.is_object and ("cache_control" in native or count_in_message(native) > 0)


RULE = RequestRule(CODE, NAME, apply, has_markers, counts_markers=True)
