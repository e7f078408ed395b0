"""The state of a server between requests: cached prompt prefixes and stored responses."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, TypeVar

_MAX_ENTRIES = 50_000
"""The number of entries kept, so that memory use is bounded."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class RecentEntries(Generic[Key, Value]):
    """A dictionary that discards the least recently used entry when it is full. Thread-safe."""

    def __init__(self, max_entries: int = _MAX_ENTRIES) -> None:
        """Create a dictionary of at most ``max_entries`` entries."""
        self._max_entries = max_entries
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def put(self, key: Key, value: Value) -> None:
        """Store an entry."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, or None if it is not stored or was discarded."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)


@dataclass(slots=True)
class SandboxMemory:
    """The prompt prefixes and responses that a server has stored."""

    prefixes: RecentEntries[tuple[str, str], int] = field(default_factory=RecentEntries)
    responses: RecentEntries[tuple[str, str], Any] = field(
        default_factory=lambda: RecentEntries(2_000)
    )


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a prompt: a tool, a system block, a message or a part of a message."""

    content: Any
    tokens: int
    has_marker: bool = False
    """Whether it ends with a cache marker."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The token counts of a prompt."""

    total: int
    read: int = 0
    """Tokens read from the cache: the longest prefix that was sent before."""
    written: int = 0
    """Tokens that this request wrote to the cache, if the provider writes at markers."""


def tokens(text: str) -> int:
    """Estimate the tokens of a text: a quarter of its bytes, rounded up."""
    return max(1, (len(text.encode("utf-8", "surrogatepass")) + 3) // 4) if text else 0


def make_segment(content: object, *, has_marker: bool = False, extra: int = 0) -> Segment:
    """Create a segment from a JSON value; cache markers are not compared."""
    text = json.dumps(without_cache_markers(content), sort_keys=True, ensure_ascii=False)
    return Segment(text, tokens(text) + extra, has_marker)


def without_cache_markers(content: Any) -> Any:
    """Return a JSON value without its cache markers."""
    if isinstance(content, dict):
        return {
            key: without_cache_markers(value)
            for key, value in content.items()
            if key != "cache_control"
        }
    if isinstance(content, list):
        return [without_cache_markers(value) for value in content]
    return content


def prefix_hashes(segments: Iterable[Segment]) -> list[tuple[str, int]]:
    """Return, after each segment, the hash and the token count of the prompt so far."""
    running, total, prefixes = hashlib.sha256(), 0, []
    for piece in segments:
        running.update(str(piece.content).encode("utf-8", "surrogatepass") + b"\x1e")
        total += piece.tokens
        prefixes.append((running.hexdigest(), total))
    return prefixes


def count_prompt(
    memory: SandboxMemory, owner: str, segments: list[Segment], *, markers: bool
) -> Prompt:
    """Count the tokens of a prompt and store its prefixes.

    ``owner`` separates the caches of different keys, providers and models. With ``markers``,
    only prefixes that end at a cache marker are stored, as on Anthropic and Bedrock; otherwise
    all are.
    """
    prefixes = prefix_hashes(segments)
    total = prefixes[-1][1] if prefixes else 0
    last = (
        max((at for at, piece in enumerate(segments) if piece.has_marker), default=-1)
        if markers
        else len(prefixes) - 1
    )
    read = 0
    for at in range(last, -1, -1):
        if memory.prefixes.get((owner, prefixes[at][0])) is not None:
            read = prefixes[at][1]
            break
    for at in range(last + 1):
        if not markers or segments[at].has_marker:
            memory.prefixes.put((owner, prefixes[at][0]), prefixes[at][1])
    written = prefixes[last][1] - read if markers and last >= 0 else 0
    return Prompt(total, min(read, total), written)
