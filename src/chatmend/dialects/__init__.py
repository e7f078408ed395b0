"""Wire formats, each in one file: how it is read into a transcript, and written back with everything else kept."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from chatmend.dialects import anthropic_messages, gemini_contents, openai_chat, openai_responses
from chatmend.dialects.recognition import Unsure, format_of, format_of_body
from chatmend.dialects.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmend.transcript import Message, Native
    from chatmend.windows import Memory


class Scan(Protocol):
    """One look at the native messages of a window."""

    def __call__(self, natives: Sequence[Native], start: int, memory: Memory) -> tuple[int, int, list[str]]:
        """From ``start``: where the window ends, its symptoms, and the ids of its calls."""


class Dialect(Protocol):
    """What a wire format must offer; ``traits`` holds what most of them answer alike."""

    NAME: str
    TRAITS: Traits

    def read(self, native: Native) -> Message:
        """Read one native message. Never raises; what cannot be read becomes an opaque part."""

    def write(self, message: Message) -> Native:
        """Write one message: the object it was read from, itself, when nothing in it changed."""

    def scanner(self, limits: Any) -> Scan:  # noqa: ANN401 - Limits, which stand above dialects
        """A scan for windows under these limits."""

    def translated(self, message: Message) -> tuple[Message, ...]:
        """What a message of another dialect says in this one; nothing where it is of this one."""

    def filled(self, native: dict[str, object]) -> dict[str, object] | None:
        """The message with an empty content in the place of null or none; None where it has one."""

    def kind_of(self, native: Native) -> object:
        """The type of a content part."""

    def renamed(self, natives: Sequence[Native], choose: Callable[[object], object]) -> list[Native] | None:
        """A window's messages with the call ids that ``choose`` says for theirs, the results along.

        Asked where nothing but ids is wrong. None: they are not so plain that this can be done without reading them;
        then ``choose`` has not been asked.
        """

    def remember(self, natives: Sequence[Native], memory: Memory) -> None:
        """Note what later windows must know of messages as they are sent."""

    def with_system(self, system: object, texts: list[str]) -> object:
        """A top-level system prompt with texts behind it."""


_ELSEWHERE = {"langchain_core": "chatmend.langchain.dialect"}
"""Whose message objects are read by an adapter's dialect, which is imported when the first such message comes."""

DIALECTS: dict[str, Dialect] = {
    module.NAME: module for module in (openai_chat, anthropic_messages, openai_responses, gemini_contents)
}


def recognise(natives: Sequence[Native], provider: str = "") -> Dialect | Unsure:
    """The dialect that a list of messages is written in, messages of an adapter's library included.

    Raises:
        TranscriptError: a message has a layout of a training set or a framework; the text names it.
    """
    others = (adapter_of(native) for native in natives if native.__class__ is not dict)
    if (adapter := next(filter(None, others), None)) is not None:
        return import_module(adapter).Dialect()  # type: ignore[no-any-return]
    told = format_of(natives, provider=provider)
    return told if isinstance(told, Unsure) else DIALECTS[told]


def adapter_of(native: Native) -> str | None:
    """The module with the dialect of a message object; a subclass is one, too."""
    roots = (cls.__module__.partition(".")[0] for cls in type(native).__mro__)
    return next((_ELSEWHERE[root] for root in roots if root in _ELSEWHERE), None)


__all__ = ["DIALECTS", "Dialect", "Scan", "Traits", "Unsure", "adapter_of", "format_of_body", "recognise"]
