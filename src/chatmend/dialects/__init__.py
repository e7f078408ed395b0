"""Wire formats, one per file: reads messages into a transcript and writes them back losslessly."""

from __future__ import annotations

from functools import lru_cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol

from chatmend.dialects import (
    anthropic_messages,
    bedrock_converse,
    gemini_contents,
    ollama_chat,
    openai_chat,
    openai_responses,
)
from chatmend.dialects.recognition import Unsure, format_of, format_of_body
from chatmend.dialects.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.sketch import Sketch
    from chatmend.transcript import Message, Native
    from chatmend.windows import Memory


class Dialect(Protocol):
    """The interface of a wire format; ``traits`` implements what most formats share."""

    NAME: str
    TRAITS: Traits

    def read(self, native: Native) -> Message:
        """Read one native message.

        Never raises: content that cannot be read becomes an opaque part.
        """

    def write(self, message: Message) -> Native:
        """Write one message; an unchanged message returns the same object that it was read from."""

    def set_limits(self, limits: Any) -> None:  # noqa: ANN401 - ``Limits``, not importable here
        """Set the limits of the target before messages are read."""

    def cache_key(self) -> object:
        """Return the key under which known structures of this dialect's messages are cached.

        Instances that read messages in the same way return equal keys and share the cache.
        """

    def sketch(self, native: Native, checker: Sketch) -> object:
        """Return a value that is equal for all messages of the same common structure.

        None for any other structure; the message is then examined key by key.
        """

    def translate_foreign(self, message: Message) -> tuple[Message, ...]:
        """Return a message of another dialect as messages of this one.

        Empty if the message is of this dialect.
        """

    def fill_content(self, native: dict[str, object]) -> dict[str, object] | None:
        """Return the message with empty content if its content is null or missing; else None."""

    def kind_of(self, native: Native) -> object:
        """Return the type of a content part."""

    def remember(self, natives: Sequence[Native], memory: Memory) -> None:
        """Record in ``memory`` what later windows need to know about sent messages."""

    def with_system(self, system: object, texts: list[str | dict[str, Any]]) -> object:
        """Return a top-level system prompt with texts, and blocks as they are, appended."""


_ADAPTERS = {"langchain_core": "chatmend.langchain.dialect:LangChainDialect"}
"""The dialect for the message objects of a library, as ``module:class``; imported on first use."""

DIALECTS: dict[str, Dialect] = {
    module.NAME: module
    for module in (
        openai_chat,
        anthropic_messages,
        openai_responses,
        gemini_contents,
        bedrock_converse,
        ollama_chat,
    )
}


def recognise(
    natives: Sequence[Native], provider: str = "", *, dicts: bool = False
) -> Dialect | Unsure:
    """Return the dialect of a list of messages, including message objects of LangChain.

    Args:
        natives: the messages.
        provider: the provider of the target, if it is known.
        dicts: whether all messages are known to be dicts, which skips the search for objects.

    Raises:
        TranscriptError: a message has the layout of a training data set or a framework. The error
            names the layout.
    """
    others = (
        () if dicts else (adapter_of(native) for native in natives if native.__class__ is not dict)
    )
    if (adapter := next(filter(None, others), None)) is not None:
        return resolve_name(adapter)()  # type: ignore[no-any-return]
    found = format_of(natives, provider=provider)
    return found if isinstance(found, Unsure) else DIALECTS[found]


def adapter_of(native: Native) -> str | None:
    """Return the adapter module that reads a message object or an instance of a subclass."""
    return _adapter_of(type(native))  # type: ignore[arg-type]  # a class can be hashed


@lru_cache(maxsize=256)
def _adapter_of(kind: type) -> str | None:
    roots = (cls.__module__.partition(".")[0] for cls in kind.__mro__)
    return next((_ADAPTERS[root] for root in roots if root in _ADAPTERS), None)


__all__ = ["DIALECTS", "Dialect", "Traits", "Unsure", "adapter_of", "format_of_body", "recognise"]
