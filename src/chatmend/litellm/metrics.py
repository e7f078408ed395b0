"""Prometheus series next to LiteLLM's own, on the ``/metrics`` of the proxy.

They exist if LiteLLM's callback ``prometheus`` is enabled. Labels have few values: codes of rules,
effects, outcomes, and targets, of which the first 200 are kept apart.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import litellm

from chatmend.telemetry import MAX_TARGETS, saved_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change
    from chatmend.litellm.attempt import Attempt

_LITELLM_MODULE = "litellm.integrations.prometheus"
"""The module of LiteLLM's callback, whose class serves ``/metrics``."""
_CALLBACK = "prometheus"
"""The name of the callback in LiteLLM's settings."""
_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5)
"""Upper bounds of the durations, in seconds."""
OUTCOMES = ("clean", "repaired", "reported", "off", "refused", "failed")
"""The values of the label ``outcome``; a refused request is counted under another one, too."""
_LABELS = ("code", "effect", "target")


def record(attempt: Attempt, *, is_first_pass: bool = True) -> None:
    """Count one attempt. The second pass of a bridged call is not a further request."""
    # A failing counter must not fail the request. `suppress` would take as long as the counting.
    try:
        if (series := _series()) is not None:
            series.record(attempt, is_first_pass=is_first_pass)
    except Exception:  # noqa: BLE001, S110
        pass


def record_outcome(outcome: str) -> None:
    """Count a request by an outcome that is not known from its attempt."""
    try:
        if (series := _series()) is not None:
            series.requests(outcome)
    except Exception:  # noqa: BLE001, S110
        pass


def outcome_of(attempt: Attempt) -> str:
    """Return ``repaired``, ``reported``, ``clean`` or ``off``."""
    if attempt.mode == "off":
        return "off"
    if attempt.mode == "report":
        return "reported" if attempt.changes else "clean"
    return "repaired" if any(change.applied for change in attempt.changes) else "clean"


def _series() -> _Series | None:
    return _make_series() if _is_callback_enabled() else None


def _is_callback_enabled() -> bool:
    """Whether LiteLLM's callback is in one of its lists, by its name or as an object.

    The proxy also loads the module of the callback if it is not enabled.
    """
    if (module := sys.modules.get(_LITELLM_MODULE)) is None:
        return False
    kind = module.PrometheusLogger
    enabled = (*litellm.callbacks, *litellm.success_callback, *litellm.failure_callback)
    return any(callback == _CALLBACK or isinstance(callback, kind) for callback in enabled)


@cache
def _make_series() -> _Series | None:
    try:
        return _Series()
    except Exception:  # noqa: BLE001 - not installed, or another library has taken the names
        return None


class _Series:
    """The series, created once, in the registry of the process."""

    def __init__(self) -> None:
        client = import_module("prometheus_client")
        self._requests = client.Counter(
            "chatmend_requests_total",
            "Requests with a transcript, by outcome.",
            ["outcome"],
        )
        self._changes = client.Counter(
            "chatmend_changes_total", "Changes that were made to requests.", _LABELS
        )
        self._findings = client.Counter(
            "chatmend_findings_total", "Changes that report mode proposed.", _LABELS
        )
        self._saved = client.Counter(
            "chatmend_image_bytes_saved_total", "Image bytes saved by recompression."
        )
        self._seconds = client.Histogram(
            "chatmend_repair_seconds", "Duration of repairs.", buckets=_BUCKETS
        )
        self._targets: set[str] = set()
        # Created now, so that a dashboard shows 0 for what has not happened.
        self._outcomes = {outcome: self._requests.labels(outcome) for outcome in OUTCOMES}

    def requests(self, outcome: str) -> None:
        self._outcomes[outcome].inc()

    def record(self, attempt: Attempt, *, is_first_pass: bool) -> None:
        if is_first_pass:
            self.requests(outcome_of(attempt))
        if attempt.mode == "off":
            return
        self._seconds.observe(attempt.seconds)
        if attempt.changes:
            self._record_changes(attempt)

    def _record_changes(self, attempt: Attempt) -> None:
        is_report = attempt.mode == "report"
        counted = [one for one in attempt.changes if is_report or one.applied]
        series = self._findings if is_report else self._changes
        target = self._known_target(attempt.target)
        for (code, effect), number in _counts(counted).items():
            series.labels(code, effect, target).inc(number)
        if not is_report and (saved := saved_bytes(counted)):
            self._saved.inc(saved)

    def _known_target(self, target: str) -> str:
        """Return a target, or ``other`` if there are too many; clients can invent names."""
        if target not in self._targets:
            if len(self._targets) >= MAX_TARGETS:
                return "other"
            self._targets.add(target)
        return target


def _counts(changes: Iterable[Change]) -> Counter[tuple[str, str]]:
    return Counter((change.code, change.effect.name.lower()) for change in changes)
