"""From a payload and its plan to an outcome: cached, within a budget, never raising."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import TYPE_CHECKING

from chatmend.errors import PolicyError
from chatmend.images.budget import MEMORY, VARIABLE, Budget, memory_of
from chatmend.images.cache import Outcome, ResultCache
from chatmend.images.payload import encoded
from chatmend.images.transcode import REVISION, TooLargeError, UnreadableError, transcode

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.facts import Probe
    from chatmend.images.payload import Payload
    from chatmend.images.plan import Plan
    from chatmend.images.shared import SharedCache


class Recompressor:
    """Recompresses images, remembers what came of them, and bounds what is decoded at once.

    Args:
        cache: where results are kept in memory; one of its own by default.
        shared: a cache beyond this process; none by default.
        memory: bytes that decoding may take, all images at one time together, or a text such as ``"2 GB"``; 512 MB by
            default. A JPEG is decoded at the scale that is needed; no other type can be. An image that needs more is
            not decoded.
        budget: the same, shared with other recompressors, or with limits of its own for one image.
        progress: called with the number of images that were recompressed, cached ones included.

    Raises:
        PolicyError: ``memory`` is no size, or ``budget`` is given too.
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
        """Nothing is decoded, and Pillow is not imported, before the first image that needs it."""
        if memory is not None and budget is not None:
            raise PolicyError("give a recompressor memory= or budget=, not both")
        self.cache = cache or ResultCache()
        self._shared = shared
        self._budget = budget or Budget(memory=MEMORY if memory is None else memory_of(memory))
        self._progress = progress
        self._count = 0

    def __call__(self, payload: Payload, probe: Probe, plan: Plan) -> Outcome:
        """What becomes of an image. Never raises."""
        key = f"{payload.key().hex()}:{_fingerprint(plan, self._budget.most)}"
        try:
            outcome = self.cache.find(key, lambda: self._made(key, payload, probe, plan))
        except MemoryError:  # not remembered: the next time there may be more
            outcome = Outcome(problem="there is not enough memory to decode it", unknown=True)
        self._count += 1
        if self._progress is not None:
            self._progress(self._count)
        return outcome

    def _made(self, key: str, payload: Payload, probe: Probe, plan: Plan) -> Outcome:
        if self._shared is not None and (known := self._shared.get(key, plan)) is not None:
            return known
        outcome = self._redone(payload, probe, plan)
        if self._shared is not None:
            self._shared.put(key, outcome)
        return outcome

    def _redone(self, payload: Payload, probe: Probe, plan: Plan) -> Outcome:
        try:
            done = transcode(payload.decoded(), probe, plan, self._budget)
        except TooLargeError as error:
            return Outcome(problem=str(error), unknown=True)
        except UnreadableError as error:
            return Outcome(problem=str(error))
        except ValueError:
            return Outcome(problem="the data is no base64")
        return Outcome(encoded(done.data), done.type, done.size)


@lru_cache(maxsize=1024)
def _fingerprint(plan: Plan, most: int) -> str:
    """What else a result depends on: the plan, the memory for one image, our revision, and the encoders."""
    from PIL import __version__

    told = (plan.size, sorted(plan.types), plan.max_bytes, most, REVISION, __version__)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def common() -> Recompressor:
    """The one that all repairs of the process share, unless they are given another.

    Raises:
        PolicyError: the environment variable ``CHATMEND_IMAGE_MEMORY`` is no size.
    """
    return Recompressor(memory=os.environ.get(VARIABLE) or None)
