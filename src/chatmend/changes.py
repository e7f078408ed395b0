"""What a repair did: the one kind of edit that a rule proposes, and the record of it that the caller gets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.transcript import Message, Native


class Effect(IntEnum):
    """What a change does to the content, mildest first, so that effects compare."""

    RESHAPES = 1
    """The same content in another shape."""
    ADDS = 2
    """Content that nobody said."""
    DEGRADES = 3
    """The content is there, but carries less."""
    DROPS = 4
    """Content is gone."""


@dataclass(frozen=True, slots=True)
class Fix:
    """Replace ``window[start:stop]`` by ``becomes``. An empty span is an insertion."""

    start: int
    stop: int
    becomes: tuple[Message, ...]
    why: str
    effect: Effect = Effect.RESHAPES
    finding: bool = False
    """Something that is reported and not changed: ``becomes`` is what is there."""
    hoists: tuple[str, ...] = ()
    """Texts that leave the messages for the top-level ``system``."""


@dataclass(frozen=True, slots=True)
class Change:
    """One edit of the transcript as it was made: enough to explain it, and to make it again.

    The edit replaces ``before`` by ``after`` at ``at``, counted inside the input window ``window`` as the earlier
    changes of the same window left it (``window`` is ``None`` for the last pass, which sees the whole request).
    ``where`` is ``"messages"``, ``"system"`` or ``"tools"``.
    """

    code: str
    rule: str
    effect: Effect
    index: int | None
    """The first message concerned, counted in the transcript as it came in; ``None`` beside the messages."""
    why: str
    before: tuple[Native, ...]
    after: tuple[Native, ...]
    window: tuple[int, int] | None = None
    at: int = 0
    where: str = "messages"
    applied: bool = True
    """False for a finding: something that was seen and left as it was."""
    invalidates_thinking: bool = False
    """Signed thinking stands behind the change, in its own window or a later one: a provider that binds thinking to its
    prefix refuses it, unless it was signed after the same change had been sent."""
    finding: bool = False
    """No policy would change it: there is nothing better to send, or nobody can know."""
