"""A delta of a stream that was stored as a block of the answer.

Why: ``Input tag 'input_json_delta' found using 'type' does not match any of the expected tags``
(Anthropic); ``Invalid value: 'input_json_delta'. Supported values are: 'text', 'image_url',
'input_audio', 'refusal', 'audio', 'file'.`` (OpenAI). A client stored the events of a stream one by
one: a call without arguments, and blocks with the pieces of their JSON after it. LangChain.js does
so, and LangChain keeps the JSON under the key ``partial_json`` of a call whose input is empty. In
Chat Completions a client appended the deltas to ``tool_calls``: each is sent as a call without an
id and a name (``Missing required parameter: 'messages[1].tool_calls[1].id'``, OpenAI).

Repair: Deltas are joined with the block that they belong to, by ``index`` or else the nearest one
before them, as the SDK of Anthropic does: JSON becomes the arguments of its call, text and thinking
are appended, a signature is set. Arguments that end too early are kept whole under one constant
key, as by TOOL013. Deltas without content, and JSON that the call already has as its arguments, are
removed; JSON without a call becomes a text. An entry of ``tool_calls`` without an id and a name
continues the call that has the same ``index``; an empty entry next to other calls is removed.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
         {"type": "input_json_delta", "partial_json": "{\\"city\\": "},
         {"type": "input_json_delta", "partial_json": "\\"Rome\\"}"}]},
     {"role": "user", "content": [
         {"type": "tool_result", "tool_use_id": "toolu_1", "content": "18 degrees"}]}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"city": "Rome"}}]},
     {"role": "user", "content": [
         {"type": "tool_result", "tool_use_id": "toolu_1", "content": "18 degrees"}]}]

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"index": 0, "id": "call_1", "type": "function", "function": {
             "name": "f", "arguments": ""}},
         {"index": 0, "function": {"arguments": "{\\"city\\": "}},
         {"index": 0, "function": {"arguments": "\\"Rome\\"}"}}]},
     {"role": "tool", "tool_call_id": "call_1", "content": "18 degrees"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_1", "type": "function", "function": {
             "name": "f", "arguments": "{\\"city\\": \\"Rome\\"}"}, "index": 0}]},
     {"role": "tool", "tool_call_id": "call_1", "content": "18 degrees"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.openai_chat import flat_name_and_arguments, other_call_keys
from chatmend.rules.invalid_tool_arguments import as_object
from chatmend.rules.rule import KeyedJudge, Rule
from chatmend.transcript import Opaque, Part, Text, Thinking, ToolCall, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window

_JSON = "input_json_delta"
_KEYS = {
    _JSON: ("partial_json", "input"),
    "text_delta": ("text",),
    "thinking_delta": ("thinking",),
    "signature_delta": ("signature",),
}
"""For each type of delta, the keys that may hold its piece: LangChain.js writes ``input``."""
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_PARTIAL = "partial_json"
_NOTHING: tuple[object, ...] = (None, "", {})
"""Ids, names and arguments of calls that say nothing."""
_INDEX = "index"
_WHY_CALL = "a delta of a stream is not a call"
_WHY = "a delta of a stream is not a content block"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that join the deltas in answers with their blocks.

    Whether there is a fix for a block depends only on the structure: each delta is joined,
    converted or dropped. For an entry of ``tool_calls`` it depends on its index, too.
    """
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages[: window.run_length]):
        if message.is_opaque:
            continue
        whole = _with_whole_calls(message.parts) if context.traits.typed_calls else message.parts
        parts, effect = _with_whole_blocks(message.with_parts(whole), context)
        if not is_unchanged(message.parts, parts):
            why = _WHY if whole is message.parts else _WHY_CALL
            yield Fix(at, at + 1, (message.with_parts(parts),), why, effect)


def _with_whole_blocks(message: Message, context: Context) -> tuple[tuple[Part, ...], Effect]:
    """Return the parts with each delta of a block joined with it, and the worst effect."""
    known = context.accepted_types(message) or frozenset()
    parts, effect = _joined(message.parts, known, context)
    if context.limits.block_keys:
        pairs = [_with_partial_json(part, context) for part in parts]
        parts = tuple(part for part, _ in pairs)
        effect = max([effect, *(worst for _, worst in pairs)])
    return parts, effect


