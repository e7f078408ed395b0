"""chatmend's callback in a proxy, which a signal replaces by one that does nothing, and back."""

from __future__ import annotations

import signal

from benchmarks.empty_callback import callback as empty

from chatmend.litellm import callback

_KINDS = {signal.SIGUSR1: type(empty), signal.SIGUSR2: type(callback)}


def _switch(number: int, _: object) -> None:
    setattr(callback, "__class__", _KINDS[signal.Signals(number)])  # noqa: B010 - for mypy


for _signal in _KINDS:
    signal.signal(_signal, _switch)
