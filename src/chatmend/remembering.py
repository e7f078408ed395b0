"""Adds requests that are sent without a repair to the memory of their conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.continuation import Continuation
from chatmend.dialects import DIALECTS, Dialect, Traits, Unsure, format_of_body
from chatmend.objects import PlainMessages
from chatmend.policy import Policy
from chatmend.repair import read_body
from chatmend.targets import Target, resolve_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.lessons import Lesson
    from chatmend.rules import Request
    from chatmend.session_memory import SessionMemory


def remember_request(
    body: dict[str, Any],
    target: str | Target,
    *,
    memory: SessionMemory,
    lessons: Iterable[Lesson] = (),
    dialect: str | Dialect | None = None,
) -> SessionMemory:
    """Return the memory of a conversation after a request that is sent without a repair.

    Later repairs then keep what the provider has accepted in this form. The arguments are those
    of ``repair_request``. A body without a list of messages, or of an unknown wire format, leaves
    the memory unchanged.

    Raises:
        TargetError: the provider or model of ``target`` is unknown.
    """
    resolved = resolve_for(target, body)
    found = dialect or format_of_body(body, resolved.provider)
    traits = DIALECTS[found].TRAITS if found in DIALECTS else Traits()
    if isinstance(found, Unsure) or not isinstance(body.get(traits.messages_key), list):
        return memory
    request = read_body(body, traits)
    return remember(request, resolved, memory=memory, lessons=lessons, dialect=found)


def remember(  # noqa: PLR0913 - request parameters affect the memory
    request: Request,
    target: Target,
    *,
    memory: SessionMemory,
    lessons: Iterable[Lesson] = (),
    dialect: str | Dialect | None = None,
    sent: list[Any] | None = None,
) -> SessionMemory:
    """Do the same as ``remember_request`` for messages and the parameters next to them.

    ``sent`` are the messages that are sent, if these are not those of the request.
    """
    plain = PlainMessages(request.messages)
    found = DIALECTS[dialect] if isinstance(dialect, str) else dialect
    chosen = found or plain.recognise(target.provider)
    if isinstance(chosen, Unsure):
        return memory
    continuation = Continuation(
        memory, target.name, tuple(lessons), chosen, Policy(), is_bound=False
    )
    given = replace(request, messages=plain.messages)
    return continuation.record(given, given if sent is None else replace(given, messages=sent))
