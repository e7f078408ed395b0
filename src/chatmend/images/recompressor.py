"""Recompresses the image of a payload by a plan, with a cache and a memory budget."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import TYPE_CHECKING

from chatmend.errors import PolicyError
from chatmend.images.budget import MEMORY, VARIABLE, Budget, memory_of
from chatmend.images.cache import Outcome, ResultCache
from chatmend.images.cutting import cut
from chatmend.images.payload import encode_base64
from chatmend.images.tiles import Tiling
from chatmend.images.transcode import REVISION, TooLargeError, UnreadableError, transcode

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.facts import Probe
    from chatmend.images.payload import Payload
    from chatmend.images.plan import Plan
    from chatmend.images.shared import SharedCache
    from chatmend.images.transcode import Encoded


class Recompressor:
    """Recompresses images, caches the results, and limits the memory for decoding.

    Args:
        cache: stores results in memory; by default a new `ResultCache`.
        shared: a cache outside the process; none by default.
        memory: the limit in bytes for all images that are decoded at the same time, or a text
            such as ``"2 GB"``; 512 MB by default. Images that need more are not decoded. A JPEG is
            decoded at the required scale; other types can be decoded only at full size.
        budget: instead of ``memory``: a budget that other recompressors share, or that has a
            separate limit for one image.
        progress: called with the number of recompressed images, including cached ones.

    Raises:
        PolicyError: ``memory`` is not a size, or both ``memory`` and ``budget`` are given.
    """

    def __init__(
        self,
        *,
        cache: ResultCache | None = None,
        shared: SharedCache | None = None,
        memory: int | str | None = None,
        budget: Budget | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Create a recompressor. Pillow is imported for the first image that needs it."""
        if memory is not None and budget is not None:
            raise PolicyError("give a recompressor memory= or budget=, not both")
        self.cache = cache or ResultCache()
        self._shared = shared
        self._budget = budget or Budget(memory=MEMORY if memory is None else memory_of(memory))
        self._progress = progress
        self._count = 0

    def __call__(self, payload: Payload, probe: Probe, plan: Plan | Tiling) -> Outcome:
        """Return the recompressed image or its tiles, or the reason why there are none.

        Never raises.
        """
        key = f"{payload.key().hex()}:{_fingerprint(plan, self._budget.max_per_image)}"
        try:
            outcome = self.cache.find(key, lambda: self._compute(key, payload, probe, plan))
        except MemoryError:  # not cached, because more memory may be free next time
            outcome = Outcome(problem="there is not enough memory to decode it", undecoded=True)
        self._count += 1
        if self._progress is not None:
            self._progress(self._count)
        return outcome

    def _compute(self, key: str, payload: Payload, probe: Probe, plan: Plan | Tiling) -> Outcome:
        if self._shared is not None and (known := self._shared.get(key, plan)) is not None:
            return known
        outcome = self._recompress(payload, probe, plan)
        if self._shared is not None:
            self._shared.put(key, outcome)
        return outcome

    def _recompress(self, payload: Payload, probe: Probe, plan: Plan | Tiling) -> Outcome:
        try:
            if isinstance(plan, Tiling):
                tiles = cut(payload.decode(), probe, plan, self._budget)
                return Outcome(tiles=tuple(map(_outcome_of, tiles)))
            done = transcode(payload.decode(), probe, plan, self._budget)
        except TooLargeError as error:
            return Outcome(problem=str(error), undecoded=True)
        except UnreadableError as error:
            return Outcome(problem=str(error))
        except ValueError:
            return Outcome(problem="the data is no base64")
        return _outcome_of(done)


def _outcome_of(done: Encoded) -> Outcome:
    return Outcome(encode_base64(done.data), done.type, done.size)


@lru_cache(maxsize=1024)
def _fingerprint(plan: Plan | Tiling, max_per_image: int) -> str:
    """Hash everything that a result depends on, except the image.

    These are the plan with the tiles, the memory limit for one image, the revision of chatmend's
    code, and the version of Pillow.
    """
    from PIL import __version__

    boxes, one = (plan.boxes, plan.plan) if isinstance(plan, Tiling) else ((), plan)
    wanted = (one.size, sorted(one.types), one.max_bytes, one.qualities, boxes)
    inputs = (wanted, max_per_image, REVISION, __version__)
    return hashlib.sha256(repr(inputs).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def default_recompressor() -> Recompressor:
    """Return the recompressor that all repairs of the process share by default.

    Raises:
        PolicyError: the environment variable ``CHATMEND_IMAGE_MEMORY`` is not a size.
    """
    return Recompressor(memory=os.environ.get(VARIABLE) or None)
