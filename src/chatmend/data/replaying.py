"""Repeats the recorded repair of a row, without a target, a policy or a rule."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.data.json_values import digest
from chatmend.data.rows import (
    QUARANTINED,
    REPAIRED,
    VALID,
    Conversations,
    QuarantineError,
    Recorded,
    RowResult,
)
from chatmend.data.wire import StoredMessages
from chatmend.errors import ReplayError, TranscriptError
from chatmend.repair import Repaired, RepairedRequest, replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.changes import Change
    from chatmend.data.formats import Format
    from chatmend.data.rows import Row


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """What a repair has done to one row."""

    status: str
    error: str | None
    changes: tuple[Change, ...]
    """The changes without those that conversations of the row share, as in ``RowResult``."""
    conversations: tuple[Recorded, ...]


def replay_row(
    row: Row, format_: Format, recorded: RecordedRow | None, *, has_nulls: bool = True
) -> RowResult:
    """Return the outcome that a repair had for a row; ``None`` means that the row is valid.

    Raises:
        ReplayError: the changes do not match the row.
    """
    if recorded is None:
        return RowResult(row, VALID)
    if recorded.status == QUARANTINED:
        return RowResult(row, QUARANTINED, recorded.changes, recorded.error, recorded.conversations)
    conversations = _Replayed(recorded.conversations, has_nulls=has_nulls)
    try:
        repaired = format_.repair(row, conversations)
    except ReplayError:
        raise
    except (QuarantineError, TranscriptError, KeyError, TypeError) as error:
        raise ReplayError(f"the changes were recorded on a different row: {error}") from error
    return RowResult(repaired, REPAIRED, recorded.changes, None, recorded.conversations)


class _Replayed(Conversations):
    """Answers the calls of a layout with the recorded changes, in the same order."""

    def __init__(self, recorded: tuple[Recorded, ...], *, has_nulls: bool) -> None:
        self._has_nulls = has_nulls
        self._waiting = deque(recorded)
        self.changes, self.recorded = [], []

    def _stored(self, messages: list[Any], *, needs_ids: bool = False) -> StoredMessages:
        """Convert messages as for the repair: the digest shows how it converted them."""
        expected = self._waiting[0].digest if self._waiting else None
        forms = ((True, True),) if needs_ids else ((True, False), (True, True))
        for for_template, has_ids in forms:
            stored = StoredMessages(
                messages,
                has_nulls=self._has_nulls,
                for_template=for_template,
                needs_ids=has_ids,
            )
            if expected in (None, digest(stored.messages)):
                return stored
        return StoredMessages(messages, has_nulls=self._has_nulls, for_template=False)

    def calls_per_message(self, read: Callable[[int], list[Any]]) -> int:
        """Return what the recorded target accepts: the digest shows how the row was read."""
        expected = self._waiting[0].digest if self._waiting else None
        fitting = (
            at for at in (2, 1) if expected in (None, digest(self._stored(read(at)).messages))
        )
        return next(fitting, 0)

    def _take(self, messages: list[Any]) -> Recorded:
        """Return the changes of the next conversation, which has these messages."""
        recorded = self._waiting.popleft() if self._waiting else Recorded()
        if recorded.digest not in (None, digest(messages)):
            raise ReplayError("the changes were recorded on a different conversation")
        return recorded

    def _repair(self, messages: list[Any], system: object) -> Repaired:
        recorded = self._take(messages)
        changes = recorded.changes
        for change in changes:
            if change.applied and change.where == "system":
                (system,) = change.after
        return Repaired(replay(messages, changes), changes, system)

    def _repair_request(self, body: dict[str, Any], key: str) -> RepairedRequest:
        recorded = self._take(body[key])
        messages = replay(body[key], recorded.changes)
        if messages is body[key] and not recorded.parameters:
            return RepairedRequest(body)
        done = {**body, key: messages, **recorded.parameters}
        removed = {name for name, value in recorded.parameters.items() if value is None}
        return RepairedRequest({k: v for k, v in done.items() if k not in removed})

    def _check_learnt(self, before: list[Any], after: list[Any]) -> None:
        """The repair has checked it."""
