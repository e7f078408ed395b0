"""The repair that models, middleware, nodes and functions share.

If chatmend itself fails, the request is sent with the original messages.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections import Counter
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    RemoveMessage,
    messages_from_dict,
    messages_to_dict,
)

from chatmend.changes import Change, Effect
from chatmend.failures import reason_of
from chatmend.langchain.destination_cache import DestinationCache
from chatmend.langchain.dialect import LangChainDialect
from chatmend.langchain.reasoning import mark_reasoning_unsent
from chatmend.lesson_store import LessonStore
from chatmend.memory_store import MemoryStore
from chatmend.options import (
    known_hosts,
    mode_of,
    on_error_of,
    react_of,
    report_of,
    session_memory_of,
    target_of,
)
from chatmend.policy import Policy
from chatmend.reaction import react
from chatmend.remembering import remember
from chatmend.repair import repair
from chatmend.rules import Request, unknown_role
from chatmend.telemetry import record_repair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

    from chatmend.langchain.partners import Destination
    from chatmend.options import Mode, OnError, ReportMode, SessionMemoryMode
    from chatmend.session_memory import SentTurn
    from chatmend.shared_state import SessionMemories

_log = logging.getLogger("chatmend.langchain")

REPORT = "chatmend"
"""The key of the report in the ``response_metadata`` of an answer."""
_STORED = "langchain_message"
"""The key of a message in a stored memory."""


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """Options of a model, a middleware, a node or a function."""

    policy: Policy | None = None
    target: str | None = None
    """The target that the caller named; None to recognise it from the model."""
    on_error: OnError = "pass"
    """What to do if chatmend itself fails.

    ``pass`` sends the original messages, with a warning; ``raise`` raises the exception (for
    tests).
    """
    mode: Mode = "repair"
    """``repair`` the messages, or ``report`` what would change and send the original messages."""
    usage: bool = True
    """Whether to correct the usage in answers."""
    react: int = 0
    """How many more attempts follow a refusal of the messages: 0, 1 or 2."""
    session_memory: SessionMemoryMode | SessionMemories = "bound"
    """For which requests to keep what was sent in a conversation, and in which store."""
    report: ReportMode = "new"
    """Which changes the report of an answer lists."""
    lessons: LessonStore = field(init=False, repr=False, compare=False)
    """What the refusals of each conversation have shown."""
    memories: MemoryStore = field(init=False, repr=False, compare=False)
    """What was sent in each conversation."""
    destinations: DestinationCache = field(
        default_factory=DestinationCache, init=False, repr=False, compare=False
    )
    """The destination of the last call of the model that has these settings."""

    def __post_init__(self) -> None:
        """Validate the settings.

        Raises:
            PolicyError: a value of ``on_error``, ``mode``, ``react``, ``session_memory`` or
                ``report`` does not exist.
            TargetError: no table describes ``target``.
        """
        target_of(self.target)
        on_error_of(self.on_error)
        known_hosts()  # raises now if an entry of CHATMEND_HOSTS is invalid
        mode_of(self.mode)
        react_of(self.react)
        report_of(self.report)
        mode = session_memory_of(self.session_memory)
        memories = MemoryStore(mode, default=_dump_message, object_hook=_load_message)
        object.__setattr__(self, "memories", memories)
        object.__setattr__(self, "lessons", LessonStore(state=memories.state))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the settings without the cache, which may hold clients, and stores."""
        given = (self.policy, self.target, self.on_error, self.mode, self.usage, self.react)
        return RepairSettings, (*given, self.session_memory, self.report)

    @property
    def fingerprint(self) -> str:
        """What the messages that are sent depend on, apart from the model and the messages."""
        policy = self.policy if self.policy is not None else Policy()
        text = f"{self.target} {self.mode} {policy}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


class RepairResult(NamedTuple):
    """Messages that are ready to send, the changes, and the parameters to send with them."""

    messages: list[BaseMessage]
    changes: tuple[Change, ...] = ()
    tools: object = None
    thinking: object = None
    turn: SentTurn | None = None
    """This request in the memory of its conversation, if it is kept."""


def _dump_message(message: Any) -> dict[str, Any]:
    """Return a message of LangChain as a dict for JSON, with which a memory is stored."""
    return {_STORED: messages_to_dict([message])[0]}


def _load_message(value: dict[str, Any]) -> Any:
    return messages_from_dict([value[_STORED]])[0] if value.keys() == {_STORED} else value


def report(
    changes: Sequence[Change], mode: ReportMode = "all", first_new: int = 0
) -> dict[str, Any] | None:
    """Return the report for ``response_metadata``: codes, positions and reasons, but no content.

    Args:
        changes: the changes of a request.
        mode: which of them to list.
        first_new: the index of the first message that counts as new. Earlier changes are repeated
            at every turn; a report that lists them all would grow with the conversation.
    """
    if mode == "off" or not changes:
        return None
    if mode == "counts":
        return {"counts": dict(sorted(Counter(change.code for change in changes).items()))}
    new = [
        change
        for change in changes
        if mode == "all" or change.index is None or change.index >= first_new
    ]
    earlier = {"earlier": len(changes) - len(new)} if len(new) < len(changes) else {}
    return {"changes": [_change_as_dict(change) for change in new], **earlier}


