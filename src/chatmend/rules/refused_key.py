"""A key that the target refuses.

Examples are a refused ``name``, keys that came back with an answer, and private keys.

Why: ``Unknown parameter: 'messages[1].reasoning'`` (OpenAI); ``property 'reasoning_content' is
unsupported`` (Groq); ``Extra inputs are not permitted`` (Mistral, Anthropic); ``Cannot pass both
content and thinking in an assistant message with tool calls!`` (the chat template of gpt-oss).

Repair: The key is removed. The name of a user moves to the start of the text, because it carries
meaning. Other keys of a link to a resource (Mistral) move to its metadata. Blocks of Anthropic's
Messages API and items of OpenAI's Responses API keep the keys that their types have in the
provider's SDK; `react` removes those that the API has refused. A key whose value null is refused is
removed, too: ``model_dump()`` of Anthropic's SDK writes ``caller: null`` into blocks. A citation
without a type, or without a key that its type requires, is removed from its text. Keys that begin
with an underscore are private to the application, and are never sent to a known target. If a server
of Gemini's API has refused the ids of calls and results (``Unknown name "id" at
'contents[2].parts[0].function_response'``), `react` removes them; the names and positions still
match.

Before (openai/gpt-4o):
    [{"role": "user", "name": "alice@x y", "content": "hi"}]
After:
    [{"role": "user", "content": "alice@x y: hi"}]
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.blocks import is_complete
from chatmend.dialects.content import signature_of
from chatmend.dialects.entries import known_keys, missing_keys, with_known_action_keys
from chatmend.dialects.gemini_parts import SIGNATURE_KEYS
from chatmend.jsontext import strings
from chatmend.merging import with_name_in_text
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import (
    Media,
    Message,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    is_private_key,
    is_unchanged,
    location_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


_CITATIONS = "citations"
_KEPT_IN_ITEMS = frozenset({"type", "reasoning"})
"""Keys that items keep. OpenAI refuses the reasoning of messages, not that of a configuration."""
_COPIES = frozenset({"parsed", "parsed_arguments"})
"""Keys under which OpenAI's SDK puts the objects that it has read from a text or from arguments."""
_METADATA = "metadata"
_LINKS = "linked_part_types"
"""The limit with the types of parts that are a link: only a URI and metadata."""
_KEYS_OF_LINKS = frozenset({"type", "uri", _METADATA})
_WITHOUT_TEXT = _COPIES | {"id", "index", "cache_control"}
"""Keys of parts whose values are not content, or a copy of it."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove refused keys from messages and their parts."""
    limits = context.limits
    if limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        if not message.is_object:
            continue
        kind = message.extra.get("type", "message")
        known = _keys_of_item(kind, limits)
        if known is not None and kind == "message":  # a name becomes part of the text
            known |= {"name"}
        keys = frozenset(k for k in message.extra if _is_refused(k, known, context))
        keys |= _spoken_without_id(message, limits)
        if message.calls and message.extra.get("content"):
            keys |= limits.refused_beside_content & {
                k for k, value in message.extra.items() if value
            }
        is_last = window.is_last and message is window.messages[-1] and message.is_assistant
        if _is_prefill(message, limits) and not is_last:
            keys |= {limits.prefill_key or ""}
        name_is_refused = "name" in message.extra and not _is_name_accepted(message, context)
        parts = tuple(
            _without_id(_without_refused_keys(part, message, context), context)
            for part in message.parts
        )
        if not keys and not name_is_refused and is_unchanged(message.parts, parts):
            continue
        loses_text = any(map(_loses_text, message.parts, parts))
        message = message.with_parts(parts)  # noqa: PLW2901 - without the refused keys of its parts
        if _holds_words(message, keys):
            message = message.with_words_as_content()  # noqa: PLW2901
            parts = message.parts
        loses_text = loses_text or _has_text(message, keys - message.omitted_keys)
        if name_is_refused:
            keys |= {"name"}
            parts = with_name_in_text(message).parts
        thinking = frozenset(k for k in keys if k in ("reasoning_content", "thinking_blocks"))
        parts = tuple(part for part in parts if location_of(part) not in thinking)
        if message.role is Role.TOOL and name_is_refused and len(message.results) == 1:
            parts = (replace(message.results[0], name=None),)
        effect = Effect.DROPS if loses_text else Effect.RESHAPES
        known_names = (
            limits.refused_keys
            | limits.refused_beside_content
            | limits.answer_keys
            | {"name", limits.prefill_key or "name"}
        )
        listed = ", ".join(sorted({k if k in known_names else "an unknown key" for k in keys}))
        listed = listed or "a key of a part"
        yield Fix(
            at,
            at + 1,
            (replace(message, parts=parts, omitted_keys=keys),),
            f"the target refuses: {listed}",
            effect,
        )


