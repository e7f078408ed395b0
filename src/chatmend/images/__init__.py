"""Images in transcripts: looked at without decoding, recompressed where a target would refuse them, once.

What only recompression needs is imported with the first image that is recompressed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.images.budget import Budget
    from chatmend.images.cache import Outcome, ResultCache
    from chatmend.images.facts import Probe
    from chatmend.images.once import recompress
    from chatmend.images.probe import probe_image
    from chatmend.images.recompressor import Recompressor, common
    from chatmend.images.shared import Backend, SharedCache
    from chatmend.images.sizes import seen_size, tokens

_HOMES = {
    "Backend": "shared",
    "Budget": "budget",
    "Outcome": "cache",
    "Probe": "facts",
    "Recompressor": "recompressor",
    "ResultCache": "cache",
    "SharedCache": "shared",
    "common": "recompressor",
    "probe_image": "probe",
    "recompress": "once",
    "seen_size": "sizes",
    "tokens": "sizes",
}
__all__ = [
    "Backend",
    "Budget",
    "Outcome",
    "Probe",
    "Recompressor",
    "ResultCache",
    "SharedCache",
    "common",
    "probe_image",
    "recompress",
    "seen_size",
    "tokens",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
