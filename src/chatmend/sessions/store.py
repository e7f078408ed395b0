"""The sessions of a workspace: ``sessions/DDMMYYYY/{agent}_{index}.md`` below its root."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from chatmend.errors import SessionError
from chatmend.sessions.document import Document, parameters_block, parse
from chatmend.sessions.header import Header
from chatmend.sessions.local import LocalStorage
from chatmend.sessions.names import file_name, index_of
from chatmend.sessions.session import Session
from chatmend.sessions.state import StoredState
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
        """Store sessions in a directory or in another storage.

        Args:
            root: the workspace, a directory that is created when the first session starts, or a
                storage such as ``CloudStorage``, which stores sessions in a bucket.
            durable: wait until data is on disk; see ``LocalStorage``.
            ledger: counts the usage of all sessions by ``agent`` and ``session``; the default is a
                new one.
            clock: returns the current time with its time zone.
        """
        self.storage: Storage = (
            LocalStorage(root, durable=durable) if isinstance(root, str | os.PathLike) else root
        )
        self.state = StoredState(
            LocalStorage(root, durable=False)
            if isinstance(root, str | os.PathLike)
            else self.storage
        )
        """What adapters know of conversations: session memories and lessons.

        A killed process loses nothing; a power failure can lose the last request.
        """
        self.ledger = ledger if ledger is not None else UsageLedger()
        self.now = clock
        self._next: dict[tuple[str, str], int] = {}
        """The lowest index that may be unused, for each folder and agent."""

    def start(
        self,
        agent: str = "main",
        *,
        target: str = "",
        dispatcher: str = "",
        dialect: str = "",
        request_parameters: Mapping[str, Any] | None = None,
    ) -> Session:
        """Create a session with a new file.

        Args:
            agent: any name; a name that cannot be used in a file name is stored with a hash.
            target: provider and model, as LiteLLM names them: ``"anthropic/claude-sonnet-4-5"``.
            dispatcher: the sender of the messages, such as ``litellm``.
            dialect: the wire format, such as ``openai_chat`` or ``anthropic_messages``. If it is
                empty, every repair recognises it from the messages, which is ambiguous for some
                first messages.
            request_parameters: the other parameters of each request:
                ``{"system": ..., "tools": ..., "thinking": ...}``.

        Raises:
            SessionWriteError: the file could not be written.
        """
        provider, _, model = target.partition("/")
        now = self.now()
        header = Header(now, now, agent, dispatcher, provider, model, dialect)
        return self.create(Document(header, parameters=parameters_block(request_parameters or {})))

    def create(self, document: Document) -> Session:
        """Create a session with the content of a document.

        The first writer that creates the file of a name reserves it; others try the next index.

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
        """Return the highest index of an agent in a folder; 0 if it has no sessions there."""
        return max((index_of(name, agent) or 0 for name in self.storage.names(folder)), default=0)

    def load(self, path: str) -> Session:
        """Return the session at a path below the root.

        Raises:
            SessionFormatError: the file is malformed, truncated or edited. The message contains
                file, line and what was expected.
            SessionError: the file does not exist or cannot be read.
        """
        try:
            data, version = self.storage.read(path)
        except FileNotFoundError:
            raise SessionError(f"{path}: no such session") from None
        except OSError as error:
            raise SessionError(f"{path}: could not be read: {error.strerror}") from error
        document, messages = parse(data, path)
        return Session(self, path, (document, version), messages)

    def latest(self, agent: str = "main", *, days: int | None = 2) -> Session | None:
        """Return the newest session of an agent: the highest index on the most recent day.

        ``days=2`` searches today and yesterday, ``None`` all days until today.

        Raises:
            SessionFormatError: the newest file is malformed. An older one is never used instead.
        """
        for folder in self._folders(days):
            if newest := self._newest(folder, agent):
                return self.load(f"{folder}/{file_name(agent, newest)}")
        return None

    def _folders(self, days: int | None) -> Iterator[str]:
        """Yield the folders of the last days, newest first; for all days, only existing folders."""
        today = self.now()
        if days is not None:
            yield from (self._folder(today - timedelta(days=back)) for back in range(days))
            return
        stored = sorted(filter(None, map(_day, self.storage.names(_FOLDER))), reverse=True)
        yield from (self._folder(day) for day in stored if day <= today)

    def paths(self) -> Iterator[str]:
        """Yield the paths of all sessions, by day from the oldest, then by name and index."""
        for day in sorted(filter(None, map(_day, self.storage.names(_FOLDER)))):
            folder = self._folder(day)
            known = [
                (name, index)
                for name in self.storage.names(folder)
                if (index := index_of(name)) is not None
            ]
            known.sort(key=lambda found: (found[0].rpartition("_")[0], found[1]))
            yield from (f"{folder}/{name}" for name, _ in known)


def _day(name: str) -> datetime | None:
    try:
        day = datetime.strptime(name, _DAY).replace(tzinfo=UTC)
    except ValueError:
        return None
    return day if day.strftime(_DAY) == name else None
