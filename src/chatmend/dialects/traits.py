"""Differences between the wire formats, so that rules check a trait instead of a dialect's name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from chatmend.jsontext import value_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmend.dialects.blocks import RequiredKeys
    from chatmend.sketch import Sketch
    from chatmend.transcript import Message, Native
    from chatmend.windows import Memory


@dataclass(frozen=True, slots=True)
class Traits:
    """How a dialect arranges messages. The defaults are those of Chat Completions."""

    messages_key: str = "messages"
    """Key of the messages in a request body."""
    system_keys: tuple[str, ...] = ("system",)
    """Keys of a request body that may hold the system prompt."""
    tools_keys: tuple[str, ...] = ("tools",)
    """Keys of a request body that may declare tools; the first one with tools is used.

    A dot separates the keys of nested objects: ``toolConfig.tools``.
    """
    tool_form: Literal["function", "input_schema", "toolSpec"] = "function"
    """How a tool is declared: the key that the entries of ``tools`` have."""
    thinking_keys: tuple[str, ...] = ("thinking",)
    """Keys of a request body that may enable thinking; the first one that is set is used."""
    stored_keys: tuple[str, ...] = ()
    """Keys of a request body which show that the provider stores the earlier conversation.

    A dot separates the keys of nested objects.
    """
    stores_tools: bool = False
    """A request that continues a stored conversation need not declare its tools again."""
    content_keys: tuple[str, ...] = ("content",)
    """Keys of a message or a tool result that hold its content."""
    image_keys: tuple[str, ...] = ()
    """Keys of a message that hold a list of images in addition to its content."""
    has_top_level_system: bool = False
    """The system prompt is a parameter of the request, not a message."""
    marks_errors: bool = False
    """Whether a result may be marked as an error (``is_error``), and the mark is sent."""
    results_are_parts: bool = False
    """Tool results are parts of user messages, not separate messages."""
    object_arguments: bool = False
    """The arguments of a call are an object, not JSON text."""
    has_calls_key: bool = False
    """A message has its calls under a separate key, ``tool_calls``."""
    typed_calls: bool = False
    """Each call under that key has a type."""
    item_types: frozenset[str] = frozenset()
    """Types of items that are no messages, whatever other keys they have."""
    types_by_role: bool = False
    """The role of a message determines which types of parts it may hold."""
    result_types: frozenset[str] = frozenset()
    """Types of blocks that a tool result may hold; empty: no types are known."""
    result_only_types: frozenset[str] = frozenset()
    """Those of them that no message may hold itself."""
    signs_calls: bool = False
    """A call may carry a thought signature."""
    signs_ids: bool = False
    """The id of a call may end with its thought signature, as in LiteLLM's answers."""
    reasoning_keys: bool = False
    """An assistant message may have its reasoning as text under a key of its own."""
    results_may_be_named: bool = False
    """A result may name its tool for every target: the sender omits the name if it is refused."""
    one_kind_blocks: bool = False
    """A block is an object under the key of its kind, and has no other key."""
    joins_results: bool = False
    """Results of a turn belong into one message; a repair that moves or adds results joins them."""
    results_by_name: bool = False
    """A result may name its tool and have no call id, even if its call has one."""
    names_results: bool = False
    """A result must name its tool, and its content is an object."""
    image_shapes: tuple[str, ...] = ("url-object", "url", "file")
    """Values of ``pictures.Picture.shape`` that the dialect has; empty: all shapes are accepted.

    Images of other shapes are converted to the first one.
    """
    object_keys: tuple[tuple[str, frozenset[str]], ...] = ()
    """Keys of parts that hold an object, each with the keys that the object may have."""
    keys_by_type: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    """For each type of part, the keys that the API defines; a type that is missing is not known."""
    keys_without_null: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    """For each type of part, and of an object in a part, the keys that must not be null."""
    required_keys: RequiredKeys = field(default_factory=dict, hash=False)
    """For each type of part and citation, the keys that a request must have."""
    boolean_keys: frozenset[str] = frozenset()
    """Keys of parts whose values must be true or false."""
    cache_markers: bool = False
    """A part may have a ``cache_control`` object."""
    drops_blank_texts: bool = False
    """Whether texts of white space do not reach Claude behind thinking.

    LiteLLM's conversions drop them (litellm 1.110: ``_sanitize_empty_text_content`` and
    ``BedrockConverseMessagesProcessor`` in ``prompt_templates/factory.py``).
    """
    private_keys: frozenset[str] = frozenset()
    """Keys of a native message that only the dialect itself uses; they are never sent."""
    messages_are_items: bool = False
    """An answer is a sequence of items (reasoning, calls, text), each read as a separate message.

    Such messages are never merged.
    """


def continues_stored(body: Mapping[str, Any], traits: Traits) -> bool:
    """Return whether the provider stores earlier messages, which those of a body continue."""
    return any(value_at(body, key) for key in traits.stored_keys)


def fill_content(native: dict[str, object]) -> dict[str, object] | None:
    """Return the message with empty content if its content is null or missing; else None."""
    return {**native, "content": ""} if native.get("content") is None else None


def kind_of(native: Native) -> object:
    """Return the ``type`` of a content part; None if the part is not a dict."""
    return native.get("type") if isinstance(native, dict) else None


def translate_foreign(message: Message) -> tuple[Message, ...]:  # noqa: ARG001 - used elsewhere
    """Return an empty tuple: messages of other dialects are not recognised here."""
    return ()


def set_limits(limits: object) -> None:
    """Ignore the limits: reading does not depend on them here."""


def remember(natives: Sequence[Native], memory: Memory) -> None:
    """Record nothing: later windows need nothing from these messages."""


def with_system(system: object, texts: list[str | dict[str, Any]]) -> object:
    """Return a top-level system prompt with ``texts`` appended, separated by blank lines.

    It is a list of blocks if it was one, or if some of ``texts`` are blocks.
    """
    own = [system] if isinstance(system, str) and system else []
    words = [text for text in texts if isinstance(text, str)]
    if len(words) == len(texts) and not isinstance(system, list):
        return "\n\n".join([*own, *words])
    listed = system if isinstance(system, list) else []
    blocks = [{"type": "text", "text": one} if isinstance(one, str) else one for one in texts]
    return [*listed, *({"type": "text", "text": text} for text in own), *blocks]


def sketch(native: Native, checker: Sketch) -> object:  # noqa: ARG001 - used elsewhere
    """Return None: every message is examined key by key."""
    return None
