"""Fixes, which rules propose, and changes, which record the applied fixes for the caller."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from chatmend.transcript import read_only

if TYPE_CHECKING:
    from chatmend.transcript import Message, Native


class Effect(IntEnum):
    """What a change does to the content; ordered from the mildest, so effects can be compared."""

    RESHAPES = 1
    """The same content in another form."""
    ADDS = 2
    """New content that was not in the transcript."""
    DEGRADES = 3
    """The content is still there, but has lost information."""
    DROPS = 4
    """Content is discarded."""


@read_only
class Fix:
    """A proposal to replace ``window[start:stop]`` by ``becomes``; an empty span inserts."""

    start: int
    stop: int
    becomes: tuple[Message, ...]
    why: str
    effect: Effect = Effect.RESHAPES
    finding: bool = False
    """True if the problem is only reported: ``becomes`` holds the unchanged messages."""
    hoists: tuple[str | dict[str, Any], ...] = ()
    """Texts, and blocks with a cache marker, that move to the top-level ``system``."""
    declares: tuple[dict[str, Any], ...] = ()
    """Tools that the request must declare, because the message that declared them is removed."""


@dataclass(frozen=True, slots=True)
class Change:
    """One edit of the transcript, with enough data to explain it and to apply it again.

    The edit replaces ``before`` by ``after`` at position ``at`` in the input window ``window``,
    after the earlier changes of the same window. ``window`` is ``None`` for rules that run on the
    whole request. ``where`` is ``"messages"``, ``"system"``, ``"tools"``,
    ``"cache_control"``, ``"thinking"`` or ``"context_management"``.
    """

    code: str
    rule: str
    effect: Effect
    index: int | None
    """The index of the first affected message in the original transcript.

    ``None`` if the change is not in the messages.
    """
    why: str
    before: tuple[Native, ...]
    after: tuple[Native, ...]
    window: tuple[int, int] | None = None
    at: int = 0
    where: str = "messages"
    applied: bool = True
    """False if the problem was only reported and the transcript is unchanged."""
    invalidates_thinking: bool = False
    """Whether the change alters what was sent before, in front of signed thinking.

    A provider that binds thinking to the messages before it refuses such thinking, or drops it. It
    is true for changes that depend on later messages: removed images, a system message that moves
    to the system prompt, declared tools. A repair of one window is made in the same way at every
    turn, so the provider has been sent the same messages each time, and their thinking stays valid.
    """
    finding: bool = False
    """True if no policy would apply the change.

    Either there is nothing better to send, or chatmend cannot know what would be better.
    """
