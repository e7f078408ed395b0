"""What a server remembers between requests: prompt prefixes, as a provider's cache does, and stored responses."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, TypeVar

_KEPT = 50_000
"""Entries that are kept, of either kind: a long-running server must not grow without end."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """A dictionary that forgets what was not used for longest. Safe to share between threads."""

    def __init__(self, kept: int = _KEPT) -> None:
        """Keep at most ``kept`` entries."""
        self._kept = kept
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def put(self, key: Key, value: Value) -> None:
        """Remember."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if len(self._entries) > self._kept:
                self._entries.popitem(last=False)

    def get(self, key: Key) -> Value | None:
        """What was remembered, if it still is."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)


@dataclass(slots=True)
class Memory:
    """Everything one server remembers."""

    prefixes: Recent[tuple[str, str], int] = field(default_factory=Recent)
    responses: Recent[tuple[str, str], Any] = field(default_factory=lambda: Recent(2_000))


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a prompt, in the order in which it is read: a tool, a system block, a message or a part of one."""

    content: Any
    tokens: int
    marked: bool = False
    """A cache marker stands here."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """How a prompt is counted, in tokens."""

    total: int
    read: int = 0
    """Read from the cache: the longest prefix that was seen before."""
    written: int = 0
    """Written to the cache by this request, where the provider writes at markers."""


def tokens(text: str) -> int:
    """About how many tokens a text has: a fourth of its bytes, at least one. No provider's own count."""
    return max(1, (len(text.encode("utf-8", "surrogatepass")) + 3) // 4) if text else 0


def segment(content: object, *, marked: bool = False, extra: int = 0) -> Segment:
    """A segment from a JSON value; cache markers are no part of what is compared."""
    text = json.dumps(unmarked(content), sort_keys=True, ensure_ascii=False)
    return Segment(text, tokens(text) + extra, marked)


def unmarked(content: Any) -> Any:
    """A JSON value without its cache markers."""
    if isinstance(content, dict):
        return {key: unmarked(value) for key, value in content.items() if key != "cache_control"}
    if isinstance(content, list):
        return [unmarked(value) for value in content]
    return content


def chain(segments: Iterable[Segment]) -> list[tuple[str, int]]:
    """After each segment: the hash of the prompt so far, and its tokens so far."""
    running, total, links = hashlib.sha256(), 0, []
    for piece in segments:
        running.update(str(piece.content).encode("utf-8", "surrogatepass") + b"\x1e")
        total += piece.tokens
        links.append((running.hexdigest(), total))
    return links


def count(memory: Memory, owner: str, segments: list[Segment], *, markers: bool) -> Prompt:
    """Count a prompt, and remember its prefixes.

    ``owner`` keeps the caches of different keys, providers and models apart. With ``markers`` only prefixes that end
    at a cache marker are written, as on Anthropic and Bedrock; otherwise every prefix is.
    """
    links = chain(segments)
    total = links[-1][1] if links else 0
    last = max((at for at, piece in enumerate(segments) if piece.marked), default=-1) if markers else len(links) - 1
    read = 0
    for at in range(last, -1, -1):
        if memory.prefixes.get((owner, links[at][0])) is not None:
            read = links[at][1]
            break
    for at in range(last + 1):
        if not markers or segments[at].marked:
            memory.prefixes.put((owner, links[at][0]), links[at][1])
    written = links[last][1] - read if markers and last >= 0 else 0
    return Prompt(total, min(read, total), written)
