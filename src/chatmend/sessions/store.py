"""The sessions of a workspace: ``sessions/DDMMYYYY/{agent}_{index}.md`` below its root."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from chatmend.errors import SessionError
from chatmend.sessions.document import Document, beside_block, parse
from chatmend.sessions.header import Header
from chatmend.sessions.local import LocalStorage
from chatmend.sessions.names import file_name, index_of
from chatmend.sessions.session import Session
from chatmend.usage import UsageLedger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chatmend.sessions.storage import Storage

_FOLDER = "sessions"
_DAY = "%d%m%Y"


def _clock() -> datetime:
    return datetime.now(UTC)


class SessionStore:
    """Starts, finds and loads sessions. Any number of processes may share a root."""

    def __init__(
        self,
        root: str | os.PathLike[str] | Storage,
        *,
        durable: bool = True,
        ledger: UsageLedger | None = None,
        clock: Callable[[], datetime] = _clock,
    ) -> None:
        """Keep sessions below ``root``, a directory or a storage of another kind.

        Args:
            root: the workspace; made when the first session starts. ``CloudStorage`` keeps them in a bucket.
            durable: wait until the disk has what was written; see ``LocalStorage``.
            ledger: counts what all sessions use, by ``agent`` and ``session``; one of its own if not given.
            clock: the time with its zone.
        """
        self.storage: Storage = LocalStorage(root, durable=durable) if isinstance(root, str | os.PathLike) else root
        self.ledger = ledger if ledger is not None else UsageLedger()
        self.now = clock
        self._next: dict[tuple[str, str], int] = {}
        """The index from which on names may be free, by folder and agent."""

    def start(
        self,
        agent: str = "main",
        *,
        target: str = "",
        dispatcher: str = "",
        dialect: str = "",
        beside: Mapping[str, Any] | None = None,
    ) -> Session:
        """A new session with a file of its own.

        Args:
            agent: any name; names that no file can have are written as a hash.
            target: provider and model, as LiteLLM names them: ``"anthropic/claude-sonnet-4-5"``.
            dispatcher: what sends the messages.
            dialect: ``openai_chat`` or ``anthropic_messages``. If it is not given, each repair recognises it from what
                the messages hold so far, which an early message may leave open.
            beside: what each request has beside its messages: ``{"system": ..., "tools": ..., "thinking": ...}``.

        Raises:
            SessionWriteError: the file could not be written.
        """
        provider, _, model = target.partition("/")
        now = self.now()
        header = Header(now, now, agent, dispatcher, provider, model, dialect)
        return self.create(Document(header, beside=beside_block(beside or {})))

    def create(self, document: Document) -> Session:
        """A new session that begins with a document; whoever makes the file of a name has it.

        Raises:
            SessionWriteError: the file could not be written.
        """
        agent, data = document.header.agent, document.render()
        folder = self._folder(document.header.created)
        index = self._next.get((folder, agent)) or self._newest(folder, agent) + 1
        while True:
            path = f"{folder}/{file_name(agent, index)}"
            try:
                version = self.storage.create(path, data)
            except FileExistsError:
                index += 1
                continue
            self._next[folder, agent] = index + 1
            return Session(self, path, (document, version), document.messages())

    @staticmethod
    def _folder(day: datetime) -> str:
        return f"{_FOLDER}/{day.astimezone(UTC).strftime(_DAY)}"

    def _newest(self, folder: str, agent: str) -> int:
        """The highest index of an agent in a folder; 0 where it has none."""
        return max((index_of(name, agent) or 0 for name in self.storage.names(folder)), default=0)

    def load(self, path: str) -> Session:
        """The session at a path below the root.

        Raises:
            SessionFormatError: the file is malformed, cut or edited; it names file, line and what was expected.
            SessionError: there is no such file.
        """
        try:
            data, version = self.storage.read(path)
        except FileNotFoundError:
            raise SessionError(f"{path}: there is no such session") from None
        except OSError as error:
            raise SessionError(f"{path}: could not be read: {error.strerror}") from error
        document, messages = parse(data, path)
        return Session(self, path, (document, version), messages)

    def latest(self, agent: str = "main", *, days: int | None = 2) -> Session | None:
        """The newest session of an agent, by index, of today or else of the days before.

        ``days=2`` looks at today and yesterday, ``None`` at all days until today.

        Raises:
            SessionFormatError: the newest file is malformed: an older one is never taken for it.
        """
        for folder in self._folders(days):
            if newest := self._newest(folder, agent):
                return self.load(f"{folder}/{file_name(agent, newest)}")
        return None

    def _folders(self, days: int | None) -> Iterator[str]:
        """The folders of the last days, newest first; of all days only those that are there."""
        today = self.now()
        if days is not None:
            yield from (self._folder(today - timedelta(days=back)) for back in range(days))
            return
        stored = sorted(filter(None, map(_day, self.storage.names(_FOLDER))), reverse=True)
        yield from (self._folder(day) for day in stored if day <= today)

    def paths(self) -> Iterator[str]:
        """The paths of all sessions, oldest day first, then by name and index."""
        for day in sorted(filter(None, map(_day, self.storage.names(_FOLDER)))):
            folder = self._folder(day)
            known = [(name, index) for name in self.storage.names(folder) if (index := index_of(name)) is not None]
            known.sort(key=lambda found: (found[0].rpartition("_")[0], found[1]))
            yield from (f"{folder}/{name}" for name, _ in known)


def _day(name: str) -> datetime | None:
    try:
        day = datetime.strptime(name, _DAY).replace(tzinfo=UTC)
    except ValueError:
        return None
    return day if day.strftime(_DAY) == name else None
