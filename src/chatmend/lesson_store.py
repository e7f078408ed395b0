"""Keeps the lessons of conversations for adapters, separately for each tenant."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from chatmend.errors import PolicyError
from chatmend.lessons import Lesson
from chatmend.session_memory import digest_of_json, digest_of_message
from chatmend.shared_entries import SharedEntries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.shared_state import SharedState

MOST_CONVERSATIONS = 10_000
"""Conversations with lessons that are kept; the one that was not used for the longest goes."""
_ANSWERS = ("assistant", "model", "ai", "AIMessageChunk")
"""The roles of the messages that end the opening of a conversation."""
_SYSTEM = ("system", "developer")
_MOST_LESSONS = 50
"""Lessons of one conversation; more would mean that the repair does not help."""


class LessonStore:
    """The lessons of each conversation, in memory. It can be used by several threads.

    A conversation is recognised by its tenant and its opening, which are the messages before the
    first answer without system messages. So two conversations with the same opening share their
    lessons, within a tenant.
    """

    def __init__(
        self,
        file: str | Path | None = None,
        *,
        most: int = MOST_CONVERSATIONS,
        state: SharedState | None = None,
    ) -> None:
        """Create an empty store for at most ``most`` conversations.

        With ``state``, other processes and later ones get what this one learns.
        Each new lesson is appended to ``file`` as a line of JSON; ``chatmend lessons`` prints such
        a file. Its error messages may quote the transcript. The store does not read the file.
        """
        self.file = None if file is None else Path(file).expanduser()
        self._shared = None if state is None else SharedEntries(state, "lessons")
        self._most = most
        self._lessons: OrderedDict[str, tuple[Lesson, ...]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of conversations with lessons."""
        return len(self._lessons)

    def of(self, tenant: str, messages: Sequence[Any]) -> tuple[Lesson, ...]:
        """Return the lessons of a conversation in the order in which they were learnt."""
        if not self._lessons and self._shared is None:
            return ()
        key = key_of_conversation(tenant, messages)
        stored = () if self._shared is None else _load(self._shared.get(key))
        with self._lock:
            found = self._lessons.get(key, ())
            if found:
                self._lessons.move_to_end(key)
        return (*stored, *(lesson for lesson in found if lesson not in stored))

    def add(self, tenant: str, messages: Sequence[Any], lesson: Lesson) -> None:
        """Add a lesson to a conversation."""
        key = key_of_conversation(tenant, messages)
        with self._lock:
            known = self._lessons.get(key, ())
            if lesson not in known:
                self._lessons[key] = _with(known, lesson)
                self._append(lesson)
            self._lessons.move_to_end(key)
            while len(self._lessons) > self._most:
                self._lessons.popitem(last=False)
        if self._shared is not None:
            self._shared.update(key, lambda data: _dump(_with(_load(data), lesson)))

    def _append(self, lesson: Lesson) -> None:
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(lesson.to_dict()) + "\n")


def _with(lessons: tuple[Lesson, ...], lesson: Lesson) -> tuple[Lesson, ...]:
    return lessons if lesson in lessons else (*lessons, lesson)[-_MOST_LESSONS:]


def _dump(lessons: tuple[Lesson, ...]) -> bytes:
    return json.dumps([lesson.to_dict() for lesson in lessons]).encode()


def _load(data: bytes | None) -> tuple[Lesson, ...]:
    """Return stored lessons; none if another version has written them."""
    try:
        return tuple(map(Lesson.from_dict, json.loads(data))) if data else ()
    except (ValueError, TypeError, PolicyError):
        return ()


def key_of_conversation(tenant: str, messages: Sequence[Any]) -> str:
    """Return a digest of a tenant and the messages before the first answer.

    System messages do not count, because many applications write the time into them.
    """
    digests = [tenant]
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else getattr(message, "type", None)
        if role in _ANSWERS or (role is None and _is_answer_item(message)):
            break
        if role not in _SYSTEM:
            digests.append(digest_of_message(message))
    return digest_of_json(digests)


def _is_answer_item(item: Any) -> bool:  # noqa: ANN401 - messages can be of any type
    """Return whether an item without a role is from an answer of the Responses API.

    Of such items only outputs are the client's; reasoning and calls are the model's.
    """
    kind = item.get("type") if isinstance(item, dict) else None
    return isinstance(kind, str) and kind != "message" and not kind.endswith("_output")
