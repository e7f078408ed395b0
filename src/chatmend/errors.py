"""The exceptions of chatmend. A broken transcript raises none: repairing it is the purpose.

ChatmendError
├── TranscriptError    the argument is neither a list of messages nor a request body
├── TargetError        the target has no table
├── ImageError         an image cannot be read or made acceptable for the target
├── PolicyError        an option or a policy field has an invalid value
├── ReplayError        the changes were recorded for another transcript
├── LayoutError        the rows of a data set have no known layout
├── ProbeError         a provider cannot be asked about its limits
└── SessionError       a stored session
    ├── SessionFormatError      the file is malformed, truncated or edited
    ├── SessionDivergedError    the messages differ from those that were already sent
    ├── SessionConflictError    another writer changed the session first
    └── SessionWriteError       the disk or the bucket refused the write
"""

from __future__ import annotations


class ChatmendError(Exception):
    """Base class of every exception that chatmend raises deliberately."""


class TranscriptError(ChatmendError, TypeError):
    """The argument is neither a list of messages nor a request body that contains one."""


class TargetError(ChatmendError, ValueError):
    """The target has no table; the text suggests the most similar name."""


class ImageError(ChatmendError, ValueError):
    """A single image cannot be read or made acceptable for the target; the text says why."""


class PolicyError(ChatmendError, ValueError):
    """An option or a policy field has an invalid value; the text lists the valid ones."""


class ReplayError(ChatmendError, ValueError):
    """The changes do not fit the transcript, because they were recorded for another one."""


class LayoutError(ChatmendError, ValueError):
    """The rows of a data set have no known layout; the text lists the known ones."""


class ProbeError(ChatmendError):
    """A provider cannot be asked: no address or key, or it refuses what every provider accepts."""


class SessionError(ChatmendError):
    """A stored session cannot be used; the text names its file."""


class SessionFormatError(SessionError, ValueError):
    """A session file is malformed, truncated or edited; it never loads as a shorter session."""

    def __init__(self, path: str, line: int, fault: str) -> None:
        """Store the file, the line (counted from 1) and what is wrong with it."""
        super().__init__(f"{path}: line {line}: {fault}")
        self.path, self.line, self.fault = path, line, fault

    def __reduce__(self) -> tuple[type[SessionFormatError], tuple[str, int, str]]:
        """Support pickling, which sends the exception to another process."""
        return type(self), (self.path, self.line, self.fault)


class SessionDivergedError(SessionError, ValueError):
    """The messages differ from those that were sent before; ``index`` is the first difference."""

    def __init__(self, path: str, index: int) -> None:
        """Store the file and the index of the first message that differs."""
        super().__init__(
            f"{path}: messages[{index}] differs from the message that was sent before; sent "
            "messages cannot change: continue in a new session (store.start, session.fork)"
        )
        self.path, self.index = path, index

    def __reduce__(self) -> tuple[type[SessionDivergedError], tuple[str, int]]:
        """Support pickling, which sends the exception to another process."""
        return type(self), (self.path, self.index)


class SessionConflictError(SessionError):
    """Another writer changed the session file after it was loaded; load it again."""


class SessionWriteError(SessionError, OSError):
    """The disk or the bucket refused the write; the previous content of the session is intact."""
