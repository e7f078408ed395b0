"""A malformed or misplaced cache marker.

Why: ``messages.0.content.0.cache_control.type: Input should be 'ephemeral'`` and
``messages.1.content.0.thinking.cache_control: Extra inputs are not permitted`` (Anthropic);
``There is nothing available to cache`` and ``Cache point cannot be inserted after reasoning block.
Please remove the invalid cache point and try again.`` (Bedrock); ``extraneous key [cachePoint] is
not permitted`` (Nova); ``system.1.cache_control.ephemeral.scope: Extra inputs are not permitted``
(GitHub Copilot, Bedrock and Vertex AI, for the marker of Claude Code).

Repair: The marker is removed, or only its refused key, also in system and tools. The part or
message that had it is otherwise unchanged. A marker of a whole message moves to its last block
where the target accepts markers only in blocks, so that the cache stays warm. In the Converse API,
a cache point moves out of a result, behind the last one. It needs content before it in the same
message. None may directly follow another cache point, a video, a document that is neither a PDF nor
cited, or, for Claude, reasoning. Nova accepts none in a message with tool results, and none among
the tools.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "text", "text": "a", "cache_control": {"type": "forever"}}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "a"}]}]

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "cache_control": {"type": "ephemeral"}, "content": [
         {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]}]
After:
    [{"role": "user", "content": [
         {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"},
          "cache_control": {"type": "ephemeral"}}]}]

Before (bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0):
    [{"role": "user", "content": [
         {"text": ""}, {"cachePoint": {"type": "default"}}, {"text": "a"},
         {"cachePoint": {"type": "default"}}]}]
After:
    [{"role": "user", "content": [{"text": "a"}, {"cachePoint": {"type": "default"}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect, Fix
from chatmend.dialects.blocks import CACHE_POINTS, unwrap
from chatmend.emptiness import is_empty, without_empty_parts
from chatmend.rules.rule import STRUCTURE, Request, RequestRule, Rule
from chatmend.rules.too_many_cache_markers import as_dict, has_markers
from chatmend.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_KEY = "cache_control"
_POINTS = "cache_points"
_AFTER_THINKING = "points_after_thinking"
_WITH_RESULTS = "points_with_results"
"""Whether a message with tool results may have a cache point, or a marker that becomes one."""
_IN_TOOLS = "points_in_tools"
"""Whether the tools may have a cache point, or a marker that becomes one."""
_MARKER_KEYS = "refused_marker_keys"
"""The keys of cache markers that the target refuses, such as ``scope``."""
_TTLS = (None, "5m", "1h")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove cache markers which the target does not accept."""
    is_accepted = (
        _is_accepted_marker if context.limits.max_cache_markers is not None else _is_valid_marker
    )
    none_with_results = context.limits.of(_WITH_RESULTS) is False
    is_checked = context.traits.cache_markers or is_accepted is not _is_valid_marker
    if not (is_checked or none_with_results):
        return
    for at, message in enumerate(window.messages):
        if not is_checked and not message.results:
            continue
        accepts = _is_unmarked if none_with_results and message.results else is_accepted
        unmarked = message
        if message.is_object and not accepts(message.extra):
            unmarked = replace(message, omitted_keys=frozenset({_KEY}))
        parts = tuple(_without_markers(part, message, accepts) for part in unmarked.parts)
        if unmarked is not message or not is_unchanged(unmarked.parts, parts):
            yield Fix(
                at,
                at + 1,
                (unmarked.with_parts(parts),),
                "the target does not accept this cache marker",
            )


