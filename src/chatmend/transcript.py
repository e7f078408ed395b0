"""The typed messages that rules see: a role and parts, each with the native object it came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, dataclass_transform

from chatmend import jsontext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True)
def read_only(cls: type[_Class]) -> type[_Class]:
    """Make a slotted dataclass whose fields may only be read; type checkers reject assignments.

    A frozen dataclass would reject them at run time too, but takes four times as long to create.
    """
    return dataclass(slots=True)(cls)


Native: TypeAlias = object
"""An object in the caller's wire format: a dict, a string or any other object."""


TEXTS = frozenset({"text", "input_text", "output_text"})
"""Types of text parts in all dialects."""
_TEXT_KEYS = ("text", "value")
_KEYS_OF_TEXT = frozenset({"type", "text", "id", "index", "cache_control"})
"""Keys of a text block that hold no other text."""
ANSWER_KEYS = ("refusal", "audio")
"""Keys of an assistant message under which its words can be instead of in its content."""
PROVENANCE = "_provenance"
"""The key of a message under which a framework records who wrote it: ``{"provider": ...}``."""


class Role(StrEnum):
    """The roles of typed messages; ``Message.native_role`` is the role in the native message."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class _FromNative:
    """Base of everything that is read from a native object.

    Rules access the native object only through these methods.
    """

    __slots__ = ()
    native: Native

    @property
    def extra(self) -> dict[str, Any]:
        """All keys and values of the native object, known or not; empty if it is not a dict."""
        return self.native if isinstance(self.native, dict) else {}

    @property
    def is_object(self) -> bool:
        """Whether the native object is a dict."""
        return isinstance(self.native, dict)

    @property
    def raw_string(self) -> str | None:
        """The native object if it is a plain string, else None."""
        return self.native if isinstance(self.native, str) else None

    @property
    def is_generated(self) -> bool:
        """Whether chatmend created it, so that it has no native object."""
        return self.native is None

    @property
    def has_empty_native(self) -> bool:
        """Whether the native object is missing or an empty value."""
        return not self.native

    @property
    def as_json(self) -> str:
        """The native object as JSON text."""
        return jsontext.dumps(self.native)

    @property
    def nested_text(self) -> str | None:
        """The text if the native object holds nothing but text parts, however nested; else None."""
        return _nested_text(self.native)

    @property
    def is_encodable(self) -> bool:
        """Whether all texts in the native object can be encoded: no lone surrogates."""
        return jsontext.is_encodable_value(self.native)

    @property
    def encodable_native(self) -> Native:
        """The native object with every lone surrogate replaced."""
        return jsontext.replace_surrogates_in_value(self.native)

    def has_same_native(self, other: _FromNative) -> bool:
        """Whether both were read from the same object."""
        return self.native is other.native

    def is_listed_in(self, value: object) -> bool:
        """Whether the native object is an entry of a list."""
        return isinstance(value, list) and any(entry is self.native for entry in value)

    def is_value_in(self, holder: dict[str, Any], keys: Iterable[str]) -> bool:
        """Whether the native object is the value of one of the keys in ``holder``."""
        return any(key in holder and holder[key] is self.native for key in keys)


@read_only
class Text(_FromNative):
    """A text; ``native`` is the block or string it came from, None if chatmend wrote it."""

    text: str
    native: Native = None

    @property
    def other_text_keys(self) -> set[str]:
        """The keys of the block that hold other texts, such as ``citations``."""
        return {
            key
            for key, value in self.extra.items()
            if key not in _KEYS_OF_TEXT and not is_private_key(key) and value is not self.text
            and any(True for _ in jsontext.strings(value))
        }  # fmt: skip


@read_only
class Media(_FromNative):
    """An image, a document, audio or video; only image rules inspect the data."""

    native: Native
    kind: str = "image"
    """``image``, ``document``, ``audio``, ``video`` or ``file``."""


@read_only
class Thinking(_FromNative):
    """Reasoning that the model wrote before its answer, with its signature."""

    text: str
    signature: str | None = None
    """The provider's signature; for a redacted block its opaque data."""
    redacted: bool = False
    location: str = "content"
    """Where the dialect keeps it.

    ``content``; the name of a key of the message; or ``own``: in a block or item that only the API
    that created it accepts.
    """
    native: Native = None


CALLER_TOOL_KINDS = frozenset({"function", "custom"})
"""The kinds of caller-defined tools; results of these tools can be converted to text."""
LOCAL_SHELL = "local_shell"
"""The kind of OpenAI's local shell, whose calls are also answered by outputs of functions."""
REFERENCE = "item_reference"
"""The type of an item that refers to one that the provider stores."""
ANSWERED = "answered"
"""The kind of a call that the provider ran, with its result in the same message."""


