"""What concerns the whole request: the top-level system, declared tools, cache markers; and the offline choices.

The last pass runs when all windows are done. The offline choices (``late_results="move"``, ``duplicates="messages"``,
``system="hoist"``) rewrite what was sent, and run before the first window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules import LAST, Request
from chatmend.transcript import Role, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.rules import Context
    from chatmend.transcript import Message

_Messages = list[Any]


def last_pass(
    messages: _Messages, system: object, tools: object, hoisted: list[str], context: Context
) -> tuple[_Messages, object, object, list[Change]]:
    """Messages, system and tools as they are sent, and what was changed in them."""
    changes: list[Change] = []
    if hoisted:
        joined = _joined(system, hoisted)
        changes.append(
            _beside(
                "SYS001", "misplaced-system", Effect.RESHAPES, "moved up from the messages", system, joined, "system"
            )
        )
        system = joined
    if context.limits.tools_declared and isinstance(tools, list) and not tools:
        declared = _declaration(messages, context)
        if declared:
            why = "the history holds tool calls, so tools must be declared"
            if context.policy.allow >= Effect.ADDS:
                changes.append(_beside("TOOL014", "undeclared-tools", Effect.ADDS, why, tools, declared, "tools"))
                tools = declared
    for rule in LAST:
        request, more = rule.apply(Request(messages, system, tools), context)
        messages = request.messages
        changes += more
    if context.limits.max_cache_markers is not None:
        messages, more = _unmarked(messages, system, tools, context)
        changes += more
    return messages, system, tools, changes


def _beside(code: str, rule: str, effect: Effect, why: str, before: object, after: object, where: str) -> Change:  # noqa: PLR0913, PLR0917
    return Change(code, rule, effect, None, why, (before,), (after,), where=where)


def _joined(system: object, hoisted: list[str]) -> object:
    """The caller's own system first, then what the messages held, a blank line between."""
    if isinstance(system, list):
        return [*system, *({"type": "text", "text": text} for text in hoisted)]
    own = [system] if isinstance(system, str) and system else []
    return "\n\n".join([*own, *hoisted])


def _declaration(messages: _Messages, context: Context) -> list[dict[str, Any]]:
    names = dict.fromkeys(
        call.name for native in messages for call in context.dialect.read(native).calls if isinstance(call.name, str)
    )
    schema = {"type": "object", "properties": {}}
    if context.top_level_system:
        return [{"name": name, "input_schema": schema} for name in names]
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names]


def _markers(value: object) -> int:
    """Cache markers in a list of blocks, one level deep and in what a result holds."""
    if not isinstance(value, list):
        return 0
    blocks = [block for block in value if isinstance(block, dict)]
    own = sum("cache_control" in block and block["cache_control"] is not None for block in blocks)
    return own + sum(_markers(block.get("content")) for block in blocks)


def _unmarked(messages: _Messages, system: object, tools: object, context: Context) -> tuple[_Messages, list[Change]]:
    """Take away the oldest markers of the messages that are too many, and those where none may be."""
    limit = context.limits.max_cache_markers or 0
    marked = [
        (at, _markers(m.get("content")) + ("cache_control" in m))
        for at, m in enumerate(messages)
        if isinstance(m, dict)
    ]
    total = sum(count for _, count in marked) + _markers(system) + _markers(tools)
    out = messages
    changes: list[Change] = []
    for at, count in marked:
        over = max(total - limit, 0)
        if not count and not _markers(out[at].get("thinking_blocks")):
            continue
        becomes = _with_fewer(out[at], over)
        if becomes is not out[at]:
            total -= count - (_markers(becomes.get("content")) + ("cache_control" in becomes))
            why = f"at most {limit} cache markers, none on thinking"
            changes.append(
                Change("CACHE001", "too-many-cache-markers", Effect.RESHAPES, at, why, (out[at],), (becomes,), None, at)
            )
            out = list(out) if out is messages else out
            out[at] = becomes
    return out, changes


def _with_fewer(message: dict[str, Any], over: int) -> dict[str, Any]:
    """The message without its first ``over`` markers, and without any on a thinking block."""
    if over and "cache_control" in message:
        return _with_fewer({k: v for k, v in message.items() if k != "cache_control"}, over - 1)
    thoughts = message.get("thinking_blocks")
    if isinstance(thoughts, list) and _markers(thoughts):
        bare = [{k: v for k, v in t.items() if k != "cache_control"} if isinstance(t, dict) else t for t in thoughts]
        return _with_fewer({**message, "thinking_blocks": bare}, over)
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks: list[Any] = []
    for block in content:
        kept = block
        if isinstance(block, dict):
            if "cache_control" in block and (over > 0 or block.get("type") in ("thinking", "redacted_thinking")):
                over -= 1
                kept = {k: v for k, v in block.items() if k != "cache_control"}
            if over > 0 and _markers(block.get("content")):
                inner = _with_fewer({"content": block["content"]}, over)["content"]
                over -= _markers(block["content"]) - _markers(inner)
                kept = {**kept, "content": inner}
        blocks.append(kept)
    same = all(a is b for a, b in zip(blocks, content, strict=True))
    return message if same else {**message, "content": blocks}


def whole_transcript(messages: _Messages, context: Context) -> tuple[_Messages, Change] | None:
    """The transcript after the offline choices, as one change, or None where the policy asks for none."""
    policy = context.policy
    becomes = messages
    if policy.duplicates == "messages":
        becomes = list(_without_repeats(becomes))
    if policy.late_results == "move":
        becomes = _returned(becomes, context)
    if policy.system == "hoist" and context.limits.system != "anywhere":
        becomes = _hoisted(becomes, context)
    if len(becomes) == len(messages) and all(a is b for a, b in zip(becomes, messages, strict=True)):
        return None
    why = "offline: results return to their calls, repeats go, system messages stand at the front"
    return becomes, Change(
        "OFF001", "offline-order", Effect.RESHAPES, 0, why, tuple(messages), tuple(becomes), None, -1
    )


def _without_repeats(messages: _Messages) -> Iterator[Any]:
    previous: object = None
    for message in messages:
        if message != previous or not isinstance(message, dict):
            yield message
        previous = message


def _hoisted(messages: _Messages, context: Context) -> _Messages:
    read = [context.dialect.read(message) for message in messages]
    front = [native for native, message in zip(messages, read, strict=True) if message.is_system]
    return front + [native for native, message in zip(messages, read, strict=True) if not message.is_system]


def _returned(messages: _Messages, context: Context) -> _Messages:
    """Each result message that comes after its call's window, moved behind the call that nobody answered."""
    read = [context.dialect.read(message) for message in messages]
    open_calls: dict[str, list[int]] = {}
    behind: dict[int, list[int]] = {}
    moved: set[int] = set()
    for at, message in enumerate(read):
        for call in message.calls if message.is_assistant else ():
            open_calls.setdefault(repr(call.id), []).append(at)
        for result in message.results:
            waiting = open_calls.get(repr(result.call_id))
            if waiting:
                source = waiting.pop(0)
                if _only_result(message) and any(m.is_assistant for m in read[source + 1 : at]):
                    behind.setdefault(source, []).append(at)
                    moved.add(at)
    out: _Messages = []
    for at, native in enumerate(messages):
        if at not in moved:
            out.append(native)
        out += [messages[late] for late in behind.get(at, ())]
    return out


def _only_result(message: Message) -> bool:
    return (
        len(message.parts) == 1 and isinstance(message.parts[0], ToolResult) and message.role in (Role.TOOL, Role.USER)
    )
