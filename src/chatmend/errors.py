"""What chatmend raises. A broken transcript is never an exception: it is what the library is for.

ChatmendError
├── TranscriptError    the argument is no list of messages, or no request body
├── TargetError        the target's name leads to no table
├── ImageError         an image cannot be read, or not be made fit for the target
├── PolicyError        a policy field has a value that does not exist
└── ReplayError        the changes were recorded on another transcript
"""


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
