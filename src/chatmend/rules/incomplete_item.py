"""A Responses API item without a key that its type requires.

Why: ``Missing required parameter: 'input[2].action'.`` (OpenAI Responses). Clients store only the
keys that they know, and gateways that translate other formats leave keys out. The required keys of
each type are those of OpenAI's SDK.

Repair: A key with a neutral value is added: a status, an empty list of safety checks, or an id. The
texts of a message with an id get empty annotations, which vLLM requires too. An
item that lacks anything else becomes a text. An item that has nothing but encrypted content, or a
reference without an id, is dropped.

Before (openai/gpt-4.1):
    [{"role": "user", "content": "go"},
     {"type": "file_search_call", "id": "fs_1", "queries": ["q"]},
     {"role": "assistant", "content": "done"},
     {"role": "user", "content": "next"}]
After:
    [{"role": "user", "content": "go"},
     {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "status": "completed"},
     {"role": "assistant", "content": "done"},
     {"role": "user", "content": "next"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.entries import missing_keys, with_annotations, with_required_keys
from chatmend.placeholders import CALL_NOTE, NOTE, continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

_NOT_TEXT = ("type", "id", "call_id", "status", "encrypted_content")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for items without a required key."""
    if not context.limits.item_keys or not context.traits.messages_are_items:
        return
    for at, message in enumerate(window.messages):
        native = message.extra
        if "type" not in native or not missing_keys(native):
            continue
        why = "the item lacks a key that its type requires"
        complete = with_required_keys(native)
        if complete is not None:
            yield Fix(at, at + 1, (context.dialect.read(complete),), why)
        elif (text := _as_text(message)) is not None:
            yield Fix(at, at + 1, (text,), why, Effect.DEGRADES)
        else:
            is_only_message = len(window.messages) == 1 and not memory.has_turns
            becomes = (continued(Role.USER),) if is_only_message else ()
            yield Fix(at, at + 1, becomes, why, Effect.DROPS)


def find_annotations(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for texts without annotations, in messages that keep their id."""
    if context.limits.roles is None or not context.traits.messages_are_items:
        return
    for at, message in enumerate(window.messages):
        if not message.is_object or "id" in message.omitted_keys:
            continue
        annotated = with_annotations(message.extra)
        if annotated is not message.extra:
            why = "the text of a message with an id lacks its annotations"
            yield Fix(at, at + 1, (context.dialect.read(annotated),), why)


def _as_text(message: Message) -> Message | None:
    """Return a message with the content of an item; None if the item has no readable content."""
    content = {key: value for key, value in message.extra.items() if key not in _NOT_TEXT}
    if not any(True for _ in jsontext.strings(list(content.values()))):
        return None
    if message.is_assistant:
        text = CALL_NOTE + jsontext.dumps({"type": message.kind, **content})
    else:
        text = NOTE + jsontext.dumps(jsontext.dumps({"type": message.kind, **content}))
    role = Role.ASSISTANT if message.is_assistant else Role.USER
    return Message(role, (Text(text),))


RULE = Rule("ITEM003", "incomplete-item", find, STRUCTURE)
ANNOTATIONS = Rule("ITEM003", "incomplete-item", find_annotations, STRUCTURE)
