"""Repairs a transcript for a framework, with the options of all adapters."""

from __future__ import annotations

import logging
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypedDict

from chatmend.failures import reason_of
from chatmend.options import is_disabled, known_hosts, mode_of, on_error_of, policy_of, target_of
from chatmend.repair import Repaired, repair
from chatmend.report import summary
from chatmend.targets.addresses import target_at_address
from chatmend.telemetry import record_repair

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.changes import Change
    from chatmend.options import Mode, OnError
    from chatmend.policy import Policy

_log = logging.getLogger("chatmend.integrations")


class IntegrationOptions(TypedDict, total=False):
    """The options of the adapters in this package."""

    policy: Policy | str | None
    target: str | None
    mode: Mode
    on_error: OnError
    on_changes: Callable[[tuple[Change, ...]], object] | None


class TranscriptRepair:
    """Repairs transcripts with the same options."""

    def __init__(
        self,
        *,
        policy: Policy | str | None = None,
        target: str | None = None,
        mode: Mode = "repair",
        on_error: OnError = "pass",
        on_changes: Callable[[tuple[Change, ...]], object] | None = None,
    ) -> None:
        """Check the options.

        Args:
            policy: a policy, or the name of a predefined one.
            target: ``provider/model``; by default that of the framework's model.
            mode: ``"repair"``, or ``"report"`` to send the original and only report.
            on_error: if chatmend itself fails, ``"pass"`` sends the original with a warning, and
                ``"raise"`` raises the exception (for tests).
            on_changes: a function that gets the changes of each transcript that has some.

        Raises:
            PolicyError: an option has no such value.
            TargetError: no table describes ``target``, or ``CHATMEND_HOSTS`` is invalid.
        """
        self._policy = policy_of(policy)
        self._target = target_of(target)
        self._mode = mode_of(mode)
        self._on_error = on_error_of(on_error)
        self._on_changes = on_changes
        known_hosts()  # raises now if an entry of CHATMEND_HOSTS is invalid

    def repair(
        self,
        messages: list[Any],
        model: str,
        address: str | None,
        **parameters: Any,
    ) -> Repaired:
        """Repair messages; in report mode, or if chatmend fails, the messages are the original.

        Args:
            messages: a list of messages in a wire format.
            model: the framework's model, as ``provider/model``.
            address: the base URL of the model; None for the provider's own.
            parameters: request parameters, as in ``chatmend.repair``.

        Raises:
            Exception: any failure of chatmend, with ``on_error="raise"``.
        """
        if is_disabled():
            return Repaired(messages)
        started = perf_counter()
        try:
            target = self._target or target_at_address(model, address, known_hosts())
            done = repair(messages, target, policy=self._policy, **parameters)
            record_repair(target, done.changes, perf_counter() - started, mode=self._mode)
            if done.changes:
                _log.info("chatmend: %s, for %s", summary(done.changes), target)
                if self._on_changes is not None:
                    self._on_changes(done.changes)
        except Exception as error:
            if self._on_error == "raise":
                raise
            reason = reason_of(error)
            _log.warning("chatmend failed with %s; a request is sent unchanged", reason)
            return Repaired(messages)
        return done if self._mode == "repair" else Repaired(messages)
