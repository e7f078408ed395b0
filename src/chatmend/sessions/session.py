"""A stored transcript whose messages are exactly those that were sent."""

from __future__ import annotations

from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any

from chatmend.errors import SessionDivergedError, SessionError
from chatmend.sessions.document import Document, parameters_block
from chatmend.sessions.header import Header
from chatmend.sessions.markers import with_markers
from chatmend.sessions.rendering import render_messages, shared_prefix_length
from chatmend.sessions.repairs import check_stored, remember_stored, repair_stored
from chatmend.usage import Usage, UsageLedger, normalize_usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmend.changes import Change
    from chatmend.policy import Policy
    from chatmend.repair import Repaired
    from chatmend.session_memory import SessionMemory
    from chatmend.sessions.store import SessionStore
    from chatmend.usage import Row


class Session:
    """One conversation of one agent, in one file. Create it with a store's ``start`` or ``load``.

    Methods return after the file is written; if one raises, the session is unchanged. Threads may
    share a session. Two processes must not continue it at the same time: the second one gets a
    `SessionConflictError`.
    """

    def __init__(
        self, store: SessionStore, path: str, stored: tuple[Document, str], messages: list[Any]
    ) -> None:
        """Keep a document with its version and its messages. Only stores call this."""
        self.path = path
        """The path of the file below the root of the store: ``sessions/21112026/main_1.md``."""
        self._store = store
        self._document, self._version = stored
        self._read: list[Any] | None = messages
        self._lock = RLock()

    def __repr__(self) -> str:
        """Return path and length, without content."""
        return f"Session({self.path!r}, {self.header.messages} messages)"

    @property
    def header(self) -> Header:
        """The header of the file."""
        return self._document.header

    @property
    def agent(self) -> str:
        """The agent to which the session belongs."""
        return self.header.agent

    @property
    def target(self) -> str:
        """Provider and model as one name, as LiteLLM writes it."""
        return "/".join(filter(None, (self.header.provider, self.header.model))) or "other"

    @property
    def messages(self) -> list[Any]:
        """New copies of all messages: those last sent, with cache markers, and later ones."""
        with self._lock:
            messages, self._read = self._read, None
            document = self._document
        return with_markers(
            document.messages() if messages is None else messages, document.header.markers
        )

    @property
    def request_parameters(self) -> dict[str, Any]:
        """A new copy of the other parameters of the request: ``system``, ``tools``, ..."""
        return self._document.request_parameters()

    @property
    def usage(self) -> Row:
        """The usage of all calls of the session."""
        return self.header.used

    @property
    def findings(self) -> tuple[Change, ...]:
        """What the target would refuse in the stored messages, which are not changed.

        A reply at the end, or calls at the end without results, are not findings.
        """
        return check_stored(self.messages, self.target, **self._repair_options())

    def _repair_options(
        self, request_parameters: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the dialect and the request parameters that a repair needs."""
        given = request_parameters
        parameters = self.request_parameters if given is None else given
        known: dict[str, Any] = {
            key: parameters[key] for key in ("system", "tools", "thinking") if key in parameters
        }
        return {"dialect": self.header.dialect or None, **known}

    def extend(
        self,
        messages: Sequence[Any],
        *,
        policy: Policy | None = None,
        request_parameters: Mapping[str, Any] | None = None,
    ) -> Repaired:
        """Return the messages to send next: the stored and the new ones, repaired for the target.

        Nothing is written. If the repair changes ``system`` or ``tools`` of the result, send them
        too, and pass them to ``record`` as ``request_parameters``.

        Stored messages stay as they were sent. If ``request_parameters`` has another system prompt
        or other tools than before, thinking that is bound to the former ones is removed; then call
        ``rewrite`` with the messages of the result before ``record``.
        """
        with self._lock:
            sendable, memory = [*self.messages, *messages], self.header.memory
        options = self._repair_options(request_parameters)
        return repair_stored(sendable, self.target, policy=policy, memory=memory, **options)

    def record(
        self,
        messages: Sequence[Any],
        *,
        reply: object = None,
        usage: object = None,
        request_parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Write one turn.

        Args:
            messages: all messages of the sent request. They must begin with the messages of the
                previous request.
            reply: the reply, as the next request will contain it, or a list of output items
                (OpenAI's Responses API). If the next request contains another form, that form is
                stored.
            usage: a response or its usage, of any provider that `normalize_usage` supports.
            request_parameters: the other parameters of the request; unchanged if not given.

        Raises:
            SessionDivergedError: the messages do not begin with those that were sent before. Cache
                markers are not compared.
            SessionConflictError: another writer has continued the session.
            SessionWriteError: the file could not be written.
            TranscriptError: a message cannot be stored.
        """
        with self._lock:
            blocks, markers = render_messages(messages)
            sent = self._document.blocks[: self.header.cache_boundary]
            if tuple(blocks[: len(sent)]) != sent:
                raise SessionDivergedError(self.path, shared_prefix_length(blocks, sent))
            usage_record = self._normalize(usage)
            header = replace(
                self.header,
                memory=self._memory_with(list(messages), request_parameters),
                cache_boundary=len(blocks),
                turns=self.header.turns + 1,
                markers=tuple(markers),
                used=self._total_with(usage_record),
            )
            if reply is not None:
                blocks += render_messages(reply if isinstance(reply, list) else [reply])[0]
            self._save(
                blocks,
                header,
                None if request_parameters is None else parameters_block(request_parameters),
            )
            if usage_record is not None:
                self._store.ledger.add(usage_record, agent=self.agent, session=self.path)

    def _memory_with(
        self, messages: list[Any], request_parameters: Mapping[str, Any] | None
    ) -> SessionMemory | None:
        """Return the memory after a request; None if the target does not need one."""
        options = self._repair_options(request_parameters)
        return remember_stored(messages, self.target, self.header.memory, **options)

    def append(self, *messages: object) -> None:
        """Write messages after the stored ones. They count as unsent until the next ``record``.

        Raises:
            SessionConflictError, SessionWriteError, TranscriptError: see ``record``.
        """
        with self._lock:
            self._save([*self._document.blocks, *render_messages(messages)[0]], self.header, None)

    def rewrite(self, messages: Sequence[Any]) -> None:
        """Replace the stored messages, for example to repair a stored conversation.

        Equal messages at the start still count as sent.

        Raises:
            SessionConflictError, SessionWriteError, TranscriptError: see ``record``.
        """
        with self._lock:
            blocks, markers = render_messages(messages)
            sent = self._document.blocks[: self.header.cache_boundary]
            header = replace(
                self.header,
                cache_boundary=shared_prefix_length(blocks, sent),
                markers=tuple(markers),
            )
            self._save(blocks, header, None)

    def child(self, agent: str) -> Session:
        """Create an empty session for a sub-agent, with separate usage."""
        return self._store.create(Document(self._new_header(agent, parent=self.path)))

    def fork(self, agent: str | None = None) -> Session:
        """Create a copy of the session, whose first call reads the messages from the cache."""
        old = self.header
        kept = {
            "messages": old.messages,
            "cache_boundary": old.cache_boundary,
            "markers": old.markers,
            "memory": old.memory,
        }
        return self._store.create(
            replace(self._document, header=self._new_header(agent, parent=self.path, **kept))
        )

    def go_on(self) -> Session:
        """Create an empty session of the same agent that refers to this one as ``continues``.

        Use it if the history was truncated or rewritten, so that this session cannot be continued.
        """
        return self._store.create(
            Document(
                self._new_header(
                    None,
                    parent=self.header.parent,
                    continues=self.path,
                    memory=self.header.memory,
                )
            )
        )

    def _new_header(self, agent: str | None, **more: Any) -> Header:  # noqa: ANN401
        old, now = self.header, self._store.now()
        agent = agent or old.agent
        return Header(now, now, agent, old.dispatcher, old.provider, old.model, old.dialect, **more)

    def _normalize(self, usage: object) -> Usage | None:
        if usage is None or isinstance(usage, Usage):
            return usage
        return normalize_usage(usage, self.header.provider or None)

    def _total_with(self, usage: Usage | None) -> Row:
        """Return the usage of all calls including a new one.

        The sources of the numbers are omitted, because they are meaningful only for a single call.
        """
        if usage is None:
            return self.usage
        ledger = UsageLedger(price=self._store.ledger.price)
        ledger.add(usage)
        row = self.usage + ledger.snapshot()[0]
        return replace(row, keys={}, usage=replace(row.usage, sources={}, unread=()))

    def _save(self, blocks: Sequence[bytes], header: Header, parameters: bytes | None) -> None:
        header = replace(header, messages=len(blocks), updated=self._store.now())
        document = Document(
            header,
            tuple(blocks),
            self._document.parameters if parameters is None else parameters,
        )
        try:
            self._version = self._store.storage.replace(self.path, document.render(), self._version)
        except FileNotFoundError as error:
            raise SessionError(f"{self.path}: the file does not exist any more") from error
        self._document, self._read = document, None
