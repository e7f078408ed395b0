"""The repair that models, middleware, nodes and functions share.

If chatmend itself fails, the request is sent with the original messages.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from functools import lru_cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import AIMessage, RemoveMessage

from chatmend.changes import Change, Effect
from chatmend.dialects.openai_responses import NAME as RESPONSES
from chatmend.failures import guard_memory, reason_of
from chatmend.langchain.call_facts import facts_of
from chatmend.langchain.dialect import LangChainDialect
from chatmend.langchain.message_fields import metadata_of
from chatmend.langchain.payloads import RepairedMessages, mark_unsent, verify
from chatmend.langchain.reports import REPORT, index_of_last_answer, report
from chatmend.options import is_disabled
from chatmend.repair import repair, repair_request, source_indexes
from chatmend.rules import Request, missing_reasoning, unknown_role
from chatmend.telemetry import record_repair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

    from chatmend.langchain.call_facts import CallFacts
    from chatmend.langchain.partners import Destination
    from chatmend.langchain.settings import RepairSettings
    from chatmend.options import Mode
    from chatmend.repair import Repaired
    from chatmend.session_memory import SentTurn, SessionMemory

_log = logging.getLogger("chatmend.langchain")
_REASONING = missing_reasoning.RULE.code
_MAX_RUNS = 4
"""How often messages are repaired at most until only the thinking counts that is sent."""


class RepairResult(NamedTuple):
    """Messages that are ready to send, the changes, and the parameters to send with them."""

    messages: list[BaseMessage]
    changes: tuple[Change, ...] = ()
    tools: object = None
    thinking: object = None
    turn: SentTurn | None = None
    """This request in the memory of its conversation, if it is kept."""


def repair_for_destination(
    messages: list[BaseMessage],
    facts: CallFacts,
    settings: RepairSettings,
    *,
    find_sent: Callable[[Repaired], dict[int, bool]] | None = None,
) -> RepairResult:
    """Repair messages for a destination; return the same list if nothing changes.

    The caller has checked ``is_disabled()``. ``find_sent``: returns which stored thinking of a
    repaired request the class sends; only that counts.

    Raises:
        Exception: any failure of chatmend, with ``on_error="raise"``.
    """
    destination = facts.destination
    result = unchanged = RepairResult(messages, (), facts.tools, facts.thinking)
    started = perf_counter()
    try:
        if facts.kind is not None and find_sent is None:
            is_clean, dialect = facts.kind.look_up(messages)
            if is_clean:
                _record((), destination, settings, started)
                return unchanged
        else:
            dialect = LangChainDialect(chat_messages=destination.chat_messages)
        memory = settings.memories.of("", messages, destination.target)
        sendable, removed = without_instructions(messages)
        is_sent = settings.mode == "repair"
        run = partial(
            repair,
            sendable,
            destination.target,
            tools=facts.tools,
            thinking=facts.thinking,
            cache_control=facts.cache_control,
            policy=settings.policy,
            continues=facts.continues,
            lessons=settings.lessons.of("", messages) if settings.react else (),
            memory=memory if is_sent else None,
        )
        repaired, dialect = _run_as_sent(run, dialect, find_sent)
        changes = (
            repaired.changes
            if destination.converter.reasoning
            else mark_unsent(repaired.changes, lambda change: change.code == _REASONING)
        )
        result = RepairResult(
            repaired.messages, (*removed, *changes), repaired.tools, repaired.thinking
        )
    except Exception as error:
        if settings.on_error == "raise":
            raise
        warn_of_failure(error)
        return unchanged
    if memory is not None:
        with guard_memory(settings.on_error, _log):
            after = repaired.memory
            if not is_sent:
                request = Request(sendable, tools=facts.tools)
                after = _remember(request, destination, memory, dialect, messages)
            settings.memories.keep("", messages, after, memory)
            if after is not None and after is not memory:
                result = result._replace(turn=after.turns[-1])
    _record(result.changes, destination, settings, started)
    if settings.mode == "report":
        return unchanged._replace(changes=result.changes, turn=result.turn)
    return result


def _remember(
    request: Request,
    destination: Destination,
    memory: SessionMemory,
    dialect: LangChainDialect,
    sent: list[BaseMessage],
) -> SessionMemory:
    from chatmend.remembering import remember  # noqa: PLC0415 - only with a memory

    return remember(request, destination.target, memory=memory, dialect=dialect, sent=sent)


def _run_as_sent(
    run: Callable[..., Repaired],
    dialect: LangChainDialect,
    find_sent: Callable[[Repaired], dict[int, bool]] | None,
) -> tuple[Repaired, LangChainDialect]:
    """Run a repair until it counts only the thinking that is sent; also return the dialect.

    What is sent depends on the repaired messages.
    """
    repaired = run(dialect=dialect)
    if find_sent is None:
        return repaired, dialect
    for _ in range(_MAX_RUNS - 1):
        found = find_sent(repaired)
        sent = {block for block, is_sent in found.items() if is_sent}
        if (now := (dialect.unsent | found.keys()) - sent) == dialect.unsent:
            break
        dialect = LangChainDialect(chat_messages=dialect.chat_messages, unsent=now)
        repaired = run(dialect=dialect)
    return repaired, dialect


def item_repair(
    messages: list[BaseMessage],
    destination: Destination,
    settings: RepairSettings,
    changes: Iterable[Change],
) -> Callable[[RepairedMessages, Any, Any], Any]:
    """Return what repairs the items of a payload, for a converter that sends items.

    ``messages`` are those of the caller, and ``changes`` what was changed or found in them.
    """
    lessons = settings.lessons.of("", messages) if settings.react else ()
    made = () if settings.mode == "report" else changes
    # A message that was repaired may hold an item that is repaired, too.
    known = {(change.code, change.index) for change in changes if not (made and change.applied)}

    def repair_items(sent: RepairedMessages, payload: Any, convert: Any) -> Any:
        if not isinstance(payload, dict) or not isinstance(payload.get("input"), list):
            return payload
        started = perf_counter()
        try:
            done = repair_request(
                payload, destination.target, policy=settings.policy, lessons=lessons,
                dialect=RESPONSES,
            )  # fmt: skip
            if not done.changes:
                return payload
            sources = source_indexes(len(messages), made)
            found = sent.positioned(done.changes, len(payload["input"]), convert, sources)
        except Exception as error:
            if settings.on_error == "raise":
                raise
            warn_of_failure(error)
            return payload
        sent.item_changes = tuple(one for one in found if (one.code, one.index) not in known)
        _record(sent.item_changes, destination, settings, started)
        return payload if settings.mode == "report" else done.body

    return repair_items


def _record(
    changes: tuple[Change, ...], destination: Destination, settings: RepairSettings, started: float
) -> None:
    name, elapsed = destination.target.name, perf_counter() - started
    record_repair(name, changes, elapsed, mode=settings.mode)
    if changes:
        _log_repairs(changes, settings.mode)


def repair_before_model(  # noqa: PLR0913 - what a model knows by itself
    messages: list[BaseMessage],
    destination: Destination,
    settings: RepairSettings,
    *,
    tools: object = None,
    thinking: object = None,
    model: BaseChatModel | None = None,
    is_marked: bool = True,
) -> list[BaseMessage]:
    """Repair messages for a call that another part of the program makes.

    Args:
        messages: the messages of the request.
        destination: where they are sent.
        settings: the options.
        tools: the tools that the request declares; ``[]`` means none; None: unknown. A history
            with calls is converted to text if the provider refuses it without declared tools.
        thinking: the parameter that enables thinking; it cannot be changed here.
        model: the model that will be called, if it is known; it shows what is sent.
        is_marked: whether the last message holds the report, unless it is an answer itself.
    """
    if is_disabled():
        return messages
    if tools == [] and destination.target.limits.tools_declared:
        tools, destination = None, _without_tools(destination)
    facts = facts_of(destination, settings, tools=tools, thinking=thinking)
    done = repair_for_destination(messages, facts, settings)
    changes = mark_unsent(done.changes, lambda change: change.where != "messages")
    if settings.mode == "repair" and model is not None:
        changes = verify(changes, RepairedMessages.of(done.messages), destination, model)
    first_new, is_applied = index_of_last_answer(messages), settings.mode == "repair"
    shown = (
        report(changes, settings.report, first_new, is_applied=is_applied) if is_marked else None
    )
    if shown is None or isinstance(done.messages[-1], AIMessage):
        return done.messages
    last = done.messages[-1]
    metadata = {**metadata_of(last), REPORT: shown}
    return [*done.messages[:-1], last.model_copy(update={"response_metadata": metadata})]


@lru_cache(maxsize=64)
def _without_tools(destination: Destination) -> Destination:
    limits = replace(destination.target.limits, tools_taken=False)
    return replace(destination, target=replace(destination.target, limits=limits))


def without_instructions(
    messages: list[BaseMessage],
) -> tuple[list[BaseMessage], tuple[Change, ...]]:
    """Return the messages without those that instruct a reducer, and the change."""
    if not any(issubclass(cls, RemoveMessage) for cls in set(map(type, messages))):
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
    from chatmend.reaction import react  # noqa: PLC0415 - only after a refusal

    dialect = LangChainDialect(chat_messages=destination.chat_messages)
    bodies: list[tuple[Any, Any]] = [({"messages": list(sent)}, dialect)]
    if destination.converter.item_ids and isinstance(sent, RepairedMessages) and sent.payloads:
        bodies.append((sent.payloads[-1], RESPONSES))
    lessons = settings.lessons.of("", messages)
    try:
        reactions = [
            react(
                body, destination.target, error, policy=settings.policy, lessons=lessons,
                dialect=form,
            )
            for body, form in bodies
        ]  # fmt: skip
    except Exception as failure:
        if settings.on_error == "raise":
            raise
        warn_of_failure(failure)
        return False
    lesson = next((one.lesson for one in reactions if one and one.lesson), None)
    if lesson is None:
        return False
    settings.lessons.add("", messages, lesson)
    target = destination.target.name
    _log.info("chatmend repeats a request to %s: its refusal shows %s", target, lesson.limit)
    return True


def warn_of_failure(error: Exception) -> None:
    """Log that chatmend failed, with the reason."""
    _log.warning("chatmend failed with %s; the messages are sent unchanged", reason_of(error))


def _log_repairs(changes: Sequence[Change], mode: Mode) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    counts = Counter(change.code for change in changes if change.applied)
    if counts:
        done = "chatmend repaired" if mode == "repair" else "chatmend would repair"
        _log.info("%s: %s", done, ", ".join(f"{code} x{n}" for code, n in sorted(counts.items())))