@read_only
class ToolCall(_FromNative):
    """A tool call of the model; ``id`` and ``name`` have the native values, None if absent."""

    id: object
    name: object
    arguments: object
    """JSON text or an object, depending on the dialect."""
    signature: object = None
    """Gemini's thought signature, if the call has one."""
    legacy: bool = False
    """True for the ``function_call`` of 2023, which has no id."""
    native: Native = None
    kind: str = "function"
    """``function``, ``custom`` (free text as arguments), `ANSWERED`, or a provider-defined tool."""

    @property
    def is_hosted(self) -> bool:
        """Whether the provider defines the tool, and so its name and arguments."""
        return self.kind not in CALLER_TOOL_KINDS

    @property
    def awaits_result(self) -> bool:
        """Whether a later message must hold the result, which the call is matched to by its id."""
        return not self.legacy and self.kind != ANSWERED


@read_only
class ToolResult(_FromNative):
    """The result of the tool call with the id ``call_id``."""

    call_id: object
    content: tuple[Part, ...]
    name: object = None
    legacy: bool = False
    """True for a message with role ``function``, which names its tool instead of its call."""
    native: Native = None
    kind: str = "function"
    """The same kind as in the call."""

    @property
    def is_hosted(self) -> bool:
        """Whether it is the result of a provider-defined tool."""
        return self.kind not in CALLER_TOOL_KINDS

    def has_kind_for(self, call: ToolCall) -> bool:
        """Whether a result of this kind answers a call of that kind."""
        return self.kind == call.kind or (call.kind, self.kind) == (LOCAL_SHELL, "function")


@read_only
class Opaque(_FromNative):
    """A native object that the dialect cannot read; it is written back unchanged."""

    native: Native


Part: TypeAlias = Text | Media | Thinking | ToolCall | ToolResult | Opaque
"""A part of a message."""


@read_only
class Message(_FromNative):
    """A message: a role, its parts, and the native object they were read from."""

    role: Role
    parts: tuple[Part, ...] = ()
    native: Native = None
    """The original object; None for a message that chatmend created."""
    native_role: object = None
    """The role as in the native object; None if it has none."""
    omitted_keys: frozenset[str] = frozenset()
    """Keys of the native object that are left out when the message is written."""
    wrapper: Native = None
    """The object in the caller's list, if that is not a dict and ``native`` is its dict form."""

    @property
    def list_item(self) -> Native:
        """The object in the caller's list for this message."""
        return self.native if self.wrapper is None else self.wrapper

    def with_parts(self, parts: tuple[Part, ...]) -> Message:
        """Return the message with other parts."""
        return Message(
            self.role, parts, self.native, self.native_role, self.omitted_keys, self.wrapper
        )

    @property
    def kept_keys(self) -> dict[str, Any]:
        """A copy of the native object without the omitted keys; empty if it is not a dict."""
        if not self.omitted_keys:
            return {**self.extra}
        return {key: value for key, value in self.extra.items() if key not in self.omitted_keys}

    @property
    def name(self) -> object:
        """The value of ``name``: of a participant or a tool."""
        return self.extra.get("name")

    @property
    def words_beside_content(self) -> tuple[str, str] | None:
        """The words of a message that are not in its content, after their key; None without any.

        They are a refusal (key ``refusal``), the transcript of a spoken answer (key ``audio``), or,
        without content, a text under a key that only applications use (``text``, ``value``).
        """
        # An item of another type than a message, such as a call, has no content.
        is_item = any(part.has_same_native(self) for part in self.parts)
        keys = ANSWER_KEYS if self.is_assistant and not is_item else ()
        if not self.extra.get("content") and self.extra.get("type", "message") == "message":
            keys = (*keys, *_TEXT_KEYS)
        for key in keys:
            found = self.extra.get(key)
            words = found.get("transcript") if isinstance(found, dict) else found
            if isinstance(words, str) and words.strip():
                return key, words
        return None

    @property
    def all_parts(self) -> list[Part]:
        """The parts, followed by those in results."""
        return [*self.parts, *(part for result in self.results for part in result.content)]

    @property
    def has_other_text_keys(self) -> bool:
        """Whether a text block, also in a result, holds other texts, such as citations."""
        return any(isinstance(part, Text) and part.other_text_keys for part in self.all_parts)

    @property
    def has_blank_content(self) -> bool:
        """Whether the content has nothing but thinking, calls, blank texts and null."""
        shown = (part for part in self.parts if not isinstance(part, Thinking | ToolCall))
        return all(
            is_blank_part(part, whitespace=True)
            or (isinstance(part, Opaque) and part.native is None)
            for part in shown
        )

    def with_words_as_content(self) -> Message:
        """Return the message with its words from another key as its content, if it has no text.

        The transcript of a spoken answer is copied, so that its recording stays; other words move.
        """
        if (beside := self.words_beside_content) is None:
            return self
        key, words = beside
        omitted = self.omitted_keys | (set[str]() if key == "audio" else {key})
        if self.role is Role.TOOL:
            results = self.results
            if len(results) != 1 or not is_blank(results[0].content):
                return self
            result = replace(results[0], content=(Text(words),))
            return replace(self, parts=(result,), omitted_keys=omitted)
        if not self.has_blank_content:
            return self
        thinking: list[Part] = [part for part in self.parts if isinstance(part, Thinking)]
        parts = (*thinking, Text(words), *self.calls)
        return replace(self, parts=parts, omitted_keys=omitted)

    @property
    def provider(self) -> str | None:
        """The provider that wrote the message, if a framework recorded it."""
        recorded = self.extra.get(PROVENANCE)
        provider = recorded.get("provider") if isinstance(recorded, dict) else None
        return provider if isinstance(provider, str) else None

    @property
    def item_id(self) -> object:
        """The value of ``id``: the id of an item."""
        return self.extra.get("id")

    @property
    def kind(self) -> object:
        """The type of an item."""
        return kind_of_item(self.extra)

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls of this message, in order."""
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def results(self) -> list[ToolResult]:
        """The tool results of this message, in order."""
        return [part for part in self.parts if isinstance(part, ToolResult)]

    @property
    def is_opaque(self) -> bool:
        """Whether the dialect cannot read the message: its only part is the native object."""
        return (
            len(self.parts) == 1
            and isinstance(self.parts[0], Opaque)
            and self.parts[0].native is self.native
        )

    @property
    def is_assistant(self) -> bool:
        """Whether the message is from the assistant."""
        return self.role is Role.ASSISTANT

    @property
    def is_system(self) -> bool:
        """Whether it instructs the model: role system or developer."""
        return self.role is Role.SYSTEM or self.role is Role.DEVELOPER


_ASSISTANTS_KEYS = frozenset({"value", "annotations"})
"""Keys of the object that holds a text in OpenAI's Assistants API."""
_DEEPEST_TEXT = 8


