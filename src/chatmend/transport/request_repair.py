"""Repairs the body of one HTTP request, and again after a refusal. It sends nothing itself."""

from __future__ import annotations

import json
import logging
from collections import Counter
from time import perf_counter
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

from chatmend.dialects import DIALECTS, Unsure, format_of_body
from chatmend.failures import guard_memory, reason_of
from chatmend.lesson_store import LessonStore
from chatmend.memory_store import MemoryStore
from chatmend.options import (
    is_disabled,
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
from chatmend.targets import resolve_for
from chatmend.telemetry import record_repair
from chatmend.transport import endpoints
from chatmend.transport.calls import SIGNED, PassedCall, RepairedCall
from chatmend.transport.json_bodies import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.options import Mode, OnError, SessionMemoryMode
    from chatmend.policy import Policy
    from chatmend.repair import RepairedRequest
    from chatmend.session_memory import SessionMemory
    from chatmend.shared_state import SessionMemories

_log = logging.getLogger("chatmend.transport")

BETA_HEADER = "anthropic-beta"
HEAVY = 64_000
"""Asynchronous clients repair longer bodies, in bytes, in a thread and not on the event loop."""
REFUSALS = frozenset({400, 404, 413, 422})
"""The statuses of answers that are read to find out whether a repair helps."""
_FAILED = 400
_MOST_LOGGED = 1_000
"""Hosts and reasons that are logged. The number is limited, because a proxy may have many hosts."""


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

    is_signed_later = False
    """Whether requests get their signature for AWS after the repair, also those that have one."""

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
        self._logged: set[tuple[str, str]] = set()
        known_hosts()  # raises now if an entry of CHATMEND_HOSTS is invalid

    def is_transcript(self, method: str, path: str) -> bool:
        """Return whether a request may hold a transcript; all others are sent unread."""
        if method != "POST" or is_disabled():
            return False
        return endpoints.find_endpoint(path) is not None

    def pass_unread(self, url: str, headers: Mapping[str, str]) -> PassedCall | None:
        """Return a call that is sent unread, because its body cannot be changed; None otherwise."""
        if not self.is_signed_later and headers.get("authorization", "").startswith(SIGNED):
            why = "its body is signed for AWS; use chatmend.transport.repair_boto3"
            return self._pass(url, why)
        if headers.get("content-encoding"):
            return self._pass(url, "its body is compressed")
        return None

    def repair(
        self, url: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> RepairedCall | PassedCall:
        """Repair a request, or pass it if it holds no transcript or if chatmend fails.

        Raises:
            Exception: any failure of chatmend, with ``on_error="raise"``.
        """
        try:
            call = self._read(url, path, headers, content)
            if isinstance(call, RepairedCall):
                self._repair(call)
        except Exception as error:
            if self._on_error == "raise":
                raise
            reason = reason_of(error)
            _log.warning("chatmend failed with %s; a request is sent unchanged", reason)
            return PassedCall(f"chatmend failed with {reason}")
        return call

    def note_status(self, call: RepairedCall, status: int) -> None:
        """Note the status of an answer: the provider has not accepted a request that failed."""
        if call.turn is not None and status >= _FAILED:
            with guard_memory(self._on_error, _log):
                self._memories.refuse(call.tenant, call.messages, call.turn)

    def may_react(self, call: RepairedCall, status: int) -> bool:
        """Return whether the answer must be read to decide if the request is sent again."""
        return status in REFUSALS and call.reacted < self._react and self._mode == "repair"

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
    ) -> RepairedCall | PassedCall:
        """Read a request, or pass it if its body has no list of messages in a known format."""
        endpoint = endpoints.find_endpoint(path)
        try:
            body = read_json(content)
        except (ValueError, RecursionError):
            body = None
        if endpoint is None or not isinstance(body, dict):
            return self._pass(url, "its body is not a JSON object")
        name = endpoints.target_of(endpoint, url, body.get("model"), self._target)
        target = resolve_for(name, body)
        dialect = endpoint.dialect or format_of_body(body, target.provider)
        if isinstance(dialect, Unsure) or dialect not in DIALECTS:
            why = dialect.why if isinstance(dialect, Unsure) else "no key that holds messages"
            return self._pass(url, f"its wire format is unknown: {why}")
        key = DIALECTS[dialect].TRAITS.messages_key
        if isinstance(body.get(key), list):
            return RepairedCall(content, headers, body, endpoint, target, dialect, body)
        if isinstance(body.get(key), str):  # a whole request of the Responses API
            return PassedCall(f"its {key!r} is a text, not a list of messages")
        return self._pass(url, f"its body has no list under {key!r}")

    def _repair(self, call: RepairedCall) -> None:
        """Replace the body and the changes of a call by those of a repair of its original."""
        started = perf_counter()
        is_sent = self._mode == "repair"
        memory = (
            self._memories.of(call.tenant, call.messages, call.target)
            if self._memories.is_needed(call.target)
            else None
        )
        done = self._repaired(call, memory if is_sent else None)
        if done.body is not call.original and not call.has_exact_numbers:
            call.original = call.body = json.loads(call.raw)
            done = self._repaired(call, memory if is_sent else None)
        call.changes = done.changes
        record_repair(call.target.name, done.changes, perf_counter() - started, mode=self._mode)
        if memory is not None:
            self._remember(call, memory, done.memory)
        if not is_sent:
            return
        call.body = done.body
        if done.changes:
            self._log_changes(call)

    def _repaired(self, call: RepairedCall, memory: SessionMemory | None) -> RepairedRequest:
        return repair_request(
            call.original,
            call.target,
            policy=self._policy,
            dialect=call.dialect,
            lessons=self._lessons.of(call.tenant, call.messages) if self._react else (),
            memory=memory,
        )

    def _log_changes(self, call: RepairedCall) -> None:
        counts = Counter(change.code for change in call.changes if change.applied)
        if counts:
            codes = ", ".join(f"{code} x{number}" for code, number in sorted(counts.items()))
            _log.info("chatmend repaired a request to %s: %s", call.target.name, codes)

    def _remember(
        self, call: RepairedCall, before: SessionMemory, after: SessionMemory | None
    ) -> None:
        """Keep what is sent; in report mode this is the original."""
        with guard_memory(self._on_error, _log):
            if after is None:
                after = remember_request(
                    call.original, call.target, memory=before, dialect=call.dialect
                )
            self._memories.keep(call.tenant, call.messages, after, before)
            call.turn = None if after is before else after.turns[-1]

    def _pass(self, url: str, why: str) -> PassedCall:
        """Pass a request; log the first one of each host for this reason."""
        host = urlsplit(url).netloc.rpartition("@")[2]
        if (host, why) not in self._logged and len(self._logged) < _MOST_LOGGED:
            self._logged.add((host, why))
            _log.warning("chatmend does not repair a request to %s: %s", host, why)
        return PassedCall(why)
