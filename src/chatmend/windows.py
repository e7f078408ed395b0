"""Cuts a transcript into windows, and names what a scan can see in one.

A window is a run of assistant messages and all that follows until the next assistant message; the *opening* is
everything before the first. Rules see one window and a memory of what came before it, never what comes after: that is
why a repaired prefix stays a prefix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect, Fix
from chatmend.transcript import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from chatmend.transcript import Message, ToolCall


Place = tuple[int, int]
"""A part: the message's place in the window, the part's place in the message."""


@dataclass(slots=True)
class Exchanges:
    """The calls of a window with what answers them."""

    calls: list[ToolCall] = field(default_factory=list)
    """Every call, in order."""
    answers: dict[int, Place] = field(default_factory=dict)
    """For the number of a call, its result."""
    duplicates: list[tuple[Place, int]] = field(default_factory=list)
    """Results of a call that is answered by a better one, with the call's number."""
    strays: list[Place] = field(default_factory=list)
    """Results of no call of this window."""


@dataclass(slots=True)
class Window:
    """The messages of one window while its rules run."""

    messages: list[Message]
    origins: list[int | None]
    """For each message its place in the transcript as it came in, ``None`` for one of ours."""
    opening: bool
    followed: bool
    """Whether, as it came in, it held a message that is not the assistant's; a window that did keeps one."""
    heard: bool
    """Whether, as it came in, it held a user's message or a result: then it was certainly sent."""
    last: bool
    """Nothing comes after. Rules may ask only where no follower could make a difference to what was sent."""
    exchanges: Exchanges | None = None
    """Which result answers which call, once somebody asked; forgotten with the next change."""
    pictured: list[int] | None = None
    """The places of the messages that hold images or files, once somebody asked; forgotten with the next change."""
    counted: int | None = None
    """The run, once somebody asked; forgotten with the next change."""
    probes: dict[tuple[int, int], tuple[object, Any]] = field(default_factory=dict)
    """What is known of the images that were looked at, by the identity of their data, with the data itself."""
    offset: int = 0
    """How many messages stand before it in the window that it was cut from, as that is repaired."""

    @property
    def run(self) -> int:
        """How many assistant messages open the window."""
        if self.counted is None:
            others = (at for at, message in enumerate(self.messages) if message.role is not Role.ASSISTANT)
            self.counted = next(others, len(self.messages))
        return self.counted

    def part(self, start: int, stop: int) -> Window:
        """A stretch of this window as a window of its own."""
        messages, ends = self.messages[start:stop], stop == len(self.messages)
        followed = (ends and self.followed) or any(not message.is_assistant for message in messages)
        opening, last = self.opening and not start, self.last and ends
        return Window(messages, self.origins[start:stop], opening, followed, self.heard, last)

    def become(self, messages: list[Message], origins: list[int | None]) -> None:
        """Hold other messages."""
        self.exchanges = self.pictured = self.counted = None
        self.messages, self.origins = messages, origins


def trimmed(window: Window, becomes: tuple[Message, ...], why: str, effect: Effect = Effect.RESHAPES) -> Iterator[Fix]:
    """One fix for a whole window, without the messages at both ends that stay."""
    old = window.messages
    shorter = min(len(old), len(becomes))
    head = next((i for i in range(shorter) if old[i] is not becomes[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] is not becomes[-1 - i]), shorter - head)
    if head < max(len(old), len(becomes)):
        yield Fix(head, len(old) - tail, becomes[head : len(becomes) - tail], why, effect)


class Edit:
    """A window that is rewritten from front to back, by fixes in ascending order: each costs no more than its span."""

    def __init__(self, window: Window) -> None:
        """Begin at the front."""
        self._window = window
        self._messages: list[Message] = []
        self._origins: list[int | None] = []
        self._next = 0

    def reach(self, fix: Fix) -> tuple[list[Message], int, int | None]:
        """Keep what stands before a fix.

        Returns what the fix replaces, the place of that in the window as it is now, and the message of the transcript
        that it concerns: for what is inserted that is the one before it. A fix that is not allowed may follow one of
        the same message.
        """
        self._keep(fix.start)
        at = len(self._messages) - (self._next - fix.start)
        replaced = self._messages[at:] or self._window.messages[fix.start : fix.stop]
        return replaced, at, self._origin(fix) if replaced or not at else self._origins[-1]

    def replace(self, fix: Fix, becomes: list[Message]) -> None:
        """Put ``becomes`` in the place of what the fix replaces."""
        same = len(becomes) == fix.stop - fix.start
        origins = self._window.origins[fix.start : fix.stop] if same else [self._origin(fix)] * len(becomes)
        self._messages += becomes
        self._origins += origins
        self._next = fix.stop

    def finish(self) -> None:
        """Keep the rest, and give the window all of it."""
        self._keep(len(self._window.messages))
        self._window.become(self._messages, self._origins)

    def _keep(self, stop: int) -> None:
        self._messages += self._window.messages[self._next : stop]
        self._origins += self._window.origins[self._next : stop]
        self._next = max(stop, self._next)

    def _origin(self, fix: Fix) -> int | None:
        """Where the message came from that a fix begins at, or the last one where it stands behind all."""
        if fix.start < len(self._window.origins):
            return self._window.origins[fix.start]
        return self._origins[-1] if self._origins else None


@dataclass(slots=True)
class Memory:
    """What rules may know of the windows before: nothing in it is ever taken back."""

    call_ids: set[str] = field(default_factory=set)
    """Every call id that was given or came in, in the form it had and the form it was sent in."""
    id_counts: MutableMapping[str, int] = field(default_factory=dict)
    """How often a call id came in, or a name was made from one stem."""
    has_user: bool = False
    has_turns: bool = False
    """Whether a message that is no system message was seen."""
    item_ids: set[str] = field(default_factory=set)
    """The ids of entries that were sent (``rs_...``, ``fc_...``, ``msg_...``), in a dialect where entries have ids."""
    has_reasoning: bool = False
    """Whether an entry of reasoning came in: a caller that sends some back sends all back."""
    server_calls: set[str] = field(default_factory=set)
    """The ids of calls of the provider's own tools that wait for their result. Alone here, what is settled goes."""
    elsewhere: bool = False
    """A part of the conversation is stored at the provider, so a result may answer a call that is not here."""
