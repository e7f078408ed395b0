"""Repairs the body of one HTTP request, and again after a refusal. It sends nothing itself."""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypedDict

from chatmend.dialects import DIALECTS, Unsure, format_of_body
from chatmend.failures import reason_of
from chatmend.lesson_store import LessonStore
from chatmend.memory_store import MemoryStore
from chatmend.options import (
    known_hosts,
    mode_of,
    on_error_of,
    policy_of,
    react_of,
    session_memory_of,
    target_of,
)
from chatmend.reaction import react
from chatmend.remembering import remember_request
from chatmend.repair import repair_request
from chatmend.report import Reportable
from chatmend.session_memory import digest_of_json
from chatmend.targets import Target, resolve
from chatmend.telemetry import record_repair
from chatmend.thinking_parameter import drops_blocks, with_binding_beta
from chatmend.transport import endpoints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.changes import Change
    from chatmend.options import Mode, OnError, SessionMemoryMode
    from chatmend.policy import Policy
    from chatmend.session_memory import SentTurn, SessionMemory
    from chatmend.shared_state import SessionMemories
    from chatmend.transport.endpoints import Endpoint

_log = logging.getLogger("chatmend.transport")

EXTENSION = "chatmend"
"""The key of the report in ``response.extensions``."""
BETA_HEADER = "anthropic-beta"
HEAVY = 64_000
"""Asynchronous clients repair longer bodies, in bytes, in a thread and not on the event loop."""
REFUSALS = frozenset({400, 404, 413, 422})
"""The statuses of answers that are read to find out whether a repair helps."""
_FAILED = 400
_SIGNED = "AWS4-HMAC-SHA256"
"""The beginning of ``authorization`` if the body is signed, so that it cannot be changed."""
_TENANT_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
"""The headers with API keys. Conversations of different keys are kept apart."""


@dataclass(frozen=True, slots=True)
class RequestReport(Reportable):
    """What happened to one request; ``response.extensions["chatmend"]`` of its response."""

    target: str
    changes: tuple[Change, ...] = ()
    reacted: int = 0
    """How often the request was sent again after a refusal."""


@dataclass(slots=True)
class RepairedCall:
    """One request with a transcript, and what is sent in its place."""

    original: dict[str, Any]
    endpoint: Endpoint
    target: Target
    dialect: str
    tenant: str
    body: dict[str, Any]
    """The body to send; the same object as ``original`` if it is unchanged."""
    changes: tuple[Change, ...] = ()
    reacted: int = 0
    turn: SentTurn | None = None
    """The request in the memory of its conversation, if it is kept."""

    @property
    def messages(self) -> list[Any]:
        """The messages of the original request."""
        found: list[Any] = self.original[DIALECTS[self.dialect].TRAITS.messages_key]
        return found

    @property
    def report(self) -> RequestReport:
        """What happened to the request."""
        return RequestReport(self.target.name, self.changes, self.reacted)

    def content(self) -> bytes | None:
        """Return the bytes to send; None if the original bytes are sent."""
        if self.body is self.original:
            return None
        try:
            text = json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(self.body, separators=(",", ":")).encode()

    def betas(self, header: str | None) -> str | None:
        """Return a new value of the header ``anthropic-beta``; None if it needs no change."""
        thinking = self.body.get("thinking")
        if thinking is self.original.get("thinking") or not drops_blocks(thinking):
            return None
        return with_binding_beta(header)


class RepairOptions(TypedDict, total=False):
    """The options of ``RequestRepair``, with which clients and hooks are made."""

    policy: Policy | str | None
    target: str | None
    mode: Mode
    on_error: OnError
    react: int
    session_memory: SessionMemoryMode | SessionMemories


