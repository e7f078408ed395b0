"""Changes of a running proxy from outside of its process: a switch file, and a changed config."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from chatmend.failures import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.options import RolloutMode

_log = logging.getLogger("chatmend.litellm")

_STATES: dict[str, RolloutMode] = {
    "": "off",
    "off": "off",
    "report": "report",
    "on": "repair",
    "repair": "repair",
}
"""The contents of a switch file; an empty one disables chatmend."""
_LONGEST = 64


class WatchedFile:
    """Notices that a file has changed, with one ``stat`` for each question."""

    def __init__(self, path: str | Path) -> None:
        """Watch a file, which need not exist."""
        self.path = Path(path).expanduser()
        self._seen = self._state()

    def has_changed(self) -> bool:
        """Return whether the file has changed since the last call."""
        state = self._state()
        changed, self._seen = state != self._seen, state
        return changed

    def _state(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


class Switch:
    """A file that disables chatmend while it exists, in all processes that can read it."""

    def __init__(self, path: str | Path) -> None:
        """Watch a file, which need not exist."""
        self._file = WatchedFile(path)
        self.path = self._file.path
        self._mode = self._read()

    def mode(self) -> RolloutMode:
        """Return the mode that the file permits: ``off``, ``report`` or ``repair``."""
        if self._file.has_changed():
            self._mode = self._read()
            _log.warning("chatmend: %s now permits mode %s", self.path, self._mode)
        return self._mode

    def _read(self) -> RolloutMode:
        """Return the mode. A file that cannot be read disables chatmend: someone has put it there.

        The proxy must start while the file exists, too.
        """
        try:
            text = self.path.read_text("utf-8")[:_LONGEST].strip().lower()
        except FileNotFoundError:
            return "repair"
        except (OSError, UnicodeDecodeError):
            text = "unreadable"
        if text not in _STATES:
            choices = ", ".join(filter(None, _STATES))
            _log.warning(
                "chatmend: the content of %s is invalid and means off; choose %s",
                self.path,
                choices,
            )
        return _STATES.get(text, "off")


class Reloading:
    """Applies the options of a configuration file again when it has changed."""

    def __init__(self, path: str | Path, apply: Callable[[], object]) -> None:
        """Call ``apply`` after the file has changed. If it raises, the old options stay."""
        self._file = WatchedFile(path)
        self._apply = apply

    def poll(self) -> None:
        """Apply the options if the file has changed since the last call."""
        if not self._file.has_changed():
            return
        try:
            self._apply()
        except Exception as error:  # noqa: BLE001 - any error of a file that someone is editing
            _log.warning("chatmend keeps its options; %s: %s", self._file.path, reason_of(error))
        else:
            _log.warning("chatmend has read its options again from %s", self._file.path)
