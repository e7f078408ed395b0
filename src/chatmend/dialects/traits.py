"""In what the wire formats differ, so that rules ask for a trait and never for a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.sketch import Sketch
    from chatmend.transcript import Message, Native
    from chatmend.windows import Memory


@dataclass(frozen=True, slots=True)
class Traits:
    """How a dialect arranges what every dialect has. The defaults are those of Chat Completions."""

    messages_key: str = "messages"
    """Where a request body has its messages."""
    system_keys: tuple[str, ...] = ("system",)
    """Where a request body may have its system prompt."""
    tools_keys: tuple[str, ...] = ("tools",)
    """Where a request body may declare its tools; the first that holds any counts."""
    thinking_keys: tuple[str, ...] = ("thinking",)
    """Where a request body may switch thinking on; the first that is set counts."""
    stored_keys: tuple[str, ...] = ()
    """What in a request body says that the provider stores what came before."""
    content_keys: tuple[str, ...] = ("content",)
    """Keys of a message, or of a result, that hold what is said."""
    system_beside: bool = False
    """The system prompt stands beside the messages."""
    results_inside: bool = False
    """Results are parts of a user's message, not messages of their own."""
    object_arguments: bool = False
    """A call's arguments are an object, not its JSON text."""
    typed_calls: bool = False
    """Calls stand in a list of their own, and each has a type."""
    types_by_role: bool = False
    """Which types of parts may stand in a message depends on its role."""
    signs_calls: bool = False
    """A call may carry a thought signature."""
    results_may_be_named: bool = False
    """A result may name its tool wherever it goes: what sends it leaves the name out where it is refused."""
    names_results: bool = False
    """A result names its tool, and its content is an object."""
    image_shapes: tuple[str, ...] = ("url-object", "url", "file")
    """The shapes of ``pictures.Picture`` that it has, the first of them for what is translated; none: any may stand."""
    held_keys: tuple[tuple[str, frozenset[str]], ...] = ()
    """For a key of a part that holds an object the keys that this may have."""
    flags: frozenset[str] = frozenset()
    """Keys of a part whose values are true or false."""
    cache_markers: bool = False
    """A part may have a ``cache_control``, which is an object."""
    own_keys: frozenset[str] = frozenset()
    """Keys of a native message that the dialect keeps for itself; they are never sent."""
    items: bool = False
    """An answer is a row of entries (reasoning, calls, words), each a message of its own: they are never merged."""


def filled(native: dict[str, object]) -> dict[str, object] | None:
    """The message with an empty content in the place of null or none; None where it has one."""
    return {**native, "content": ""} if native.get("content") is None else None


def kind_of(native: Native) -> object:
    """The type of a content part: what stands under ``type``."""
    return native.get("type") if isinstance(native, dict) else None


def translated(message: Message) -> tuple[Message, ...]:  # noqa: ARG001 - other dialects look
    """What a message of another dialect says in this one; nothing where it is of this one, or cannot be told apart."""
    return ()


def expect(limits: object) -> None:
    """Hear under which limits messages will be read; nothing depends on them here."""


def remember(natives: Sequence[Native], memory: Memory) -> None:
    """Note what later windows must know of messages as they are sent; nothing here."""


def with_system(system: object, texts: list[str]) -> object:
    """A top-level system prompt with texts behind it, a blank line between."""
    if isinstance(system, list):
        return [*system, *({"type": "text", "text": text} for text in texts)]
    own = [system] if isinstance(system, str) and system else []
    return "\n\n".join([*own, *texts])


def sketch(native: Native, look: Sketch) -> object:  # noqa: ARG001 - other dialects look
    """What messages of the usual forms share; None: it is of another form, and looked through."""
    return None