def _nested_text(value: object, depth: int = 0) -> str | None:
    """Return the text of text parts in a list or inside each other; None for any other value.

    ``{"type": "text", "text": {"value": "hi", "annotations": []}}`` is OpenAI's Assistants API. The
    texts of a list are joined with blank lines; null is an empty text.
    """
    if isinstance(value, list) and value and depth < _DEEPEST_TEXT:
        texts = [_nested_text(item, depth + 1) for item in value]
        return None if None in texts else "\n\n".join(filter(None, texts))
    if not isinstance(value, dict) or value.keys() != {"type", "text"}:
        return None
    if not jsontext.is_one_of(value["type"], TEXTS):
        return None
    held = "" if value["text"] is None else value["text"]
    if isinstance(held, dict) and _ASSISTANTS_KEYS.issuperset(held) and not held.get("annotations"):
        held = held.get("value")
    return held if isinstance(held, str) else _nested_text(held, depth + 1)


def kind_of_item(native: dict[str, Any]) -> object:
    """Return the ``type`` of an item of the Responses API.

    A reference to a stored item may lack it: ``{"id": "msg_1"}`` (openai SDK: ``ItemReference``).
    """
    kind = native.get("type")
    return REFERENCE if kind is None and native.keys() - {"type"} == {"id"} else kind


def is_blank(parts: tuple[Part, ...], *, whitespace: bool = True) -> bool:
    """Whether all parts, if any, are empty (or whitespace) texts, or empty compactions."""
    return all(is_blank_part(part, whitespace=whitespace) for part in parts)


def is_blank_part(part: Part, *, whitespace: bool) -> bool:
    """Whether a part is an empty (or whitespace) text, or an empty compaction.

    A compaction with null as its content is not: Claude sends and accepts it.
    """
    if isinstance(part, Opaque):
        return part.extra.get("content") == "" and part.extra.get("type") == "compaction"
    return isinstance(part, Text) and not (part.text.strip() if whitespace else part.text)


def is_signed(parts: Iterable[Part]) -> bool:
    """Whether a part is signed thinking."""
    return any(isinstance(part, Thinking) and bool(part.signature) for part in parts)


def location_of(part: Part) -> str:
    """Return where the dialect keeps a part: ``content``, or the location of thinking."""
    return part.location if isinstance(part, Thinking) else "content"


def is_private_key(key: object) -> bool:
    """Whether a key is an application's own, such as ``_note``, and not of the conversation."""
    return str(key)[:1] == "_"


def is_unchanged(old: Sequence[object], new: Sequence[object]) -> bool:
    """Whether two sequences hold the same objects."""
    return len(old) == len(new) and all(map(is_, old, new))


def texts(parts: tuple[Part, ...]) -> Iterator[str]:
    """Yield every text of the parts, including those in tool results."""
    for part in parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolResult):
            yield from texts(part.content)