def _with_whole_calls(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts with each delta in ``tool_calls`` joined with its call.

    Also without empty entries, if another call remains. The same object if there are none.
    """
    named = [part for part in parts if isinstance(part, ToolCall) and not _is_nameless(part)]
    if not named or not any(map(_is_nameless, parts)):
        return parts
    out: list[Part] = []
    positions: dict[object, int] = {}
    deltas: dict[int, list[ToolCall]] = {}
    for part in parts:
        index = _index_of(part.extra)
        if not isinstance(part, ToolCall) or not _is_nameless(part):
            positions |= {} if index is None else {index: len(out)}
            out.append(part)
        elif index in positions and _can_continue(out[positions[index]]):
            deltas.setdefault(positions[index], []).append(part)
        elif part.arguments:
            out.append(part)
    for at, more in deltas.items():
        out[at] = _continued(out[at], more)
    return parts if is_unchanged(parts, out) else tuple(out)


def _is_nameless(part: Part) -> bool:
    """Return whether an entry of ``tool_calls`` has no id, no name and nothing but arguments."""
    if not isinstance(part, ToolCall) or not part.is_object or part.legacy:
        return False
    native = part.extra
    is_flat = not isinstance(native.get("function"), dict)
    return (
        part.id in _NOTHING
        and part.name in _NOTHING
        and (part.arguments is None or isinstance(part.arguments, str))
        and not (is_flat and any(map(bool, flat_name_and_arguments(native))))
        and not other_call_keys(native)
    )


def _can_continue(part: Part) -> bool:
    """Return whether a call has arguments that a delta can continue: a text, or none."""
    if not isinstance(part, ToolCall):
        return False
    return isinstance(part.arguments, str) or part.arguments in (None, {})


def _continued(call: Part, deltas: list[ToolCall]) -> Part:
    """Return a call whose arguments continue with those of its deltas."""
    pieces = [delta.arguments for delta in deltas if isinstance(delta.arguments, str)]
    if not isinstance(call, ToolCall) or not any(pieces):
        return call
    written = call.arguments if isinstance(call.arguments, str) else ""
    signatures = [one.signature for one in (call, *deltas) if one.signature is not None]
    return replace(
        call, arguments="".join((written, *pieces)), signature=next(iter(signatures), None)
    )


def _joined(
    parts: tuple[Part, ...], known: frozenset[str], context: Context
) -> tuple[tuple[Part, ...], Effect]:
    """Return the parts with each delta joined with its block, and the worst effect."""
    out: list[Part] = []
    pieces: dict[int, str] = {}
    effect = Effect.RESHAPES
    for part in parts:
        kind = _delta_type(part, known)
        if kind is None:
            out.append(part)
        elif kind == _JSON:
            at = _position_of_call(part, out)
            pieces[at] = pieces.get(at, "") + (_piece_of(part) or "")
        else:
            effect = max(effect, _append_delta(out, part, kind))
    for at in sorted(pieces, reverse=True):
        if pieces[at].strip():
            effect = max(effect, _join_json(out, at, pieces[at], context))
    return tuple(out), effect


def _delta_type(part: Part, known: frozenset[str]) -> str | None:
    """Return the type of a delta, unless the target knows it; None for any other part."""
    kind = part.extra.get("type")
    if not isinstance(part, Opaque) or not isinstance(kind, str) or kind in known:
        return None
    is_complete = kind in _KEYS and _piece_of(part) is not None
    return kind if is_complete else None


def _piece_of(part: Part) -> str | None:
    """Return the piece of content in a delta; None if it has none."""
    keys = _KEYS[part.extra["type"]]
    values = [part.extra[key] for key in keys if isinstance(part.extra.get(key), str)]
    return values[0] if values else None


def _position_of_call(delta: Part, before: list[Part]) -> int:
    """Return the position of the block that a piece of JSON belongs to; -1 if there is none."""
    calls = [at for at, part in enumerate(before) if _is_call(part)]
    index = delta.extra.get("index")
    same = [at for at in calls if index is not None and before[at].extra.get("index") == index]
    return next(reversed(same or calls), -1)


def _is_call(part: Part) -> bool:
    is_block = isinstance(part, Opaque) and jsontext.is_one_of(part.extra.get("type"), _CALLS)
    return isinstance(part, ToolCall) or is_block


def _append_delta(out: list[Part], delta: Part, kind: str) -> Effect:
    """Append a text, thinking or signature to the last part, or begin a new part."""
    last, piece = out[-1] if out else None, _piece_of(delta) or ""
    if not piece:
        return Effect.RESHAPES
    if kind == "text_delta":
        block: dict[str, Any] = {"type": "text"}
        if isinstance(last, Text) and last.is_object:
            block = {**out.pop().extra}
        block["text"] = block.get("text", "") + piece
        out.append(Text(block["text"], block))
        return Effect.RESHAPES
    block = {"type": "thinking"}
    if _is_open_thinking(last):
        block = {**out.pop().extra}
    elif kind == "signature_delta":
        return Effect.DROPS
    if kind == "signature_delta":
        block["signature"] = piece
        out.append(Thinking(block["thinking"], piece, native=block))
    else:
        block["thinking"] = block.get("thinking", "") + piece
        out.append(Thinking(block["thinking"], None, native=block))
    return Effect.RESHAPES


def _is_open_thinking(part: Part | None) -> bool:
    """Return whether a part is thinking without a signature yet, which deltas may continue."""
    return (
        isinstance(part, Thinking)
        and not (part.signature or part.redacted)
        and part.extra.get("type") == "thinking"
        and isinstance(part.extra.get("thinking"), str)
    )


def _join_json(out: list[Part], at: int, text: str, context: Context) -> Effect:
    """Set the arguments of a call to the JSON, which becomes a text if the call has others."""
    owner = _owner(out, at, text)
    if owner is None:
        out.insert(at + 1 if at >= 0 else len(out), Text(text, {"type": "text", "text": ""}))
        return Effect.DEGRADES
    if not _has_arguments(out[owner], text):
        out[owner] = _with_arguments(out[owner], text, context)
    return Effect.RESHAPES


def _owner(out: list[Part], at: int, text: str) -> int | None:
    """Return the position of the call that the JSON belongs to; None without such a call.

    Where the calls of a message are under a separate key, a block may repeat one of them.
    """
    own = out[at] if at >= 0 else None
    calls = [n for n, part in enumerate(out) if isinstance(part, ToolCall)]
    if own is not None and not isinstance(own, ToolCall):
        same = [n for n in calls if _id_of(out[n]) == own.extra.get("id")]
        candidates = same or [at]
    else:
        candidates = [at] if own is not None else calls
    for n in candidates:
        if _has_arguments(out[n], text):
            return n
    empty = [n for n in candidates if _arguments_of(out[n]) is None]
    return empty[0] if len(empty) == 1 else None


def _id_of(part: Part) -> object:
    return part.id if isinstance(part, ToolCall) else None


def _arguments_of(part: Part) -> object:
    """Return the arguments of a call; None if it has none, in any form."""
    value = part.arguments if isinstance(part, ToolCall) else part.extra.get("input")
    return None if value is None or value == {} or value in ("", "{}") else value


def _has_arguments(part: Part, text: str) -> bool:
    """Return whether a call has the JSON as its arguments already."""
    value = _arguments_of(part)
    if value is None:
        return text.strip() == "{}"
    if value == text:
        return True
    try:
        given = jsontext.parse(value) if isinstance(value, str) else value
        return jsontext.is_same(given, jsontext.parse(text))
    except ValueError:
        return False


def _with_arguments(part: Part, text: str, context: Context) -> Part:
    if not isinstance(part, ToolCall):
        return Opaque({**part.extra, "input": as_object(text)})
    return replace(part, arguments=as_object(text) if context.traits.object_arguments else text)


def _with_partial_json(part: Part, context: Context) -> tuple[Part, Effect]:
    """Return a call with the arguments under ``partial_json``, if it has no others."""
    value = part.extra.get(_PARTIAL) if isinstance(part, ToolCall) else None
    if not isinstance(value, str) or not isinstance(part, ToolCall) or part.is_hosted:
        return part, Effect.RESHAPES
    native = {key: held for key, held in part.extra.items() if key != _PARTIAL}
    kept = replace(part, native=native)
    if not value.strip() or _has_arguments(part, value):
        return kept, Effect.RESHAPES
    if _arguments_of(part) is not None:
        return kept, Effect.DROPS
    return _with_arguments(kept, value, context), Effect.RESHAPES


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return _index_of if traits.typed_calls and limits.roles is not None else None


def _index_of(value: dict[str, Any]) -> object:
    """Return the index of an entry of ``tool_calls``, which is no part of the structure."""
    index = value.get(_INDEX) if "function" in value else None
    return index if isinstance(index, int | str) else None


RULE = Rule("PART004", "stored-delta", find, {"parts": KeyedJudge(frozenset({_INDEX}), _judge)})
