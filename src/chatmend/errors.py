"""What chatmend raises. A broken transcript is never an exception: it is what the library is for.

ChatmendError
├── TranscriptError    the argument is no list of messages, or no request body
├── TargetError        the target's name leads to no table
├── ImageError         an image cannot be read, or not be made fit for the target
├── PolicyError        a policy field has a value that does not exist
├── ReplayError        the changes were recorded on another transcript
└── SessionError       a stored session
    ├── SessionFormatError      a file is malformed, truncated or edited
    ├── SessionDivergedError    what is sent does not begin with what was sent
    ├── SessionConflictError    another writer came first
    └── SessionWriteError       the disk or the bucket did not take it
"""

from __future__ import annotations


class ChatmendError(Exception):
    """Every exception that chatmend raises on purpose."""


class TranscriptError(ChatmendError, TypeError):
    """The argument is no list of messages, or no request body that holds one."""


class TargetError(ChatmendError, ValueError):
    """A target was named that no table describes; the text names the nearest one."""


class ImageError(ChatmendError, ValueError):
    """An image that was given alone cannot be read, or not be made fit for the target; the text says why."""


class PolicyError(ChatmendError, ValueError):
    """A policy field holds a value that does not exist; the text lists those that do."""


class ReplayError(ChatmendError, ValueError):
    """The changes do not fit the transcript: they were recorded on another one."""


class SessionError(ChatmendError):
    """Something about a stored session; the text names its file."""


class SessionFormatError(SessionError, ValueError):
    """A file is no whole session: it is malformed, truncated, or was edited. It never loads as a shorter one."""

    def __init__(self, path: str, line: int, fault: str) -> None:
        """Say which file, which line (from 1), and what was expected there."""
        super().__init__(f"{path}: line {line}: {fault}")
        self.path, self.line, self.fault = path, line, fault

    def __reduce__(self) -> tuple[type[SessionFormatError], tuple[str, int, str]]:
        """Travel between processes."""
        return type(self), (self.path, self.line, self.fault)


class SessionDivergedError(SessionError, ValueError):
    """The messages do not begin with those that were sent before; ``index`` is the first that differs."""

    def __init__(self, path: str, index: int) -> None:
        """Say where the transcripts part."""
        super().__init__(
            f"{path}: message {index} is not the one that was sent before; what was sent never changes: go on in a new "
            "session (store.start, session.fork)"
        )
        self.path, self.index = path, index

    def __reduce__(self) -> tuple[type[SessionDivergedError], tuple[str, int]]:
        """Travel between processes."""
        return type(self), (self.path, self.index)


class SessionConflictError(SessionError):
    """The file is not the one that was read: another writer went on with the session. Load it again."""


class SessionWriteError(SessionError, OSError):
    """The disk or the bucket did not take the session; what was stored before is still there, whole."""
