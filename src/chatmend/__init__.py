"""chatmend repairs LLM chat transcripts so that strict providers accept them.

It reports every change.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from chatmend.changes import Change, Effect
from chatmend.errors import (
    ChatmendError,
    ImageError,
    PolicyError,
    ReplayError,
    SessionConflictError,
    SessionDivergedError,
    SessionError,
    SessionFormatError,
    SessionWriteError,
    TargetError,
    TranscriptError,
)
from chatmend.lessons import Lesson
from chatmend.policy import Policy
from chatmend.repair import (
    Repaired,
    RepairedRequest,
    check,
    is_synthetic,
    repair,
    repair_request,
    replay,
)
from chatmend.targets import Limits, Target, resolve

if TYPE_CHECKING:
    from chatmend.images.single import recompress
    from chatmend.reaction import Reaction, react
    from chatmend.remembering import remember_request
    from chatmend.session_memory import SessionMemory
    from chatmend.sessions import Session, SessionStore
    from chatmend.usage import Usage, UsageLedger, UsageStream, normalize_usage

__all__ = [
    "Change",
    "ChatmendError",
    "Effect",
    "ImageError",
    "Lesson",
    "Limits",
    "Policy",
    "PolicyError",
    "Reaction",
    "Repaired",
    "RepairedRequest",
    "ReplayError",
    "Session",
    "SessionConflictError",
    "SessionDivergedError",
    "SessionError",
    "SessionFormatError",
    "SessionMemory",
    "SessionStore",
    "SessionWriteError",
    "Target",
    "TargetError",
    "TranscriptError",
    "Usage",
    "UsageLedger",
    "UsageStream",
    "check",
    "is_synthetic",
    "normalize_usage",
    "react",
    "recompress",
    "remember_request",
    "repair",
    "repair_request",
    "replay",
    "resolve",
]

# Imported on first access, so that `import chatmend` stays fast.
_LATER = {
    **dict.fromkeys(("Reaction", "react"), "chatmend.reaction"),
    "SessionMemory": "chatmend.session_memory",
    "recompress": "chatmend.images.single",
    "remember_request": "chatmend.remembering",
    **dict.fromkeys(("Session", "SessionStore"), "chatmend.sessions"),
    **dict.fromkeys(("Usage", "UsageLedger", "UsageStream", "normalize_usage"), "chatmend.usage"),
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'chatmend' has no attribute {name!r}")
    value: object = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
