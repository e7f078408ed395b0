"""Recompress one image, outside any transcript."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import images
from chatmend.errors import ImageError
from chatmend.images.defects import Defect
from chatmend.images.payload import Payload
from chatmend.images.plan import diagnose, plan_for
from chatmend.targets import Target, resolve

if TYPE_CHECKING:
    from chatmend.images.recompressor import Recompressor


def recompress(
    data: bytes,
    target: str | Target,
    *,
    detail: str | None = None,
    native: bool = False,
    recompressor: Recompressor | None = None,
) -> bytes:
    """An image as a target takes it: the very same bytes where nothing is wrong with them.

    Args:
        data: an image file of any type that can be read.
        target: a name as LiteLLM writes it, or a provider alone.
        detail: ``low`` where the request asks for that.
        native: give it exactly the size that the model sees.
        recompressor: by default the one that the whole process shares.

    Raises:
        ImageError: it cannot be read, or cannot be made legal; the text says why.
        TargetError: no table describes ``target``.
    """
    limits = (target if isinstance(target, Target) else resolve(target)).limits.images
    limits = replace(limits, native=True) if native else limits
    payload = Payload(data)
    probe = payload.probe()
    if diagnose(probe, limits, payload.text_size, detail) in (None, Defect.UNEXAMINED):
        return data
    wanted = plan_for(probe, limits, detail)
    if isinstance(wanted, str):
        raise ImageError(f"{probe.described}: {wanted}")
    outcome = (recompressor or images.common())(payload, probe, wanted)
    if outcome.text is None:
        raise ImageError(f"{probe.described}: {outcome.problem}")
    return Payload(outcome.text).decoded()