class RequestRepair:
    """Repairs requests with the same options, and keeps what is known of their conversations.

    Clients, transports and ``repair_boto3`` pass their options on to it.
    """

    def __init__(  # noqa: PLR0913 - the options of all adapters
        self,
        *,
        policy: Policy | str | None = None,
        target: str | None = None,
        mode: Mode = "repair",
        on_error: OnError = "pass",
        react: int = 0,
        session_memory: SessionMemoryMode | SessionMemories = "bound",
    ) -> None:
        """Check the options.

        Args:
            policy: a policy, or the name of a predefined one.
            target: ``provider/model``, or a provider alone, which is combined with the model of
                the request. By default the address and the body name both.
            mode: ``"repair"`` requests, or ``"report"`` what would change and send the original.
            on_error: if chatmend itself fails, ``"pass"`` sends the original with a warning, and
                ``"raise"`` raises the exception (for tests).
            react: how many more attempts follow a refusal of the transcript: 0, 1 or 2.
            session_memory: for which requests to keep what was sent in a conversation:
                ``"bound"`` (targets with bound thinking), ``"all"`` or ``"off"``;
                ``SessionMemories`` keeps it in a store that replicas share.

        Raises:
            PolicyError: an option has no such value.
            TargetError: no table describes ``target``, or ``CHATMEND_HOSTS`` is invalid.
        """
        self._policy = policy_of(policy)
        self._target = target_of(target)
        self._mode = mode_of(mode)
        self._on_error = on_error_of(on_error)
        self._react = react_of(react)
        self._memories = MemoryStore(session_memory_of(session_memory))
        self._lessons = LessonStore(state=self._memories.state)
        self._warned: set[str] = set()
        known_hosts()  # raises now if an entry of CHATMEND_HOSTS is invalid

    def is_transcript(self, method: str, path: str, headers: Mapping[str, str]) -> bool:
        """Return whether a request may hold a transcript that can be repaired."""
        if method != "POST" or os.environ.get("CHATMEND_DISABLED") == "1":
            return False
        if endpoints.find_endpoint(path) is None:
            return False
        if headers.get("authorization", "").startswith(_SIGNED):
            self._warn("its body is signed for AWS; use chatmend.transport.repair_boto3")
            return False
        if headers.get("content-encoding"):
            self._warn("its body is compressed")
            return False
        return True

    def repair(
        self, url: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> RepairedCall | None:
        """Repair a request; None if it holds no transcript, or if chatmend fails.

        Raises:
            Exception: any failure of chatmend, with ``on_error="raise"``.
        """
        try:
            call = self._read(url, path, headers, content)
            if call is not None:
                self._repair(call)
        except Exception as error:
            if self._on_error == "raise":
                raise
            _log.warning("chatmend failed with %s; a request is sent unchanged", reason_of(error))
            return None
        return call

    def note_status(self, call: RepairedCall | None, status: int) -> None:
        """Note the status of an answer: the provider has not accepted a request that failed."""
        if call is not None and call.turn is not None and status >= _FAILED:
            self._memories.refuse(call.tenant, call.messages, call.turn)

    def may_react(self, call: RepairedCall | None, status: int) -> bool:
        """Return whether the answer must be read to decide if the request is sent again."""
        return (
            call is not None
            and status in REFUSALS
            and call.reacted < self._react
            and self._mode == "repair"
        )

    def learn(self, call: RepairedCall, status: int, text: str) -> bool:
        """Repair a request with what its refusal shows; return whether to send it again.

        Raises:
            Exception: any failure of chatmend, with ``on_error="raise"``.
        """
        try:
            reaction = react(
                call.body,
                call.target,
                f"HTTP {status}: {text}",
                policy=self._policy,
                dialect=call.dialect,
                lessons=self._lessons.of(call.tenant, call.messages),
            )
            if reaction is None or reaction.lesson is None:
                return False
            self._lessons.add(call.tenant, call.messages, reaction.lesson)
            call.reacted += 1
            self._repair(call)
        except Exception as error:
            if self._on_error == "raise":
                raise
            _log.warning("chatmend failed with %s; the refusal is returned", reason_of(error))
            return False
        _log.info(
            "chatmend repeats a request to %s: its refusal shows %s",
            call.target.name,
            reaction.lesson.limit,
        )
        return True

    def _read(
        self, url: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> RepairedCall | None:
        """Read a request; None if its body has no list of messages."""
        endpoint = endpoints.find_endpoint(path)
        if endpoint is None:
            return None
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            return None
        if not isinstance(body, dict):
            return None
        name = endpoints.target_of(endpoint, url, body.get("model"), self._target)
        target = resolve(name)
        dialect = endpoint.dialect or format_of_body(body, target.provider)
        if isinstance(dialect, Unsure) or dialect not in DIALECTS:
            return None
        if not isinstance(body.get(DIALECTS[dialect].TRAITS.messages_key), list):
            return None
        return RepairedCall(body, endpoint, target, dialect, _tenant_of(headers), body)

    def _repair(self, call: RepairedCall) -> None:
        """Replace the body and the changes of a call by those of a repair of its original."""
        started = perf_counter()
        is_sent = self._mode == "repair"
        memory = self._memories.of(call.tenant, call.messages, call.target)
        done = repair_request(
            call.original,
            call.target,
            policy=self._policy,
            dialect=call.dialect,
            lessons=self._lessons.of(call.tenant, call.messages) if self._react else (),
            memory=memory if is_sent else None,
        )
        call.changes = done.changes
        record_repair(call.target.name, done.changes, perf_counter() - started, mode=self._mode)
        if memory is not None:
            self._remember(call, memory, done.memory)
        if not is_sent:
            return
        call.body = done.body
        counts = Counter(change.code for change in done.changes if change.applied)
        if counts:
            codes = ", ".join(f"{code} x{number}" for code, number in sorted(counts.items()))
            _log.info("chatmend repaired a request to %s: %s", call.target.name, codes)

    def _remember(
        self, call: RepairedCall, before: SessionMemory, after: SessionMemory | None
    ) -> None:
        """Keep what is sent; in report mode this is the original."""
        if after is None:
            after = remember_request(
                call.original, call.target, memory=before, dialect=call.dialect
            )
        self._memories.keep(call.tenant, call.messages, after, before)
        call.turn = None if after is before else after.turns[-1]

    def _warn(self, why: str) -> None:
        """Log the first request that is not repaired for this reason."""
        if why not in self._warned:
            self._warned.add(why)
            _log.warning("chatmend does not repair a request: %s", why)


def _tenant_of(headers: Mapping[str, str]) -> str:
    """Return a digest of the API key of a request."""
    return digest_of_json([headers.get(name) for name in _TENANT_HEADERS])
