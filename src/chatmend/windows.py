"""Windows, the units that rules work on, and the memory of earlier windows.

A window is a run of assistant messages and everything after it until the next assistant message;
the *opening* is everything before the first assistant message. A rule sees one window and a memory
of the earlier ones, never later messages. So a repaired prefix of a transcript stays the same when
messages are appended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect, Fix
from chatmend.transcript import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from chatmend.transcript import Message, ToolCall


PartPosition = tuple[int, int]
"""The position of a part: the indexes of its message in the window and of it in the message."""


@dataclass(slots=True)
class Exchanges:
    """The calls of a window and their results."""

    calls: list[ToolCall] = field(default_factory=list)
    """Every call, in order."""
    answers: dict[int, PartPosition] = field(default_factory=dict)
    """For the number of a call, the position of its result."""
    duplicates: list[tuple[PartPosition, int]] = field(default_factory=list)
    """Other results of a call that has a better one, with the number of the call."""
    strays: list[PartPosition] = field(default_factory=list)
    """Results that belong to no call of this window."""


@dataclass(slots=True)
class Window:
    """The messages of one window while its rules run."""

    messages: list[Message]
    origins: list[int | None]
    """For each message its index in the original transcript, None if chatmend created it."""
    is_opening: bool
    has_other_roles: bool
    """Whether the original window had a message of another role; it must then keep one."""
    has_input: bool
    """Whether the original window had a user message or a tool result.

    If so, the window was certainly sent.
    """
    is_last: bool
    """Whether no window follows.

    A rule may use it only if a following window would not change what was already sent.
    """
    exchanges: Exchanges | None = None
    """Cache: the results of the calls; cleared when the messages change."""
    media_indexes: list[int] | None = None
    """Cache: the indexes of messages with images or files; cleared when the messages change."""
    cached_run_length: int | None = None
    """Cache of ``run_length``; cleared when the messages change."""
    probes: dict[tuple[int, int], tuple[object, Any]] = field(default_factory=dict)
    """The facts about the images inspected so far, by the identity of their data.

    The data is kept too, so that its identity stays unique.
    """
    offset: int = 0
    """For a turn of a larger window: how many repaired messages precede it there."""

    @property
    def run_length(self) -> int:
        """The number of assistant messages at the start of the window."""
        if self.cached_run_length is None:
            others = (
                at for at, message in enumerate(self.messages) if message.role is not Role.ASSISTANT
            )
            self.cached_run_length = next(others, len(self.messages))
        return self.cached_run_length

    def subwindow(self, start: int, stop: int) -> Window:
        """Return a slice of this window as a window."""
        messages, ends = self.messages[start:stop], stop == len(self.messages)
        has_other_roles = (ends and self.has_other_roles) or any(
            not message.is_assistant for message in messages
        )
        is_opening, is_last = self.is_opening and not start, self.is_last and ends
        return Window(
            messages,
            self.origins[start:stop],
            is_opening,
            has_other_roles,
            self.has_input,
            is_last,
        )

    def set_messages(self, messages: list[Message], origins: list[int | None]) -> None:
        """Replace the messages and their origins, and clear the caches."""
        self.exchanges = self.media_indexes = self.cached_run_length = None
        self.messages, self.origins = messages, origins


def minimal_fix(
    window: Window, becomes: tuple[Message, ...], why: str, effect: Effect = Effect.RESHAPES
) -> Iterator[Fix]:
    """Yield one fix that turns the window into ``becomes``; none if it is equal.

    Unchanged messages at both ends are not part of the fix.
    """
    old = window.messages
    shorter = min(len(old), len(becomes))
    head = next((i for i in range(shorter) if old[i] is not becomes[i]), shorter)
    tail = next(
        (i for i in range(shorter - head) if old[-1 - i] is not becomes[-1 - i]), shorter - head
    )
    if head < max(len(old), len(becomes)):
        yield Fix(head, len(old) - tail, becomes[head : len(becomes) - tail], why, effect)


class Edit:
    """Rewrites a window from start to end by fixes in ascending order.

    The cost of a fix depends only on the length of its span.
    """

    def __init__(self, window: Window) -> None:
        """Start at the first message."""
        self._window = window
        self._messages: list[Message] = []
        self._origins: list[int | None] = []
        self._next = 0

    def advance_to(self, fix: Fix) -> tuple[list[Message], int, int | None]:
        """Copy the messages before a fix.

        Returns the messages that the fix replaces; its position in the window as edited so far; and
        the index in the original transcript of the message concerned, for an insertion that of the
        message before it. A disallowed fix may be followed by another fix of the same message.
        """
        self._keep(fix.start)
        at = len(self._messages) - (self._next - fix.start)
        replaced = self._messages[at:] or self._window.messages[fix.start : fix.stop]
        return replaced, at, self._origin(fix) if replaced or not at else self._origins[-1]

    def has_replaced(self, fix: Fix) -> bool:
        """Whether an earlier fix has replaced the message at which this one starts."""
        return fix.start < self._next

    def replace(self, fix: Fix, becomes: list[Message]) -> None:
        """Replace the span of the fix by ``becomes``."""
        same = len(becomes) == fix.stop - fix.start
        origins = (
            self._window.origins[fix.start : fix.stop]
            if same
            else [self._origin(fix)] * len(becomes)
        )
        self._messages += becomes
        self._origins += origins
        self._next = fix.stop

    def finish(self) -> None:
        """Copy the remaining messages, and store the result in the window."""
        self._keep(len(self._window.messages))
        self._window.set_messages(self._messages, self._origins)

    def _keep(self, stop: int) -> None:
        self._messages += self._window.messages[self._next : stop]
        self._origins += self._window.origins[self._next : stop]
        self._next = max(stop, self._next)

    def _origin(self, fix: Fix) -> int | None:
        """Return the original index of the message at the fix, or of the last one before it."""
        if fix.start < len(self._window.origins):
            return self._window.origins[fix.start]
        return self._origins[-1] if self._origins else None


@dataclass(slots=True)
class Memory:
    """What rules may know about earlier windows; facts are only added.

    Only ``server_calls`` loses entries.
    """

    call_ids: set[str] = field(default_factory=set)
    """Every call id so far, both as received and as sent."""
    id_counts: MutableMapping[str, int] = field(default_factory=dict)
    """How often a call id or a thinking block was received, or a name was derived from a stem."""
    has_user: bool = False
    has_turns: bool = False
    """Whether a message other than system messages occurred."""
    item_ids: set[str] = field(default_factory=set)
    """The item ids sent so far (``rs_...``, ``fc_...``, ``msg_...``), in dialects with items.

    In Bedrock's Converse API: the names of the documents.
    """
    has_reasoning: bool = False
    """Whether a reasoning item occurred: a caller that sends some back sends all back."""
    server_calls: dict[str, str] = field(default_factory=dict)
    """The calls of provider-defined tools without a result so far: the name of the tool by id.

    Calls are removed when their result occurs.
    """
    has_stored_history: bool = False
    """Whether the provider stores earlier messages: a result may belong to a call among them."""
