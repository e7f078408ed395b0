"""One repair of LangChain messages: the same for models, middleware and functions. A fault of ours costs no request."""

from __future__ import annotations

import logging
import os
from collections import Counter
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.changes import Effect
from chatmend.failures import reason_of
from chatmend.langchain.dialect import Dialect
from chatmend.langchain.reasoning import unsent
from chatmend.langchain.remembered import Remembered
from chatmend.langchain.shaping import shaped
from chatmend.options import known_hosts, mode_of, on_error_of, target_of
from chatmend.repair import repair
from chatmend.telemetry import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

    from chatmend.changes import Change
    from chatmend.langchain.partners import Place
    from chatmend.options import Mode, OnError
    from chatmend.policy import Policy

_log = logging.getLogger("chatmend.langchain")

REPORT = "chatmend"
"""The key of the report in an answer's ``response_metadata``."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model, a middleware or a function is to mend."""

    policy: Policy | None = None
    target: str | None = None
    """A target that the caller named; recognised from the model otherwise."""
    on_error: OnError = "pass"
    """If chatmend itself fails: ``pass`` the messages on unchanged, with a warning, or ``raise`` (for tests)."""
    mode: Mode = "repair"
    """``repair`` messages, or ``report`` what would be changed and send the original."""
    usage: bool = True
    """Correct the usage in answers."""
    remembered: Remembered = field(default_factory=Remembered, init=False, repr=False, compare=False)
    """Where the model that carries these settings sent to last."""

    def __post_init__(self) -> None:
        """Refuse values that do not exist.

        Raises:
            PolicyError: a value of ``on_error`` or ``mode`` does not exist.
            TargetError: no table describes ``target``.
        """
        target_of(self.target)
        on_error_of(self.on_error)
        known_hosts()  # what cannot be read is an error now
        mode_of(self.mode)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied without what is remembered: it holds what cannot be pickled, such as clients."""
        return Settings, (self.policy, self.target, self.on_error, self.mode, self.usage)


class Mended(NamedTuple):
    """Messages ready to send, what was done to them, and what stands beside them."""

    messages: list[BaseMessage]
    changes: tuple[Change, ...] = ()
    tools: object = None


def report(changes: Sequence[Change]) -> dict[str, Any]:
    """The report for ``response_metadata``: codes, places and reasons, no content."""
    return {"changes": [_told(change) for change in changes]}


def is_disabled() -> bool:
    """Whether ``CHATMEND_DISABLED=1`` switches everything off."""
    return os.environ.get("CHATMEND_DISABLED") == "1"


def mended(
    messages: list[BaseMessage],
    place: Place,
    settings: Settings,
    *,
    tools: object = None,
    thinking: object = None,
) -> Mended:
    """Repair messages for a place; the same list where nothing was wrong, or chatmend is switched off.

    Raises:
        Exception: whatever went wrong inside, with ``on_error="raise"``.
    """
    if is_disabled():
        return Mended(messages, (), tools)
    return switched_on(messages, place, settings, tools=tools, thinking=thinking)


def switched_on(
    messages: list[BaseMessage],
    place: Place,
    settings: Settings,
    *,
    tools: object = None,
    thinking: object = None,
) -> Mended:
    """The same for who has asked already whether chatmend is switched off."""
    made = as_it_was = Mended(messages, (), tools)
    started = perf_counter()
    try:
        allow = settings.policy.allow if settings.policy is not None else Effect.DROPS
        kept, first = shaped(messages, place.carries, allow, place.target.limits.max_cache_markers)
        dialect = Dialect(chat_messages=place.chat_messages)
        done = repair(kept, place.target, tools=tools, thinking=thinking, policy=settings.policy, dialect=dialect)
        changes = done.changes if place.carries.reasoning else unsent(done.changes)
        made = Mended(done.messages, (*first, *changes), done.tools)
    except Exception as error:
        if settings.on_error == "raise":
            raise
        warn(error)
        return as_it_was
    tell(place.target.name, made.changes, perf_counter() - started, mode=settings.mode)
    if made.changes:
        _note(made.changes)
    return as_it_was._replace(changes=made.changes) if settings.mode == "report" else made


def warn(error: Exception) -> None:
    """Warn that chatmend failed, with the reason."""
    _log.warning("chatmend failed with %s; the messages are sent unchanged", reason_of(error))


def _note(changes: Sequence[Change]) -> None:
    counts = Counter(change.code for change in changes if change.applied)
    if counts:
        _log.info("chatmend repaired: %s", ", ".join(f"{code} x{n}" for code, n in sorted(counts.items())))


def _told(change: Change) -> dict[str, Any]:
    return {
        "code": change.code,
        "rule": change.rule,
        "effect": change.effect.name.lower(),
        "index": change.index,
        "why": change.why,
        "applied": change.applied,
    }
