"""The scan of one content part that is no text: is it an image that some rule would change?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend import images
from chatmend.dialects.pictures import picture
from chatmend.targets.image_limits import ImageLimits
from chatmend.windows import Symptom

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.dialects.pictures import Picture
    from chatmend.targets.limits import Limits


def image_scanner(limits: Limits) -> Callable[[dict[str, Any]], int]:
    """A function that looks at a part and returns the symptoms of its image; one that is sound costs microseconds."""
    facts = limits.images
    if facts == ImageLimits():
        return lambda part: Symptom.NONE  # noqa: ARG005 - nothing is asked of images here

    def scan_image(part: dict[str, Any]) -> int:
        found = picture(part)
        return Symptom.NONE if found is None else Symptom.MEDIA | (Symptom.IMAGES if _is_defective(found, facts) else 0)

    return scan_image


def image_check(limits: Limits, shapes: tuple[str, ...]) -> Callable[[dict[str, Any], str], bool]:
    """A function that says of a part in a message of some role whether no rule would change an image in it."""
    facts, holders = limits.images, image_holders(limits)
    asked = facts != ImageLimits()

    def is_clean(part: dict[str, Any], role: str) -> bool:
        found = picture(part)
        if found is None:
            return True
        return role in holders and found.shape in shapes and not (asked and _is_defective(found, facts))

    return is_clean


def _is_defective(found: Picture, facts: ImageLimits) -> bool:
    if not facts.vision:
        return True
    if found.payload is None:
        return False
    probe = found.payload.probe()
    label, size = found.payload.label, found.payload.text_size
    return images.is_mislabelled(probe, facts, label) or bool(images.diagnose(probe, facts, size, found.detail))


def image_holders(limits: Limits) -> frozenset[str]:
    """Roles in which an image is no symptom by its mere presence."""
    return _ANY if limits.images.roles is None else limits.images.roles


_ANY = frozenset({"system", "developer", "user", "assistant", "tool", "function", ""})