def index_of_last_answer(messages: Sequence[BaseMessage]) -> int:
    """Return the index of the last message of the assistant; 0 if there is none."""
    last = len(messages) - 1
    return next((at for at in range(last, -1, -1) if isinstance(messages[at], AIMessage)), 0)


def is_disabled() -> bool:
    """Return whether ``CHATMEND_DISABLED=1`` disables all repairs."""
    return os.environ.get("CHATMEND_DISABLED") == "1"


def repair_unless_disabled(
    messages: list[BaseMessage],
    destination: Destination,
    settings: RepairSettings,
    *,
    tools: object = None,
    thinking: object = None,
) -> RepairResult:
    """Repair messages for a destination; return the same list if nothing changes.

    The messages are also returned unchanged if ``is_disabled()``.

    Raises:
        Exception: any failure of chatmend, with ``on_error="raise"``.
    """
    if is_disabled():
        return RepairResult(messages, (), tools, thinking)
    return repair_for_destination(messages, destination, settings, tools=tools, thinking=thinking)


def repair_for_destination(
    messages: list[BaseMessage],
    destination: Destination,
    settings: RepairSettings,
    *,
    tools: object = None,
    thinking: object = None,
) -> RepairResult:
    """Repair messages without checking ``is_disabled()``; see ``repair_unless_disabled``."""
    result = unchanged = RepairResult(messages, (), tools, thinking)
    started = perf_counter()
    try:
        sendable, removed = without_instructions(messages)
        dialect = LangChainDialect(chat_messages=destination.chat_messages)
        is_sent = settings.mode == "repair"
        memory = settings.memories.of("", messages, destination.target)
        repaired = repair(
            sendable,
            destination.target,
            tools=tools,
            thinking=thinking,
            policy=settings.policy,
            dialect=dialect,
            lessons=settings.lessons.of("", messages) if settings.react else (),
            memory=memory if is_sent else None,
        )
        after = repaired.memory
        if memory is not None and not is_sent:
            request = Request(sendable, tools=tools)
            after = remember(
                request, destination.target, memory=memory, dialect=dialect, sent=messages
            )
        settings.memories.keep("", messages, after, memory)
        turn = None if after is None or after is memory else after.turns[-1]
        changes = (
            repaired.changes
            if destination.converter.reasoning
            else mark_reasoning_unsent(repaired.changes)
        )
        result = RepairResult(
            repaired.messages, (*removed, *changes), repaired.tools, repaired.thinking, turn
        )
    except Exception as error:
        if settings.on_error == "raise":
            raise
        warn_of_failure(error)
        return unchanged
    record_repair(
        destination.target.name, result.changes, perf_counter() - started, mode=settings.mode
    )
    if result.changes:
        _log_repairs(result.changes)
    if settings.mode == "report":
        return unchanged._replace(changes=result.changes, turn=result.turn)
    return result


def without_instructions(
    messages: list[BaseMessage],
) -> tuple[list[BaseMessage], tuple[Change, ...]]:
    """Return the messages without those that instruct a reducer, and the change."""
    if not any(isinstance(message, RemoveMessage) for message in messages):
        return messages, ()
    kept = [message for message in messages if not isinstance(message, RemoveMessage)]
    first = next(at for at, message in enumerate(messages) if isinstance(message, RemoveMessage))
    why = "an instruction for a reducer is not a message"
    rule = unknown_role.RULE
    # The change precedes all windows, so its position is before the first one.
    change = Change(
        rule.code, rule.name, Effect.RESHAPES, first, why, tuple(messages), tuple(kept), None, -1
    )
    return kept, (change,)


def learn(
    messages: Sequence[BaseMessage],
    sent: Sequence[BaseMessage],
    destination: Destination,
    settings: RepairSettings,
    error: Exception,
) -> bool:
    """Keep what a refusal shows for the conversation; return whether there is something new.

    ``messages`` are those of the caller, and ``sent`` the same after the repair.

    Raises:
        Exception: any failure of chatmend, with ``on_error="raise"``.
    """
    if settings.mode == "report":
        return False
    try:
        reaction = react(
            {"messages": list(sent)},
            destination.target,
            error,
            policy=settings.policy,
            lessons=settings.lessons.of("", messages),
            dialect=LangChainDialect(chat_messages=destination.chat_messages),
        )
    except Exception as failure:
        if settings.on_error == "raise":
            raise
        warn_of_failure(failure)
        return False
    if reaction is None or reaction.lesson is None:
        return False
    settings.lessons.add("", messages, reaction.lesson)
    _log.info(
        "chatmend repeats a request to %s: its refusal shows %s",
        destination.target.name,
        reaction.lesson.limit,
    )
    return True


def warn_of_failure(error: Exception) -> None:
    """Log that chatmend failed, with the reason."""
    _log.warning("chatmend failed with %s; the messages are sent unchanged", reason_of(error))


def _log_repairs(changes: Sequence[Change]) -> None:
    counts = Counter(change.code for change in changes if change.applied)
    if counts:
        _log.info(
            "chatmend repaired: %s", ", ".join(f"{code} x{n}" for code, n in sorted(counts.items()))
        )


def _change_as_dict(change: Change) -> dict[str, Any]:
    return {
        "code": change.code,
        "rule": change.rule,
        "effect": change.effect.name.lower(),
        "index": change.index,
        "why": change.why,
        "applied": change.applied,
    }
