"""Wire formats, each in one file: how it is read into a transcript, and written back with everything else kept."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from chatmend.dialects import anthropic_messages, gemini_contents, openai_chat, openai_responses
from chatmend.dialects.recognition import Unsure, format_of, format_of_body
from chatmend.dialects.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.sketch import Sketch
    from chatmend.transcript import Message, Native
    from chatmend.windows import Memory


class Dialect(Protocol):
    """What a wire format must offer; ``traits`` holds what most of them answer alike."""

    NAME: str
    TRAITS: Traits

    def read(self, native: Native) -> Message:
        """Read one native message. Never raises; what cannot be read becomes an opaque part."""

    def write(self, message: Message) -> Native:
        """Write one message: the object it was read from, itself, when nothing in it changed."""

    def expect(self, limits: Any) -> None:  # noqa: ANN401 - Limits, which stand above dialects
        """Hear under which limits messages will be read."""

    def key(self) -> object:
        """What tells dialects apart that read alike: what was learnt of messages in one holds in the other."""

    def sketch(self, native: Native, look: Sketch) -> object:
        """What messages of the usual forms share; None: it is of another form, and looked through."""

    def translated(self, message: Message) -> tuple[Message, ...]:
        """What a message of another dialect says in this one; nothing where it is of this one."""

    def filled(self, native: dict[str, object]) -> dict[str, object] | None:
        """The message with an empty content in the place of null or none; None where it has one."""

    def kind_of(self, native: Native) -> object:
        """The type of a content part."""

    def remember(self, natives: Sequence[Native], memory: Memory) -> None:
        """Note what later windows must know of messages as they are sent."""

    def with_system(self, system: object, texts: list[str]) -> object:
        """A top-level system prompt with texts behind it."""


_ELSEWHERE = {"langchain_core": "chatmend.langchain.dialect"}
"""Whose message objects are read by an adapter's dialect, which is imported when the first such message comes."""

DIALECTS: dict[str, Dialect] = {
    module.NAME: module for module in (openai_chat, anthropic_messages, openai_responses, gemini_contents)
}


def recognise(natives: Sequence[Native], provider: str = "", *, dicts: bool = False) -> Dialect | Unsure:
    """The dialect that a list of messages is written in, messages of an adapter's library included.

    ``dicts``: all of them are dicts.

    Raises:
        TranscriptError: a message has a layout of a training set or a framework; the text names it.
    """
    others = () if dicts else (adapter_of(native) for native in natives if native.__class__ is not dict)
    if (adapter := next(filter(None, others), None)) is not None:
        return import_module(adapter).Dialect()  # type: ignore[no-any-return]
    told = format_of(natives, provider=provider)
    return told if isinstance(told, Unsure) else DIALECTS[told]


def adapter_of(native: Native) -> str | None:
    """The module with the dialect of a message object; a subclass is one, too."""
    return _adapter_of(type(native))  # type: ignore[arg-type]  # a class can be hashed


@lru_cache(maxsize=256)
def _adapter_of(kind: type) -> str | None:
    roots = (cls.__module__.partition(".")[0] for cls in kind.__mro__)
    return next((_ELSEWHERE[root] for root in roots if root in _ELSEWHERE), None)


__all__ = ["DIALECTS", "Dialect", "Traits", "Unsure", "adapter_of", "format_of_body", "recognise"]