def find_actions(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for web searches whose action has keys of another type of action."""
    if not context.limits.item_keys or not context.traits.messages_are_items:
        return
    for at, message in enumerate(window.messages):
        native = with_known_action_keys(message.extra)
        if native is not message.extra:
            before, after = message.extra["action"], native["action"]
            loses_text = any(True for key in before.keys() - after for _ in strings(before[key]))
            effect = Effect.DROPS if loses_text else Effect.RESHAPES
            why = "the target refuses: a key that this type of action does not have"
            yield Fix(at, at + 1, (context.dialect.read(native),), why, effect)


def _keys_of_item(kind: object, limits: Limits) -> frozenset[str] | None:
    """Return the keys that an item of this type may have; None if they are not known.

    A refusal of a key that the type requires is about the item, and the key stays.
    """
    known = known_keys(kind) if limits.item_keys else None
    if known is None:
        return None
    return known - (limits.refused_keys - missing_keys({"type": kind}) - _KEPT_IN_ITEMS)


def _spoken_without_id(message: Message, limits: Limits) -> frozenset[str]:
    """Return the key of a spoken answer that has no id by which the provider finds it."""
    spoken = message.extra.get("audio") if message.is_assistant else None
    is_refused = isinstance(spoken, dict) and not isinstance(spoken.get("id"), str)
    return limits.answer_keys & {"audio"} if is_refused else frozenset()


def _holds_words(message: Message, keys: frozenset[str]) -> bool:
    """Return whether one of these keys has the words of a message, which its content may lack."""
    beside = message.words_beside_content
    return beside is not None and beside[0] in keys


def _has_text(message: Message, keys: frozenset[str]) -> bool:
    """Return whether one of these keys has a text, other than a private one or a copy."""
    read = (key for key in keys if key not in _COPIES and not is_private_key(key))
    return any(True for key in read for _ in strings(message.extra[key]))


def _is_prefill(message: Message, limits: Limits) -> bool:
    """Return whether a message asks the model to continue it; only the last message may do so."""
    key = limits.prefill_key
    return key is not None and message.extra.get(key) is True


def _is_refused(key: object, item_keys: frozenset[str] | None, context: Context) -> bool:
    """Return whether a key is refused; ``item_keys`` are those of the type of an item, if known."""
    limits = context.limits
    if key in context.traits.private_keys:
        return False
    if not isinstance(key, str) or is_private_key(key):
        return True
    # Content under another key moves to its own.
    if item_keys is not None and key not in context.traits.content_keys:
        return key not in item_keys
    if key in limits.refused_keys:
        return True
    return limits.known_keys is not None and key not in limits.known_keys


def _without_refused_keys(part: Part, message: Message, context: Context) -> Part:
    """Return the part without the keys that the target refuses in parts."""
    limits, native = context.limits, part.extra
    refused = limits.refused_part_keys
    if isinstance(part, Text | Media):
        refused |= limits.refused_text_keys
    has_types = limits.block_keys or limits.item_keys
    known = _keys_of_type(part, context) if has_types else limits.part_keys
    is_checked = limits.block_keys or bool(refused or limits.refused_text_keys)
    is_checked |= limits.part_keys is not None and not context.traits.names_results
    if isinstance(part, ToolResult) and not part.is_hosted and is_checked:
        content = tuple(_without_refused_keys(inner, message, context) for inner in part.content)
        part = part if is_unchanged(part.content, content) else replace(part, content=content)
    if (known is None and not refused) or not part.is_object or part.has_same_native(message):
        return part
    if native.get("type") in (limits.of(_LINKS) or ()):
        return _as_link(part)
    kept = {
        key: value
        for key, value in native.items()
        if key not in refused and (known is None or key in known)
    }
    for key in context.traits.boolean_keys & kept.keys() if known is not None else ():
        if kept[key] is not None and not isinstance(kept[key], bool):
            kept[key] = bool(kept[key])
    for key, inner in context.traits.object_keys if known is not None else ():
        if isinstance(value := kept.get(key), dict) and not inner.issuperset(value):
            kept[key] = {name: item for name, item in value.items() if name in inner}
    if limits.block_keys:
        kept = _without_nulls(kept, context)
    if is_unchanged(tuple(kept.values()), tuple(native.values())):
        return part
    if isinstance(part, ToolCall) and _loses_signature(native, kept):
        part = replace(part, signature=None)
    return replace(part, native=kept) if kept else Text("")


def _as_link(part: Part) -> Part:
    """Return a link whose other keys are in its metadata, which holds only plain values."""
    native = part.extra
    others = {key: value for key, value in native.items() if key not in _KEYS_OF_LINKS}
    if not others:
        return part
    kept = {key: value for key, value in native.items() if key in _KEYS_OF_LINKS}
    held = kept.get(_METADATA)
    plain = {
        key: value if isinstance(value, str | int | float) else jsontext.dumps(value)
        for key, value in others.items()
        if value is not None
    }
    metadata = {**plain, **(held if isinstance(held, dict) else {})}
    return replace(part, native={**kept, _METADATA: metadata} if metadata else kept)


def _without_nulls(native: dict[str, Any], context: Context) -> dict[str, Any]:
    """Return a block without the keys that must not be null, in itself and in its citations.

    Citations without a type, or without a key that their type requires, are removed, too.
    """
    kept = _without_null_keys(native, context)
    citations = kept.get(_CITATIONS)
    if not isinstance(citations, list):
        return kept
    listed = [
        _without_null_keys(one, context)
        for one in citations
        if is_complete(one, context.traits.required_keys)
    ]
    if is_unchanged(listed, citations):
        return kept
    rest = {key: value for key, value in kept.items() if key != _CITATIONS}
    return {**rest, _CITATIONS: listed} if listed else rest


def _without_null_keys(native: dict[str, Any], context: Context) -> dict[str, Any]:
    kind = native.get("type")
    refused = context.traits.keys_without_null.get(kind) if isinstance(kind, str) else None
    # The content of a result has a rule of its own.
    nulls = {
        key
        for key in refused or ()
        if key in native and native[key] is None and key not in context.traits.content_keys
    }
    return {k: v for k, v in native.items() if k not in nulls} if nulls else native


def _loses_signature(native: dict[str, Any], kept: dict[str, Any]) -> bool:
    """Return whether the thought signature of a call was under a key that is not kept."""
    was_held = signature_of(native) is not None
    return was_held and signature_of(kept) is None and kept.keys().isdisjoint(SIGNATURE_KEYS)


def _without_id(part: Part, context: Context) -> Part:
    """Return a call or result without its id, if the target refuses ids and none is needed."""
    if context.limits.call_ids_accepted or not context.traits.names_results:
        return part
    if isinstance(part, ToolCall) and part.id is not None:
        return replace(part, id=None)
    if isinstance(part, ToolResult) and part.call_id is not None:
        return replace(part, call_id=None)
    return part


def _keys_of_type(part: Part, context: Context) -> frozenset[str] | None:
    kind = context.dialect.kind_of(part.extra)
    return context.traits.keys_by_type.get(kind) if isinstance(kind, str) else None


def _loses_text(old: Part, new: Part) -> bool:
    """Return whether a part had text under a key that was removed or changed."""
    if (
        isinstance(old, ToolResult)
        and isinstance(new, ToolResult)
        and any(map(_loses_text, old.content, new.content))
    ):
        return True
    before, after = old.extra, new.extra
    if not old.is_object or not new.is_object:
        return False
    # Citations that stay lose only keys whose value is null.
    changed = (
        key
        for key in before
        if after.get(key) is not before[key]
        and not _is_moved(key, before[key], after)
        and key not in _WITHOUT_TEXT
        and not (key == _CITATIONS and len(after.get(key) or ()) == len(before[key] or ()))
    )
    return any(True for key in changed for _ in strings(before[key]))


def _is_name_accepted(message: Message, context: Context) -> bool:
    limits, name = context.limits, message.name
    if any(
        part.has_same_native(message) for part in message.parts if not isinstance(part, ToolResult)
    ):
        return True
    is_result = message.role is Role.TOOL and message.native_role != "function"
    refused = limits.message_name is not None and message.role not in limits.message_name
    if context.traits.results_are_parts or (
        refused and not (is_result and context.traits.results_may_be_named)
    ):
        return False
    if not isinstance(name, str):
        return False
    if is_result:
        return (
            limits.tool_name_pattern is None
            or re.fullmatch(limits.tool_name_pattern, name) is not None
        )
    return (
        limits.message_name_pattern is None
        or message.role is Role.TOOL
        or re.fullmatch(limits.message_name_pattern, name) is not None
    )


def _is_moved(key: str, value: object, after: dict[str, Any]) -> bool:
    """Return whether a value is now in the metadata of a link."""
    metadata = after.get(_METADATA)
    if not isinstance(metadata, dict):
        return False
    if key == _METADATA:
        return isinstance(value, dict) and metadata.items() >= value.items()
    return key in metadata and metadata[key] in (value, jsontext.dumps(value))


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.tool_name_pattern is None and limits.message_name_pattern is None:
        return None
    fits_tool = re.compile(limits.tool_name_pattern or "(?s:.*)").fullmatch
    fits = re.compile(limits.message_name_pattern or "(?s:.*)").fullmatch
    return lambda name: (fits_tool(name) is None) + 2 * (fits(name) is None)


RULE = Rule("KEY001", "refused-key", find, {"names": _judge}, own_limits={_LINKS: list[str]})
ACTIONS = Rule("KEY001", "refused-key", find_actions, STRUCTURE)
