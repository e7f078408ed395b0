"""A transcript as the rules see it: messages made of parts, each with the native object it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmend import jsontext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Native: TypeAlias = object
"""An object as the caller's wire format has it: a dict, a string, anything."""


class Role(StrEnum):
    """The roles that every dialect is read into. What a message itself calls its role is ``Message.spelling``."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class _Read:
    """What was read from an object of the caller's; rules see no more of that object than what is here."""

    __slots__ = ()
    native: Native

    @property
    def extra(self) -> dict[str, Any]:
        """The keys of the object, with their values, those included that we do not know; none where it is no dict."""
        return self.native if isinstance(self.native, dict) else {}

    @property
    def is_object(self) -> bool:
        """Whether it was read from a dict."""
        return isinstance(self.native, dict)

    @property
    def bare(self) -> str | None:
        """The text that it was read from, where that was no more than a text."""
        return self.native if isinstance(self.native, str) else None

    @property
    def is_ours(self) -> bool:
        """Whether it was read from nothing: we made it."""
        return self.native is None

    @property
    def is_nothing(self) -> bool:
        """Whether it was read from nothing, or from an empty value."""
        return not self.native

    @property
    def as_json(self) -> str:
        """All that it was read from, as JSON text."""
        return jsontext.dumps(self.native)

    @property
    def is_sound(self) -> bool:
        """Whether all texts that it was read from can be encoded."""
        return jsontext.is_sound_value(self.native)

    @property
    def mended(self) -> Native:
        """What it was read from, with every character that cannot be encoded replaced."""
        return jsontext.mend_value(self.native)

    def is_from(self, other: _Read) -> bool:
        """Whether both were read from the very same object."""
        return self.native is other.native

    def stands_under(self, holder: dict[str, Any], keys: Iterable[str]) -> bool:
        """Whether it was read from the very value that stands under one of some keys."""
        return any(key in holder and holder[key] is self.native for key in keys)


@dataclass(frozen=True, slots=True)
class Text(_Read):
    """Words. ``native`` is the block or the string they were read from, ``None`` for words of ours."""

    text: str
    native: Native = None


@dataclass(frozen=True, slots=True)
class Media(_Read):
    """An image, a document, audio or video; carried, not looked into."""

    native: Native
    kind: str = "image"
    """``image``, ``document``, ``audio``, ``video`` or ``file``."""


@dataclass(frozen=True, slots=True)
class Thinking(_Read):
    """Reasoning that the model wrote before its answer, with the signature that proves it."""

    text: str
    signature: str | None = None
    """The provider's proof of origin; for a redacted block its opaque data."""
    redacted: bool = False
    place: str = "content"
    """Where the dialect keeps it: ``content``, the name of the message's key, or ``own``: in an entry of the dialect's
    own, which the API that made it takes back."""
    native: Native = None


OURS = frozenset({"function", "custom"})
"""The kinds of tools that the caller defines: whose results are text, and can be told."""


@dataclass(frozen=True, slots=True)
class ToolCall(_Read):
    """The model asks for a tool. ``id`` and ``name`` are whatever was written there, ``None`` where nothing was."""

    id: object
    name: object
    arguments: object
    """JSON text or an object, as the dialect writes it."""
    signature: object = None
    """Gemini's thought signature, where the call carries one."""
    legacy: bool = False
    """True for the ``function_call`` of 2023, which has no id."""
    native: Native = None
    kind: str = "function"
    """``function``; ``custom`` (free text for arguments); or the name of a tool that the provider defines itself."""

    @property
    def is_hosted(self) -> bool:
        """Whether the provider defines the tool: name and arguments are its own affair."""
        return self.kind not in OURS


@dataclass(frozen=True, slots=True)
class ToolResult(_Read):
    """What a tool answered to the call with ``call_id``."""

    call_id: object
    content: tuple[Part, ...]
    name: object = None
    legacy: bool = False
    """True for a message of role ``function``, which names its tool instead of its call."""
    native: Native = None
    kind: str = "function"
    """As in the call that it answers."""

    @property
    def is_hosted(self) -> bool:
        """Whether it answers a call of a tool that the provider defines."""
        return self.kind not in OURS


@dataclass(frozen=True, slots=True)
class Opaque(_Read):
    """Something that we cannot read. It is written back as it came."""

    native: Native


Part: TypeAlias = Text | Media | Thinking | ToolCall | ToolResult | Opaque
"""What a message is made of."""


@dataclass(frozen=True, slots=True)
class Message(_Read):
    """One message: a role and its parts, bound to the native object that it was read from."""

    role: Role
    parts: tuple[Part, ...] = ()
    native: Native = None
    """The object as it came in; ``None`` for a message of ours."""
    spelling: object = None
    """The role as the native object writes it; ``None`` where it has none."""
    without: frozenset[str] = frozenset()
    """Keys of the native object that the next writing leaves out."""
    wrapper: Native = None
    """The object in the caller's list, where that is no dict and ``native`` only shows it as one."""

    @property
    def whole(self) -> Native:
        """The object that stands for this message in the caller's list."""
        return self.native if self.wrapper is None else self.wrapper

    @property
    def name(self) -> object:
        """What stands under ``name``: who speaks, or which tool."""
        return self.extra.get("name")

    @property
    def item_id(self) -> object:
        """What stands under ``id``: the id of an entry."""
        return self.extra.get("id")

    @property
    def kind(self) -> object:
        """What stands under ``type``: the type of an entry."""
        return self.extra.get("type")

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls of this message, in order."""
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def results(self) -> list[ToolResult]:
        """The tool results of this message, in order."""
        return [part for part in self.parts if isinstance(part, ToolResult)]

    @property
    def is_entry(self) -> bool:
        """Whether it is an entry of a list that nobody reads: its one part is the whole of it."""
        return len(self.parts) == 1 and isinstance(self.parts[0], Opaque) and self.parts[0].native is self.native

    @property
    def is_assistant(self) -> bool:
        """Whether the model said it."""
        return self.role is Role.ASSISTANT

    @property
    def is_system(self) -> bool:
        """Whether it instructs the model: role system or developer."""
        return self.role is Role.SYSTEM or self.role is Role.DEVELOPER


def is_blank(parts: tuple[Part, ...], *, whitespace: bool = True) -> bool:
    """Whether the parts say nothing: no part at all, or nothing but empty (or white) text."""
    return all(isinstance(part, Text) and not (part.text.strip() if whitespace else part.text) for part in parts)


def is_signed(parts: Iterable[Part]) -> bool:
    """Whether there is thinking with a signature among the parts."""
    return any(isinstance(part, Thinking) and bool(part.signature) for part in parts)


def place_of(part: Part) -> str:
    """Where the dialect keeps a part: in the ``content``, or for some thinking under a key of the message."""
    return part.place if isinstance(part, Thinking) else "content"


def is_unchanged(old: Sequence[object], new: Sequence[object]) -> bool:
    """Whether two sequences hold the very same objects."""
    return len(old) == len(new) and all(map(is_, old, new))


def texts(parts: tuple[Part, ...]) -> Iterator[str]:
    """Every text of the parts, those inside tool results included."""
    for part in parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolResult):
            yield from texts(part.content)
