"""What the adapters tell OpenTelemetry, where ``opentelemetry-api`` is installed; nothing where it is not.

Codes, counts, targets and seconds; no content, keys or arguments. The span that is current gets one event a code.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatmend.changes import Change

SCOPE = "chatmend"
"""The name of the meter."""
_MANY = 200
"""Targets that get a series of their own: a client of a proxy may make names up."""
_DEEP = 8
_LONG = 1_000
"""Characters from which a text may be an image."""


def tell(target: str, changes: tuple[Change, ...], seconds: float, *, mode: str = "repair") -> None:
    """Tell of one repair.

    Args:
        target: what it was repaired for.
        changes: what was done, and what was seen and left.
        seconds: how long it took.
        mode: ``repair``, or ``report`` where the original is sent.
    """
    # A meter that fails must not cost the repair; `suppress` takes as long as telling.
    try:
        if (instruments := _instruments()) is not None:
            instruments.tell(target, mode, changes, seconds)
    except Exception:  # noqa: BLE001, S110
        pass


@cache
def _instruments() -> _Instruments | None:
    try:
        return _Instruments()
    except Exception:  # noqa: BLE001 - not installed, or set up so that it raises whatever it likes
        return None


class _Instruments:
    """The meter's instruments, made once: the API hands them on to a provider that is set later."""

    def __init__(self) -> None:
        meter = import_module("opentelemetry.metrics").get_meter(SCOPE)
        self._trace = import_module("opentelemetry.trace")
        self._changes = meter.create_counter("chatmend.changes", "{change}", "Changes of a transcript")
        self._saved = meter.create_counter("chatmend.image.saved", "By", "Bytes of images that need not be sent")
        self._took = meter.create_histogram("chatmend.repair.duration", "s", "Time that a repair takes")
        self._known: dict[tuple[str, str], dict[str, str]] = {}

    def tell(self, target: str, mode: str, changes: tuple[Change, ...], seconds: float) -> None:
        where = self._known.get((target, mode)) or self._place(target, mode)
        self._took.record(seconds, where)
        if not changes:
            return
        done = [change for change in changes if change.applied]
        span = self._trace.get_current_span()
        for (code, rule, effect), count in Counter((c.code, c.rule, c.effect.name.lower()) for c in done).items():
            what = {"chatmend.code": code, "chatmend.rule": rule, "chatmend.effect": effect, **where}
            self._changes.add(count, what)
            if span.is_recording():
                places = [change.index for change in done if change.code == code and change.index is not None]
                span.add_event("chatmend.change", {**what, "chatmend.count": count, "chatmend.index": places[:20]})
        if saved := sum(_saved(change) for change in done if change.code.startswith("IMG")):
            self._saved.add(saved, where)

    def _place(self, target: str, mode: str) -> dict[str, str]:
        """The attributes of a target and a mode, made once: telling them apart would take as long as telling."""
        if len(self._known) >= _MANY:
            return {"chatmend.target": "other", "chatmend.mode": mode}
        return self._known.setdefault((target, mode), {"chatmend.target": target, "chatmend.mode": mode})


def _saved(change: Change) -> int:
    """Bytes of image that were in front of a change and are not behind it; base64 has four letters for three."""
    return max(0, _letters(change.before) - _letters(change.after)) * 3 // 4


def _letters(value: Any, depth: int = 0) -> int:  # noqa: ANN401 - messages of any dialect
    if isinstance(value, str):
        return len(value) if len(value) >= _LONG else 0
    if depth > _DEEP:
        return 0
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return _letters(getattr(value, "content", ""), depth + 1)
    return sum(_letters(item, depth + 1) for item in value)
