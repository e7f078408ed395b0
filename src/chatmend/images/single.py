"""Recompresses one image, outside of a transcript."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import images
from chatmend.errors import ImageError
from chatmend.images.defects import Defect
from chatmend.images.diagnosis import diagnose
from chatmend.images.metadata import strip_metadata
from chatmend.images.payload import Payload
from chatmend.images.plan import plan_for
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
    """Return an image that a target accepts; the same object if the image has no defect.

    Args:
        data: an image file of a supported type.
        target: a model name in LiteLLM's notation, or a provider.
        detail: ``low`` if the request asks for low detail.
        native: whether to scale to exactly the size that the model sees.
        recompressor: by default the one that the whole process shares.

    Raises:
        ImageError: the image cannot be read, or no result is within the limits. The text gives
            the reason.
        TargetError: no table describes ``target``.
    """
    limits = (target if isinstance(target, Target) else resolve(target)).limits.images
    limits = replace(limits, native=limits.native or native, tall="scale")
    payload = Payload(data)
    probe = payload.probe()
    if diagnose(probe, limits, payload.text_size, detail) in (None, Defect.UNEXAMINED):
        stripped = strip_metadata(data, probe.type) if limits.metadata == "strip" else None
        return stripped or data
    wanted = plan_for(probe, limits, detail)
    if isinstance(wanted, str):
        raise ImageError(f"{probe.description}: {wanted}")
    outcome = (recompressor or images.default_recompressor())(payload, probe, wanted)
    if outcome.text is None:
        raise ImageError(f"{probe.description}: {outcome.problem}")
    return Payload(outcome.text).decode()
