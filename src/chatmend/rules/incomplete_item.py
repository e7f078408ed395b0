"""A Responses API item without a key that its type requires.

Why: ``Missing required parameter: 'input[2].action'.`` (OpenAI Responses). Clients store only the
keys that they know, and gateways that translate other formats leave keys out. The required keys of
each type are those of OpenAI's SDK.

Repair: A key with a neutral value is added: a status, an empty list of safety checks, or an id. The
texts of a message with an id get empty annotations, which vLLM requires too; annotations that are
null become empty in any message of the model, and one without a required key is removed. An item
that lacks anything else becomes a text. So does a screenshot of a computer whose address no
provider can read, such as ``[image omitted]`` of a client that stores no images (``Invalid
'input[2].output.image_url'. Expected a valid URL``). An item that has nothing but encrypted
content, or a reference without an id, is dropped.

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

from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.entries import missing_keys, with_annotations, with_required_keys
from chatmend.images.addresses import corrected_link, read_data_url
from chatmend.placeholders import CALL_NOTE, NOTE, continued
from chatmend.rules.rule import STRUCTURE, KeyedJudge, Rule
from chatmend.rules.unreachable_image import LINK_SCHEMES
from chatmend.transcript import Message, Role, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_OUTPUT, _SCREENSHOT = "computer_call_output", "computer_screenshot"
_NOT_TEXT = ("type", "id", "call_id", "status", "encrypted_content")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for items without a required key."""
    if not context.limits.item_keys or not context.traits.messages_are_items:
        return
    schemes = context.limits.of(LINK_SCHEMES)
    for at, message in enumerate(window.messages):
        native = message.extra
        if _has_unreadable_screenshot(native, schemes) and (text := _as_text(message)) is not None:
            why = "the provider cannot read the address of the screenshot"
            yield Fix(at, at + 1, (text,), why, Effect.DEGRADES)
            continue
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
    """Yield fixes for texts with null or incomplete annotations.

    Also for those without any in a message with an id.
    """
    if context.limits.roles is None or not context.traits.messages_are_items:
        return
    for at, message in enumerate(window.messages):
        if not message.is_object or "id" in message.omitted_keys:
            continue
        annotated = with_annotations(message.extra)
        if annotated is not message.extra:
            why = "the annotations of a text are missing, null or incomplete"
            loses = _annotations(annotated) < _annotations(message.extra)
            effect = Effect.DROPS if loses else Effect.RESHAPES
            yield Fix(at, at + 1, (context.dialect.read(annotated),), why, effect)


def _annotations(native: dict[str, Any]) -> int:
    """Return the number of annotations in the texts of a message."""
    parts = [part for part in native["content"] if isinstance(part, dict)]
    held = [part.get("annotations") for part in parts]
    return sum(len(listed) for listed in held if isinstance(listed, list))


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


def _has_unreadable_screenshot(native: dict[str, Any], schemes: list[str] | None) -> bool:
    return native.get("type") == _OUTPUT and _is_unreadable(native.get("output"), schemes)


def _is_unreadable(screenshot: object, schemes: list[str] | None) -> bool:
    """Return whether a screenshot has an address that is neither a link nor data."""
    if schemes is None or not isinstance(screenshot, dict) or screenshot.get("file_id"):
        return False
    address = screenshot.get("image_url") if screenshot.get("type") == _SCREENSHOT else None
    return (
        isinstance(address, str)
        and read_data_url(address) is None
        and corrected_link(address, schemes) is None
    )


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if not limits.item_keys or not traits.messages_are_items:
        return None
    schemes: list[str] | None = limits.of(LINK_SCHEMES)
    return lambda part: _is_unreadable(part, schemes)


RULE = Rule(
    "ITEM003",
    "incomplete-item",
    find,
    {"parts": KeyedJudge(frozenset({"image_url"}), _judge)},
)
ANNOTATIONS = Rule("ITEM003", "incomplete-item", find_annotations, STRUCTURE)
