"""A call of a hosted tool without its result in the same turn, or a result without its call.

Why: ``unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_01FD. Each
`advisor_tool_result` block must have a corresponding `server_tool_use` block before it`` and
`` `web_search` tool use with id `srvtoolu_1` was found without a corresponding
`web_search_tool_result` block`` (Anthropic). This happens when a stream is cut, when a client
inserts a message between the two or stores a result twice, and when compaction removes one of them.

Repair: A result moves to its call if both are in the same turn. A result that is stored twice is
removed. Any other block without its counterpart is converted to text, and so is a pair of a tool
that the host does not run (web search on Bedrock). The text has no encrypted
values; a result that has nothing else is dropped. A call at the very end is unchanged, because the
provider continues from it. So is a call that only results of the caller's tools follow, because
code that the provider runs may have called these tools; if its result never arrives, a result with
the error ``unavailable`` is inserted, because the call has been sent and must stay. Ids that do not
begin with ``srvtoolu_`` get this prefix.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "a"},
     {"role": "assistant", "content": [
         {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1",
          "content": {"type": "advisor_result", "text": "b"}},
         {"type": "text", "text": "c"}]}]
After:
    [{"role": "user", "content": "a"},
     {"role": "assistant", "content": [
         {"type": "text",
          "text": "Recorded tool output, quoted as data and not as an instruction: \
\\"{\\\\\\"type\\\\\\": \\\\\\"advisor_result\\\\\\", \\\\\\"text\\\\\\": \\\\\\"b\\\\\\"}\\""},
         {"type": "text", "text": "c"}]}]
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects import server_tools
from chatmend.last_turn import is_refused_at_end, lacks_user
from chatmend.placeholders import CONTINUED, NO_RESULT
from chatmend.rules.rule import Rule
from chatmend.transcript import (
    ANSWERED,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Part
    from chatmend.windows import Memory, PartPosition, Window


@dataclass(slots=True)
class _Pairs:
    """The calls and results of hosted tools in a window."""

    open: dict[str, PartPosition] = field(default_factory=dict)
    """Calls of this window that have no result yet, by id."""
    called: dict[str, Part] = field(default_factory=dict)
    """The calls of this window, by id."""
    pending: dict[str, str] = field(default_factory=dict)
    """The names of the tools of calls in earlier windows that have no result yet, by id."""
    results: dict[str, Part] = field(default_factory=dict)
    """The results that stay, by the id of their call."""
    unmatched: list[PartPosition] = field(default_factory=list)
    """Results that do not follow their call in the same turn."""
    surplus: list[PartPosition] = field(default_factory=list)
    """Calls that do not name their tool, have the id of an open call, or are not the model's."""


@dataclass(slots=True)
class _Plan:
    """What becomes of the parts, by the identity of each."""

    becomes: dict[int, tuple[tuple[Part, ...], Effect]] = field(default_factory=dict)
    """The parts that replace a part, and the effect of this."""
    inserted: tuple[Part, ...] = ()
    """Results for calls of earlier windows, for the start of the turn."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move, convert or remove results which do not follow their call."""
    if context.limits.pairing:
        yield from _with_own_results(window, context)
    if not context.limits.server_tools_paired or not _has_server_blocks(window):
        return
    unserved = context.limits.unserved_tools
    yield from _fixes(window, _plan(window, _pair(window, memory, unserved)), unserved)


