"""What was sent in a conversation, as a value that each repair gets and returns.

A provider compares what it is sent with what it was sent before: to find a cached prompt, and, for
bound thinking, to decide whether a thinking block still follows the messages it was made for. The
memory holds digests of earlier requests, and the sent messages themselves where they differ from
the caller's.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from chatmend.errors import PolicyError
from chatmend.jsontext import equality_key

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGEST_LENGTH = 24
_POINT = "cachePoint"
"""The key of Converse's cache markers, which are blocks of their own."""
_MARKER_DEPTH = 3
"""Levels of dicts that may have a cache marker: message, block, and block of a tool result."""
_NOT_SENT = frozenset(
    {"id", "response_metadata", "usage_metadata", "tool_call_chunks", "chunk_position"}
)
"""Attributes of LangChain's messages that are not part of a prompt."""
_CHUNK = "MessageChunk"
"""The end of ``type`` in a message that LangChain has read from a stream: ``AIMessageChunk``."""


@dataclass(frozen=True, slots=True)
class SentTurn:
    """One request that was sent. The digests cover all messages up to its end."""

    target: str
    known: str
    """A digest of what was known of the target: lessons, and thinking that it would refuse."""
    count: int
    """The number of the caller's messages."""
    came: str
    """A digest of the caller's messages."""
    sent_count: int
    """The number of messages that were sent."""
    sent: str
    """A digest of the messages that were sent."""
    prompt: str
    """A digest of everything that was sent: system prompt, tools and messages."""
    before: str
    """A digest of the messages before the last one that was sent."""
    last: str
    """A digest of the last message that was sent."""
    messages: tuple[Any, ...] | None = None
    """The messages that were sent, without cache markers; None if they are the caller's."""


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """What was sent in one conversation. Begin with ``SessionMemory()``.

    Pass it to ``repair`` or ``repair_request`` as ``memory``, and keep the ``memory`` of the
    result for the next request of the conversation. It is immutable; ``to_dict`` stores it.
    """

    turns: tuple[SentTurn, ...] = ()
    """The requests that were sent, the latest last."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """For each thinking block (its digest), a digest of the prompt before it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the memory as a dict for JSON; ``from_dict`` reads it."""
        names = [one.name for one in fields(SentTurn)]
        return {
            "turns": [{name: getattr(turn, name) for name in names} for turn in self.turns],
            "prompts": dict(self.prompts),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> SessionMemory:
        """Read a memory from the dict that ``to_dict`` returned.

        Raises:
            PolicyError: the dict has another form.
        """
        try:
            turns = tuple(
                SentTurn(**{**turn, "messages": _as_tuple(turn.get("messages"))})
                for turn in stored["turns"]
            )
            return cls(turns, dict(stored["prompts"]))
        except (KeyError, TypeError, ValueError) as error:
            text = f"this is not a stored session memory ({error!r})"
            raise PolicyError(text) from error


def _as_tuple(messages: Any) -> tuple[Any, ...] | None:  # noqa: ANN401 - any stored value
    return None if messages is None else tuple(messages)


def join_digests(first: str, second: str) -> str:
    """Return a digest of two digests."""
    return hashlib.sha256(f"{first} {second}".encode()).hexdigest()[:_DIGEST_LENGTH]


def digest_of_message(message: Any) -> str:  # noqa: ANN401 - messages can be of any type
    """Return a digest of a message; cache markers do not count, and a text is one text block."""
    if not isinstance(message, dict):
        held = getattr(message, "__dict__", None)
        message = (
            {"text": repr(message)}
            if held is None
            else {key: value for key, value in held.items() if key not in _NOT_SENT and value}
        )
        kind = message.get("type")
        if isinstance(kind, str) and kind.endswith(_CHUNK):
            message["type"] = kind.removesuffix(_CHUNK).lower()
    if isinstance(message.get("content"), str):
        message = {**message, "content": [{"type": "text", "text": message["content"]}]}
    return digest_of_json(message)


def digest_of_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a digest of a JSON value without its cache markers."""
    value = without_markers(value)
    try:
        text = json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        text = equality_key(value)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


def without_markers(value: Any, depth: int = _MARKER_DEPTH) -> Any:  # noqa: ANN401 - any JSON value
    """Return a message, or a list of blocks or tools, without cache markers."""
    if isinstance(value, dict) and depth:
        return {
            key: without_markers(held, depth - 1) if held.__class__ in (dict, list) else held
            for key, held in value.items()
            if key != "cache_control"
        }
    if isinstance(value, list):
        kept = [held for held in value if not (isinstance(held, dict) and _POINT in held)]
        return [without_markers(held, depth) for held in kept] if depth else kept
    return value
