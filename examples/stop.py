"""Ctrl-C and SIGTERM end a program through an exception, so that its context managers clean up."""

from __future__ import annotations

import signal


class Stopped(SystemExit):
    """The program was stopped by a signal. Its exit code is the one of a shell: 128 + signal."""


class Stop:
    """Raises ``Stopped`` when Ctrl-C or SIGTERM arrives.

    Python drops an exception that a signal handler raises inside a finalizer or inside the callback
    of a weak reference. Therefore the signal is remembered, and ``check`` raises again.
    """

    def __init__(self) -> None:
        """Install the handler."""
        self._signal = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def check(self) -> None:
        """Raise ``Stopped`` if a signal has arrived."""
        if self._signal:
            raise Stopped(128 + self._signal)

    def _handle(self, number: int, _: object) -> None:
        self._signal = number
        self.check()
