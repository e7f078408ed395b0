"""Wire formats, each in one file: how it is read into a transcript, and written back with everything else kept."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from chatmend.dialects import anthropic_messages, gemini_contents, openai_chat, openai_responses
from chatmend.dialects.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

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


_UNDER_MESSAGES = frozenset({"openai_chat", "anthropic_messages"})


def recognise(natives: Sequence[Native], among: Container[str] = frozenset(DIALECTS)) -> Dialect:
    """The dialect that a list of messages is written in, by the first message that tells; OpenAI's where none does.

    Parts that only Responses have, in messages that any dialect could have, tell only where nothing else does:
    frameworks leave such parts in chats.
    """
    leaning = "openai_chat"
    if (adapter := next(filter(None, (adapter_of(m) for m in natives if m.__class__ is not dict)), None)) is not None:
        return import_module(adapter).Dialect()  # type: ignore[no-any-return]
    for native in natives:
        if isinstance(native, dict):
            if "tool_calls" in native or "tool_call_id" in native or native.get("role") in ("tool", "function"):
                return DIALECTS["gemini_contents" if gemini_contents.speaks(native) else "openai_chat"]
            if native.get("content").__class__ is str and "type" not in native:
                continue
            for module in (openai_responses, gemini_contents, anthropic_messages):
                if module.NAME in among and module.speaks(native):
                    return DIALECTS[module.NAME]
            if openai_responses.NAME in among and openai_responses.leans(native):
                leaning = openai_responses.NAME
    return DIALECTS[leaning]


def adapter_of(native: Native) -> str | None:
    """The module with the dialect of a message object; a subclass is one, too."""
    roots = (cls.__module__.partition(".")[0] for cls in type(native).__mro__)
    return next((_ELSEWHERE[root] for root in roots if root in _ELSEWHERE), None)


def recognise_body(body: dict[str, Any]) -> str | None:
    """The dialect of a request body; None where its keys do not tell."""
    if isinstance(messages := body.get("messages"), list):
        return "anthropic_messages" if "system" in body else recognise(messages, _UNDER_MESSAGES).NAME
    for name in ("openai_responses", "gemini_contents"):
        if DIALECTS[name].TRAITS.messages_key in body:
            return name
    return None


__all__ = ["DIALECTS", "Dialect", "Scan", "Traits", "adapter_of", "recognise", "recognise_body"]