def find_on_messages(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move the marker of a message to its last block that can have one."""
    if not (context.traits.cache_markers and context.limits.block_keys):
        return
    for at, message in enumerate(window.messages):
        marker = message.extra.get(_KEY) if message.is_object else None
        places = [i for i, part in enumerate(message.parts) if _takes_marker(part, message)]
        if marker is None or not places:
            continue
        last = places[-1]
        parts = (
            *message.parts[:last],
            _marked(message.parts[last], marker),
            *message.parts[last + 1 :],
        )
        becomes = replace(message.with_parts(parts), omitted_keys=message.omitted_keys | {_KEY})
        yield Fix(at, at + 1, (becomes,), "the target accepts cache markers only in blocks")


def _takes_marker(part: Part, message: Message) -> bool:
    if isinstance(part, Text):
        return bool(part.text.strip())
    return isinstance(part, Media | ToolCall | ToolResult) and not part.has_same_native(message)


def _marked(part: Part, marker: object) -> Part:
    """Return a part with the marker, unless it has one."""
    text = part.text if isinstance(part, Text) else ""
    native = part.extra if part.is_object else {"type": "text", "text": text}
    return part if native.get(_KEY) is not None else replace(part, native={**native, _KEY: marker})


def find_points(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove the cache points of Bedrock's Converse API where they are refused."""
    for at, message in enumerate(window.messages):
        parts = message.parts
        if context.limits.of(_POINTS) is False:
            parts = tuple(map(_without_points_inside, parts))
        elif context.traits.result_types:  # no format has cache points in results
            parts = tuple(map(_with_type_of_point, _with_points_behind(parts)))
        becomes = message if is_unchanged(message.parts, parts) else message.with_parts(parts)
        if any(map(_is_cache_point, parts)):
            kept = _with_accepted_points(becomes, context)
            becomes = becomes if len(kept) == len(parts) else becomes.with_parts(kept)
        if becomes is not message:
            why = "the target does not accept a cache point here"
            yield Fix(at, at + 1, (becomes,), why)


def _without_points_inside(part: Part) -> Part:
    """Return a tool result without the cache points in it, which langchain-aws sends behind it."""
    if not isinstance(part, ToolResult) or not any(map(_is_cache_point, part.content)):
        return part
    return replace(part, content=tuple(one for one in part.content if not _is_cache_point(one)))


def _with_points_behind(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts with the cache points in results behind the last result."""
    moved = [
        point
        for part in parts
        if isinstance(part, ToolResult)
        for point in part.content
        if _is_cache_point(point)
    ]
    if not moved:
        return parts
    end = 1 + max(at for at, part in enumerate(parts) if isinstance(part, ToolResult))
    return (*map(_without_points_inside, parts[:end]), moved[0], *parts[end:])


def _with_type_of_point(part: Part) -> Part:
    """Return a cache point of the Converse API with its type, of which there is only one."""
    point = part.extra.get("cachePoint") if isinstance(part, Opaque) else None
    if not isinstance(point, dict) or point.get("type") == "default":
        return part
    return Opaque({**part.extra, "cachePoint": {**point, "type": "default"}})


def _with_accepted_points(message: Message, context: Context) -> tuple[Part, ...]:
    """Return the parts of a message without the cache points that the target refuses.

    Texts that ``empty_text`` removes count as removed already.
    """
    content = tuple(part for part in message.parts if not _is_cache_point(part))
    refuses_all = message.results and context.limits.of(_WITH_RESULTS) is False
    if refuses_all or context.limits.of(_POINTS) is False:
        return content
    sent = without_empty_parts(message.with_parts(content), context)
    if is_empty(sent, context):
        return content
    removed = {id(part) for part in content} - {id(part) for part in sent.parts}
    kept: list[Part] = []
    last: Part | None = None
    for part in message.parts:
        if _is_cache_point(part) and (last is None or _takes_no_point(last, context.limits)):
            continue
        kept.append(part)
        last = last if id(part) in removed else part
    return tuple(kept)


def _takes_no_point(part: Part, limits: Limits) -> bool:
    """Return whether no cache point may directly follow a part."""
    if isinstance(part, Thinking):
        return limits.of(_AFTER_THINKING) is False
    if isinstance(part, Media):
        return part.kind == "video" or (part.kind == "document" and not _is_cacheable(part))
    return _is_cache_point(part)


def _is_cacheable(part: Media) -> bool:
    """Return whether a cache point may follow a document: a PDF, or one with citations."""
    document = part.extra.get("document")
    if not isinstance(document, dict):
        return False
    citations = document.get("citations")
    is_cited = isinstance(citations, dict) and citations.get("enabled") is True
    return is_cited or document.get("format") == "pdf"


def _is_cache_point(part: Part) -> bool:
    return isinstance(part, Opaque) and not CACHE_POINTS.isdisjoint(unwrap(part.extra))


def _without_markers(
    part: Part, message: Message, is_accepted: Callable[[dict[str, Any]], bool]
) -> Part:
    if isinstance(part, ToolResult):
        content = tuple(_without_markers(p, message, is_accepted) for p in part.content)
        if not is_unchanged(part.content, content):
            part = replace(part, content=content)
    native = part.extra
    if isinstance(part, Opaque) or not part.is_object or part.has_same_native(message):
        return part
    on_thinking = (
        is_accepted is _is_accepted_marker
        and isinstance(part, Thinking)
        and native.get(_KEY) is not None
    )
    if is_accepted(native) and not on_thinking:
        return part
    return replace(part, native={key: value for key, value in native.items() if key != _KEY})


def _is_valid_marker(native: dict[str, Any]) -> bool:
    """Return whether the wire format allows the marker; used if the host has no known limits."""
    marker = native.get(_KEY)
    return marker is None or (isinstance(marker, dict) and marker.get("type") == "ephemeral")


def _is_unmarked(native: dict[str, Any]) -> bool:
    return native.get(_KEY) is None


def _is_accepted_marker(native: dict[str, Any]) -> bool:
    marker = native.get(_KEY)
    return _is_valid_marker(native) and (marker is None or marker.get("ttl") in _TTLS)


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Remove refused markers of tools, and the keys of all markers that the target refuses."""
    request, changes = _without_points_in_tools(request, context)
    request, more = _without_refused_keys(request, context)
    return request, [*changes, *more]


def _without_points_in_tools(request: Request, context: Context) -> tuple[Request, list[Change]]:
    before = request.tools
    if context.limits.of(_IN_TOOLS) is not False or not isinstance(before, list):
        return request, []
    after = [
        {key: value for key, value in tool.items() if key != _KEY}
        if isinstance(tool, dict) and _KEY in tool
        else tool
        for tool in before
        if not (isinstance(tool, dict) and "cachePoint" in tool)
    ]
    if is_unchanged(before, after):
        return request, []
    why = "the target does not accept cache markers among the tools"
    change = Change(
        RULE.code, RULE.name, Effect.RESHAPES, None, why, (before,), (after,), where="tools"
    )
    return replace(request, tools=after), [change]


def _without_refused_keys(request: Request, context: Context) -> tuple[Request, list[Change]]:
    refused = context.limits.of(_MARKER_KEYS)
    if not refused:
        return request, []
    why = f"the target accepts no cache marker with {' or '.join(sorted(refused))}"
    changes: list[Change] = []

    def record(at: int | None, before: object, after: object, where: str = "messages") -> None:
        changes.append(
            Change(
                RULE.code, RULE.name, Effect.RESHAPES, at, why, (before,), (after,), None, at or 0,
                where,
            )
        )  # fmt: skip

    out = list(request.messages)
    for at, native in enumerate(request.messages):
        found = as_dict(native, context)
        if (kept := _without_keys(found, refused)) is not found:
            out[at] = context.dialect.write(context.dialect.read(kept))
            record(at, native, out[at])
    if changes:
        request = replace(request, messages=out)
    for where in ("system", "tools"):
        before = getattr(request, where)
        if (after := _without_keys(before, refused)) is not before:
            record(None, before, after, where)
            request = replace(request, **{where: after})
    automatic = {_KEY: request.cache_control}
    if (kept := _without_keys(automatic, refused)) is not automatic:
        record(None, request.cache_control, kept[_KEY], _KEY)
        request = replace(request, cache_control=kept[_KEY])
    return request, changes


def _without_keys(value: Any, refused: frozenset[str]) -> Any:  # noqa: ANN401 - any JSON value
    """Return blocks or a message without the refused keys of their markers; the same if none."""
    if isinstance(value, list):
        kept = [_without_keys(item, refused) for item in value]
        return value if is_unchanged(value, kept) else kept
    if not isinstance(value, dict):
        return value
    marker, inner = value.get(_KEY), value.get("content")
    if isinstance(marker, dict) and not refused.isdisjoint(marker):
        own = {key: held for key, held in marker.items() if key not in refused}
        value = {**value, _KEY: own}
    if isinstance(inner, list) and (content := _without_keys(inner, refused)) is not inner:
        value = {**value, "content": content}
    return value


RULE = Rule("CACHE002", "invalid-cache-marker", find, STRUCTURE)
POINTS = Rule(
    RULE.code,
    RULE.name,
    find_points,
    STRUCTURE,
    own_limits={_POINTS: bool, _AFTER_THINKING: bool, _WITH_RESULTS: bool},
)
ON_MESSAGES = Rule(RULE.code, RULE.name, find_on_messages, STRUCTURE)
KEYS = RequestRule(
    RULE.code,
    RULE.name,
    apply,
    has_markers,
    counts_markers=True,
    own_limits={_MARKER_KEYS: list[str], _IN_TOOLS: bool},
)
