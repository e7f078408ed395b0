"""Wire formats, each in one file: how it is read into a transcript, and written back with everything else kept."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from chatmend.dialects import anthropic_messages, openai_chat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.transcript import Message, Native
    from chatmend.windows import Memory


class Scan(Protocol):
    """One look at the native messages of a window."""

    def __call__(self, natives: Sequence[Native], start: int, memory: Memory) -> tuple[int, int, list[str]]:
        """From ``start``: where the window ends, its symptoms, and the ids of its calls."""


class Dialect(Protocol):
    """What a wire format must offer."""

    NAME: str
    OWN_KEYS: frozenset[str]
    """Keys of a native message that the dialect keeps for itself; they are never sent."""

    def read(self, native: Native) -> Message:
        """Read one native message. Never raises; what cannot be read becomes an opaque part."""

    def write(self, message: Message) -> Native:
        """Write one message: the object it was read from, itself, when nothing in it changed."""

    def scanner(self, limits: object) -> Scan:
        """A scan for windows under these limits."""


_ELSEWHERE = {"langchain_core": "chatmend.langchain.dialect"}
"""Whose message objects are read by an adapter's dialect, which is imported when the first such message comes."""

DIALECTS: dict[str, Dialect] = {module.NAME: module for module in (openai_chat, anthropic_messages)}


def recognise(natives: Sequence[Native]) -> Dialect:
    """The dialect that a list of messages is written in; OpenAI's where nothing tells."""
    for native in natives:
        if isinstance(native, dict):
            if "tool_calls" in native or "tool_call_id" in native or native.get("role") in ("tool", "function"):
                return DIALECTS["openai_chat"]
            if anthropic_messages.speaks(native):
                return DIALECTS["anthropic_messages"]
        elif (module := _adapter_of(native)) is not None:
            return import_module(module).Dialect()  # type: ignore[no-any-return]
    return DIALECTS["openai_chat"]


def _adapter_of(native: Native) -> str | None:
    """The module with the dialect of a message object; a subclass is one, too."""
    roots = (cls.__module__.partition(".")[0] for cls in type(native).__mro__)
    return next((_ELSEWHERE[root] for root in roots if root in _ELSEWHERE), None)
