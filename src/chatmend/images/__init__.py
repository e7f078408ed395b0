"""Inspects images without decoding them and recompresses those that a target would refuse.

The modules are imported when a first image is found, and Pillow when a first image is recompressed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.images.budget import Budget
    from chatmend.images.cache import Outcome, ResultCache
    from chatmend.images.diagnosis import diagnose, is_accepted, is_correct_label, is_mislabelled
    from chatmend.images.facts import Probe, format_size, media_type, type_name
    from chatmend.images.plan import plan_for
    from chatmend.images.probe import probe_image
    from chatmend.images.reader import base64_reader
    from chatmend.images.recompressor import Recompressor, default_recompressor
    from chatmend.images.shared import Backend, SharedCache
    from chatmend.images.single import recompress
    from chatmend.images.sizes import seen_size, tokens
    from chatmend.images.tiles import Tiling, tiling_for

__all__ = [
    "Backend",
    "Budget",
    "Outcome",
    "Probe",
    "Recompressor",
    "ResultCache",
    "SharedCache",
    "Tiling",
    "base64_reader",
    "default_recompressor",
    "diagnose",
    "format_size",
    "is_accepted",
    "is_correct_label",
    "is_mislabelled",
    "media_type",
    "plan_for",
    "probe_image",
    "recompress",
    "seen_size",
    "tiling_for",
    "tokens",
    "type_name",
]
_NAMES_BY_MODULE = {
    "budget": ("Budget",),
    "cache": ("Outcome", "ResultCache"),
    "facts": ("Probe", "format_size", "media_type", "type_name"),
    "single": ("recompress",),
    "diagnosis": ("diagnose", "is_accepted", "is_correct_label", "is_mislabelled"),
    "plan": ("plan_for",),
    "probe": ("probe_image",),
    "reader": ("base64_reader",),
    "recompressor": ("Recompressor", "default_recompressor"),
    "shared": ("Backend", "SharedCache"),
    "sizes": ("seen_size", "tokens"),
    "tiles": ("Tiling", "tiling_for"),
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name on first access."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