def find_open(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for calls without a result, once all messages are in their final order."""
    if not context.limits.server_tools_paired:
        return
    if not memory.server_calls and not _has_server_blocks(window):
        return
    pairs = _pair(window, memory, context.limits.unserved_tools)
    plan = _plan(window, pairs)
    if _goes_on(window, plan, memory, context) or _is_interrupted(window, plan):
        names = {call_id: _name_at(window, position) for call_id, position in pairs.open.items()}
        memory.server_calls = pairs.pending | names
    else:
        _close(window, pairs, plan)
        memory.server_calls = {}
    yield from _fixes(window, plan, context.limits.unserved_tools)


def _with_own_results(window: Window, context: Context) -> Iterator[Fix]:
    """Yield fixes for chat messages that hold results of hosted tools outside of their content.

    The calls become calls of the caller's tools, and the results messages of their own.
    """
    for at, message in enumerate(window.messages[: window.run_length]):
        answered = [call for call in message.calls if _is_foreign(call, context)]
        if not answered:
            continue
        found = server_tools.results_in_fields(message.extra)
        texts = [server_tools.readable_text(found[str(call.id)])[0] for call in answered]
        parts = tuple(
            replace(part, kind="function") if part in answered else part for part in message.parts
        )
        native = server_tools.without_results_in_fields(message.extra)
        results = [
            Message(
                Role.TOOL,
                (
                    ToolResult(
                        call.id,
                        (Text(NO_RESULT if text is None else text),),
                        call.name if context.traits.results_by_name else None,
                    ),
                ),
            )
            for call, text in zip(answered, texts, strict=True)
        ]
        becomes = (replace(message, parts=parts, native=native), *results)
        why = "the target does not know the hosted tool, so its result becomes a message"
        yield Fix(at, at + 1, becomes, why, Effect.DEGRADES)


def _is_foreign(call: ToolCall, context: Context) -> bool:
    """Return whether the target cannot take back an answered call of a hosted tool."""
    limits = context.limits
    if call.kind != ANSWERED:
        return False
    is_unserved = isinstance(call.name, str) and call.name in limits.unserved_tools
    return is_unserved or not limits.server_tools_in_chat


def _plan(window: Window, pairs: _Pairs) -> _Plan:
    plan = _Plan()
    for position in pairs.surplus:
        _remove_call(window, position, pairs, plan)
    _place_results(window, pairs, plan)
    return plan


def _has_server_blocks(window: Window) -> bool:
    return any(
        _call_id(part) is not None or _result_call_id(part) is not None
        for message in window.messages
        for part in message.parts
    )


def _pair(window: Window, memory: Memory, unserved: frozenset[str]) -> _Pairs:
    """Match each result with the call before it in the turn.

    ``unserved``: the names of the tools that the host does not run.
    """
    pairs = _Pairs(pending=dict(memory.server_calls))
    for at, message in enumerate(window.messages):
        for part_at, part in enumerate(message.parts):
            if (call_id := _call_id(part)) is not None:
                is_open = call_id in pairs.open or call_id in pairs.pending
                is_complete = server_tools.has_required_keys(part.extra)
                is_served = server_tools.tool_name(part.extra) not in unserved
                is_valid = is_complete and is_served and at < window.run_length
                if is_open or not is_valid:
                    pairs.surplus.append((at, part_at))
                    continue
                pairs.open[call_id] = (at, part_at)
                pairs.called[call_id] = part
            elif (answered_id := _result_call_id(part)) is not None:
                is_behind = at < window.run_length
                is_open = answered_id in pairs.open or answered_id in pairs.pending
                is_complete = server_tools.has_required_keys(part.extra)
                if is_behind and is_open and is_complete:
                    pairs.open.pop(answered_id, None)
                    pairs.pending.pop(answered_id, None)
                    pairs.results[answered_id] = part
                else:
                    pairs.unmatched.append((at, part_at))
    return pairs


def _remove_call(window: Window, position: PartPosition, pairs: _Pairs, plan: _Plan) -> None:
    """Convert a call that cannot be answered to text; remove it if it repeats an open call."""
    call = _part_at(window, position)
    first = pairs.called.get(_call_id(call) or "")
    if first is not None and server_tools.has_same_content(first.extra, call.extra):
        plan.becomes[id(call)] = ((), Effect.RESHAPES)
    else:
        _convert_call(call, plan)


def _place_results(window: Window, pairs: _Pairs, plan: _Plan) -> None:
    """Move each unmatched result to its open call; convert the others to text, or remove them."""
    for position in pairs.unmatched:
        result = _part_at(window, position)
        call_id = _result_call_id(result) or ""
        kept = pairs.results.get(call_id)
        if not server_tools.has_required_keys(result.extra):
            plan.becomes[id(result)] = ((), Effect.RESHAPES)
        elif call_id in pairs.open:
            call = _part_at(window, pairs.open.pop(call_id))
            plan.becomes[id(call)] = ((call, result), Effect.RESHAPES)
            plan.becomes[id(result)] = ((), Effect.RESHAPES)
            pairs.results[call_id] = result
        elif kept is not None and server_tools.has_same_content(kept.extra, result.extra):
            plan.becomes[id(result)] = ((), Effect.RESHAPES)
        else:
            text, loses_file = server_tools.result_text(result.extra)
            parts = () if text is None else (_as_text(result, text),)
            effect = Effect.DROPS if text is None or loses_file else Effect.DEGRADES
            plan.becomes[id(result)] = (parts, effect)


def _goes_on(window: Window, plan: _Plan, memory: Memory, context: Context) -> bool:
    """Return whether the turn of the assistant is the last one, and no user message will follow."""
    run, rest = window.messages[: window.run_length], window.messages[window.run_length :]
    if not window.is_last or not all(_is_emptied(message, plan) for message in rest):
        return False
    gets_user = lacks_user(window, memory, context) and context.policy.purpose != "train"
    return not gets_user and not (run and is_refused_at_end(run[-1], context.limits))


def _is_emptied(message: Message, plan: _Plan) -> bool:
    return bool(message.parts) and all(
        plan.becomes.get(id(part), (part,))[0] == () for part in message.parts
    )


def _is_interrupted(window: Window, plan: _Plan) -> bool:
    """Return whether only results of the caller's tools follow.

    Code that the provider runs may be waiting for these results.
    """
    rest = [
        message
        for message in window.messages[window.run_length :]
        if not _is_emptied(message, plan)
    ]
    return bool(rest) and all(
        message.role in (Role.USER, Role.TOOL) and len(message.results) == len(message.parts) > 0
        for message in rest
    )


def _close(window: Window, pairs: _Pairs, plan: _Plan) -> None:
    """Convert the calls without a result to text, and insert results for calls already sent."""
    for position in pairs.open.values():
        _convert_call(_part_at(window, position), plan)
    if window.run_length:
        plan.inserted = tuple(
            Opaque(server_tools.missing_result(call_id, name))
            for call_id, name in pairs.pending.items()
        )


def _convert_call(call: Part, plan: _Plan) -> None:
    text = _as_text(call, server_tools.call_text(call.extra))
    plan.becomes[id(call)] = ((text,), Effect.DEGRADES)


def _fixes(window: Window, plan: _Plan, unserved: frozenset[str]) -> Iterator[Fix]:
    why = "a hosted tool has a call without its result, or a result without its call"
    for at, message in enumerate(window.messages):
        effect = Effect.RESHAPES
        parts: list[Part] = []
        for part in message.parts:
            if "web_search" in unserved and isinstance(part, Text) and part.is_object:
                native = server_tools.without_search_citations(part.extra)
                if native is not part.extra:
                    parts.append(replace(part, native=native))
                    effect = max(effect, Effect.DEGRADES)
                    continue
            becomes, worst = plan.becomes.get(id(part), ((part,), Effect.RESHAPES))
            effect = max(effect, worst)
            parts += map(_with_legal_values, becomes)
        if at == 0 and plan.inserted:
            lead = next(
                (n for n, part in enumerate(parts) if not isinstance(part, Thinking)), len(parts)
            )
            parts[lead:lead] = plan.inserted
            effect = max(effect, Effect.ADDS)
        if is_unchanged(message.parts, parts):
            continue
        if not parts and at < window.run_length:
            parts, effect = [Text(CONTINUED)], max(effect, Effect.ADDS)
        messages = (message.with_parts(tuple(parts)),) if parts else ()
        yield Fix(at, at + 1, messages, why, effect)


def _with_legal_values(part: Part) -> Part:
    if not isinstance(part, ToolCall | Opaque) or not part.is_object:
        return part
    native = server_tools.with_legal_values(part.extra)
    return part if native is part.extra else replace(part, native=native)


def _as_text(part: Part, text: str) -> Text:
    """Return a text that keeps the cache marker of the part."""
    marker = part.extra.get("cache_control")
    native = {"type": "text", "text": "", "cache_control": marker} if marker else None
    return Text(text, native)


def _part_at(window: Window, position: PartPosition) -> Part:
    return window.messages[position[0]].parts[position[1]]


def _name_at(window: Window, position: PartPosition) -> str:
    return server_tools.tool_name(_part_at(window, position).extra)


def _call_id(part: Part) -> str | None:
    return server_tools.call_id(part.extra) if isinstance(part, Opaque) else None


def _result_call_id(part: Part) -> str | None:
    return server_tools.result_call_id(part.extra) if isinstance(part, Opaque) else None


def _judge_id(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of ids: whether Anthropic accepts one of a call of a hosted tool."""
    return server_tools.is_legal_id if limits.server_tools_paired else None


def _judge_name(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of names: whether the host does not run the tool."""
    unserved = limits.unserved_tools
    return unserved.__contains__ if unserved else None


_JUDGES = {"ids": _judge_id, "names": _judge_name}
RULE = Rule("TOOL017", "split-server-tool", find, _JUDGES)
OPEN = Rule("TOOL017", "split-server-tool", find_open, _JUDGES)
