"""Images in transcripts: looked at without decoding, recompressed where a target would refuse them, once.

Nothing of it is imported before the first image is seen, and Pillow only with the first that is recompressed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.images.budget import Budget
    from chatmend.images.cache import Outcome, ResultCache
    from chatmend.images.facts import Probe, media_type, name_of, weight
    from chatmend.images.once import recompress
    from chatmend.images.plan import diagnose, is_accepted, is_label, is_mislabelled, plan_for
    from chatmend.images.probe import probe_image
    from chatmend.images.reader import base64_reader
    from chatmend.images.recompressor import Recompressor, common
    from chatmend.images.shared import Backend, SharedCache
    from chatmend.images.sizes import seen_size, tokens

__all__ = [
    "Backend",
    "Budget",
    "Outcome",
    "Probe",
    "Recompressor",
    "ResultCache",
    "SharedCache",
    "base64_reader",
    "common",
    "diagnose",
    "is_accepted",
    "is_label",
    "is_mislabelled",
    "media_type",
    "name_of",
    "plan_for",
    "probe_image",
    "recompress",
    "seen_size",
    "tokens",
    "weight",
]
_HOMES = {
    "budget": ("Budget",),
    "cache": ("Outcome", "ResultCache"),
    "facts": ("Probe", "media_type", "name_of", "weight"),
    "once": ("recompress",),
    "plan": ("diagnose", "is_accepted", "is_label", "is_mislabelled", "plan_for"),
    "probe": ("probe_image",),
    "reader": ("base64_reader",),
    "recompressor": ("Recompressor", "common"),
    "shared": ("Backend", "SharedCache"),
    "sizes": ("seen_size", "tokens"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
