"""What was sent in a conversation, as a value that each repair gets and returns.

A provider compares what it is sent with what it was sent before: to find a cached prompt, and, for
bound thinking, to decide whether a thinking block still follows the messages it was made for. The
memory holds digests of earlier requests, and the sent messages that differ from the caller's.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from chatmend.errors import PolicyError
from chatmend.jsontext import equality_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MOST_TURNS = 16
"""Requests that are kept; a conversation may be continued in several ways."""
MOST_BLOCKS = 20_000
"""Thinking blocks whose prompt is kept."""
_DIGEST_LENGTH = 24
_MARKER, _POINT = "cache_control", "cachePoint"
"""The keys of cache markers; in Converse they are blocks of their own."""
_MARKER_DEPTH = 3
"""Levels of dicts that may have a cache marker: message, block, and block of a tool result."""
_NOT_SENT = frozenset(
    {"id", "response_metadata", "usage_metadata", "tool_call_chunks", "chunk_position"}
)
"""Attributes of LangChain's messages that are not part of a prompt."""
_CHUNK = "MessageChunk"
"""The end of ``type`` in a message that LangChain has read from a stream: ``AIMessageChunk``."""
_encode = json.JSONEncoder(sort_keys=True, default=repr).encode

Edit = tuple[int, int, tuple[Any, ...]]
"""The caller's messages from the first to before the second index became these messages."""


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
    """A digest of everything that was sent: system prompt, tools and messages.

    Thinking is left out that the provider ignores.
    """
    before: str
    """A digest of the messages before the last one that was sent."""
    last: str
    """A digest of the last message that was sent."""
    edits: tuple[Edit, ...] = field(default=(), compare=False)
    """What was sent in place of the caller's messages, without cache markers.

    It holds messages, which cannot be hashed. Turns are compared by their digests, which cover it.
    """
    is_compared: bool = False
    """Whether all thinking in it followed the prompt for which it was made."""
    has_failed: bool = False
    """Whether the request got no answer from its target."""

    def apply(self, messages: Sequence[Any]) -> list[Any]:
        """Return what was sent in place of these messages, which begin with the caller's."""
        sent: list[Any] = []
        at = 0
        for start, stop, becomes in self.edits:
            sent += (*messages[at:start], *becomes)
            at = stop
        return [*sent, *messages[at : self.count]]


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """What was sent in one conversation. Begin with ``SessionMemory()``.

    Pass it to ``repair`` or ``repair_request`` as ``memory``, and keep the ``memory`` of the
    result for the next request of the conversation. It is immutable; ``to_dict`` stores it.
    """

    turns: tuple[SentTurn, ...] = ()
    """The requests that were sent, the latest last."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """For each thinking block (its digest), a digest of the prompt before it.

    If a block occurs more than once in a request, ``DIGEST#2`` is its second occurrence.
    """

    def refused(self, turn: SentTurn | None = None) -> SessionMemory:
        """Return the memory after a request has failed: its last one, or another turn.

        An answer that follows this request comes from another provider, and does not show that its
        target has accepted it.
        """
        meant = turn or (self.turns[-1] if self.turns else None)
        if meant not in self.turns:
            return self
        turns = [replace(one, has_failed=True) if one == meant else one for one in self.turns]
        return SessionMemory(tuple(turns), self.prompts)

    def merged(self, newer: SessionMemory) -> SessionMemory:
        """Return the memory of two requests that both continued an earlier memory."""
        known = {replace(turn, has_failed=False): turn.has_failed for turn in self.turns}
        turns = list(newer.turns)
        for at, turn in enumerate(turns):
            has_failed = known.pop(replace(turn, has_failed=False), False)
            if has_failed and at < len(turns) - 1:  # the last one has been sent again
                turns[at] = replace(turn, has_failed=True)
        others = [turn for turn in self.turns if replace(turn, has_failed=False) in known]
        prompts = with_most_blocks({**self.prompts, **newer.prompts, **self.prompts})
        return SessionMemory((*others, *turns)[-MOST_TURNS:], prompts)

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
                SentTurn(**{**turn, "edits": tuple(_read_edits(turn["edits"]))})
                for turn in stored["turns"]
            )
            return cls(turns, dict(stored["prompts"]))
        except (KeyError, TypeError, ValueError) as error:
            text = f"this is not a stored session memory ({error!r})"
            raise PolicyError(text) from error


def _read_edits(edits: Iterable[Any]) -> Iterator[Edit]:
    for start, stop, becomes in edits:
        yield int(start), int(stop), tuple(becomes)


def with_most_blocks(prompts: dict[str, str]) -> dict[str, str]:
    """Return the prompts of the newest thinking blocks."""
    for block in list(prompts)[: max(0, len(prompts) - MOST_BLOCKS)]:
        del prompts[block]
    return prompts


def join_digests(first: str, second: str) -> str:
    """Return a digest of two digests."""
    return hashlib.sha256((first + second).encode()).hexdigest()[:_DIGEST_LENGTH]


def edits_between(
    messages: Sequence[Any], sent: Sequence[Any], digest: Callable[[Any], str]
) -> tuple[Edit, ...]:
    """Return the edits that turn messages into those that were sent."""
    positions = defaultdict[str, list[int]](list)
    for at in range(len(messages) - 1, -1, -1):
        positions[digest(messages[at])].append(at)
    edits, added, start = list[Edit](), list[Any](), 0
    for message in sent:
        same = positions.get(digest(message), [])
        while same and same[-1] < start:
            same.pop()
        if not same:
            added.append(without_markers(message))
            continue
        if added or same[-1] > start:
            edits.append((start, same[-1], tuple(added)))
        added, start = [], same[-1] + 1
    if added or start < len(messages):
        edits.append((start, len(messages), tuple(added)))
    return tuple(edits)


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
    try:
        text = _encode(value)
        if _MARKER in text or _POINT in text:
            text = _encode(without_markers(value))
    except (TypeError, ValueError, RecursionError):
        text = equality_key(without_markers(value))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


def without_markers(value: Any, depth: int = _MARKER_DEPTH) -> Any:  # noqa: ANN401 - any JSON value
    """Return a message, or a list of blocks or tools, without cache markers."""
    if isinstance(value, dict) and depth:
        return {
            key: without_markers(held, depth - 1) if held.__class__ in (dict, list) else held
            for key, held in value.items()
            if key != _MARKER
        }
    if isinstance(value, list):
        kept = [held for held in value if not (isinstance(held, dict) and _POINT in held)]
        return [without_markers(held, depth) for held in kept] if depth else kept
    return value
