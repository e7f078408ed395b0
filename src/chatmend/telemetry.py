"""Records OpenTelemetry metrics and span events for the adapters.

Does nothing if ``opentelemetry-api`` is not installed. Records codes, counts, targets and
durations; no content, keys or arguments. The current span gets one event per rule code.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change

SCOPE = "chatmend"
"""The name of the meter."""
MAX_TARGETS = 200
"""Targets with a separate time series. The number is limited, because clients can invent names."""
_MAX_DEPTH = 8
_MIN_IMAGE_LENGTH = 1_000
"""Characters from which a text is counted as image data."""


def record_repair(
    target: str, changes: tuple[Change, ...], seconds: float, *, mode: str = "repair"
) -> None:
    """Record one repair.

    Args:
        target: the target of the request.
        changes: the changes, including those that were only reported.
        seconds: the duration of the repair.
        mode: ``repair``, or ``report`` if the original is sent.
    """
    # A failing meter must not fail the repair. `suppress` would take as long as the recording.
    try:
        if (instruments := _instruments()) is not None:
            instruments.record(target, mode, changes, seconds)
    except Exception:  # noqa: BLE001, S110
        pass


@cache
def _instruments() -> _Instruments | None:
    try:
        return _Instruments()
    except Exception:  # noqa: BLE001 - not installed, or any error of a wrong configuration
        return None


class _Instruments:
    """The instruments of the meter, created once.

    They also work with a meter provider that is set later.
    """

    def __init__(self) -> None:
        meter = import_module("opentelemetry.metrics").get_meter(SCOPE)
        self._trace = import_module("opentelemetry.trace")
        self._changes = meter.create_counter(
            "chatmend.changes", "{change}", "Changes to transcripts"
        )
        self._saved = meter.create_counter(
            "chatmend.image.saved", "By", "Image bytes saved by recompression"
        )
        self._duration = meter.create_histogram(
            "chatmend.repair.duration", "s", "Duration of repairs"
        )
        self._known: dict[tuple[str, str], dict[str, str]] = {}

    def record(self, target: str, mode: str, changes: tuple[Change, ...], seconds: float) -> None:
        attributes = self._known.get((target, mode)) or self._new_attributes(target, mode)
        self._duration.record(seconds, attributes)
        if not changes:
            return
        applied = [change for change in changes if change.applied]
        span = self._trace.get_current_span()
        for (code, rule, effect), count in Counter(
            (c.code, c.rule, c.effect.name.lower()) for c in applied
        ).items():
            details = {
                "chatmend.code": code,
                "chatmend.rule": rule,
                "chatmend.effect": effect,
                **attributes,
            }
            self._changes.add(count, details)
            if span.is_recording():
                indices = [
                    change.index
                    for change in applied
                    if change.code == code and change.index is not None
                ]
                span.add_event(
                    "chatmend.change",
                    {**details, "chatmend.count": count, "chatmend.index": indices[:20]},
                )
        if saved := saved_bytes(applied):
            self._saved.add(saved, attributes)

    def _new_attributes(self, target: str, mode: str) -> dict[str, str]:
        """Return the attributes for a target and a mode, and cache them because this is slow."""
        if len(self._known) >= MAX_TARGETS:
            return {"chatmend.target": "other", "chatmend.mode": mode}
        return self._known.setdefault(
            (target, mode), {"chatmend.target": target, "chatmend.mode": mode}
        )


def saved_bytes(changes: Iterable[Change]) -> int:
    """Return how many bytes of image data the applied changes saved."""
    return sum(_saved_bytes(change) for change in changes if change.code.startswith("IMG"))


def _saved_bytes(change: Change) -> int:
    """Return how many bytes of image data a change saved.

    Counts base64 characters, four of which encode three bytes.
    """
    return max(0, _image_length(change.before) - _image_length(change.after)) * 3 // 4


def _image_length(value: Any, depth: int = 0) -> int:  # noqa: ANN401 - messages of any dialect
    if isinstance(value, str):
        return len(value) if len(value) >= _MIN_IMAGE_LENGTH else 0
    if depth > _MAX_DEPTH:
        return 0
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return _image_length(getattr(value, "content", ""), depth + 1)
    return sum(_image_length(item, depth + 1) for item in value)
