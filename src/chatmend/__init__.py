"""chatmend repairs LLM chat transcripts so that strict providers accept them, and says what it changed."""

from chatmend.changes import Change, Effect
from chatmend.errors import ChatmendError, ImageError, PolicyError, ReplayError, TargetError, TranscriptError
from chatmend.images.once import recompress
from chatmend.policy import Policy
from chatmend.repair import Repaired, RepairedRequest, check, repair, repair_request, replay
from chatmend.targets import Limits, Target, resolve

__all__ = [
    "Change",
    "ChatmendError",
    "Effect",
    "ImageError",
    "Limits",
    "Policy",
    "PolicyError",
    "Repaired",
    "RepairedRequest",
    "ReplayError",
    "Target",
    "TargetError",
    "TranscriptError",
    "check",
    "recompress",
    "repair",
    "repair_request",
    "replay",
    "resolve",
]
