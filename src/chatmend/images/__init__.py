"""Images in transcripts: looked at without decoding, recompressed where a target would refuse them, once."""

from chatmend.images.budget import Budget
from chatmend.images.cache import Outcome, ResultCache
from chatmend.images.facts import Probe
from chatmend.images.probe import probe
from chatmend.images.recompressor import COMMON, Recompressor
from chatmend.images.shared import Backend, SharedCache
from chatmend.images.sizes import seen_size, tokens

__all__ = [
    "COMMON",
    "Backend",
    "Budget",
    "Outcome",
    "Probe",
    "Recompressor",
    "ResultCache",
    "SharedCache",
    "probe",
    "seen_size",
    "tokens",
]
