"""Describes images for display: type, size, bytes, tokens, and a small picture."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.images import tokens
from chatmend.images.payload import encode_base64

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.payload import Payload
    from chatmend.targets import Target

_SIDE = 240
_MOST = 200
"""Images that are drawn; the others are only described."""
_SMALL = 60_000
"""Images of at most this size in bytes are sent as they are."""
_SHOWN_BY_BROWSERS = frozenset({"png", "jpeg", "gif", "webp"})


@dataclass(slots=True)
class Thumbnails:
    """Describes images; each is drawn once."""

    draw: Callable[[bytes, str], str | None]
    """Returns a data URL with a small picture of an image, or None."""
    drawn: dict[bytes, str | None] = field(default_factory=dict)

    def describe(self, payload: Payload, target: Target, detail: object) -> dict[str, Any]:
        """Return the facts about an image, and a small picture if it can be drawn."""
        probe = payload.probe()
        size = probe.display_size if probe.width else None
        return {
            "text": probe.description,
            "fault": probe.fault or "",
            "bytes": probe.size,
            "size": list(size) if size else None,
            "tokens": tokens(target.limits.images, size, detail) if size else None,
            "picture": None if probe.fault else self._picture(payload, probe.type),
        }

    def _picture(self, payload: Payload, kind: str) -> str | None:
        key = payload.key()
        if key not in self.drawn:
            if len(self.drawn) >= _MOST:
                return None
            try:
                data = payload.decode()
            except ValueError:
                return None
            if kind in _SHOWN_BY_BROWSERS and len(data) <= _SMALL:
                self.drawn[key] = f"data:image/{kind};base64,{encode_base64(data)}"
            else:
                self.drawn[key] = self.draw(data, kind)
        return self.drawn[key]


def draw_with_pillow(data: bytes, _kind: str) -> str | None:
    """Return a JPEG of at most 240 pixels as a data URL; None if Pillow cannot read the image."""
    from PIL import Image  # noqa: PLC0415 - the static page has no Pillow

    try:
        with Image.open(io.BytesIO(data)) as image:
            image.draft("RGB", (_SIDE, _SIDE))
            image.thumbnail((_SIDE, _SIDE))
            out = io.BytesIO()
            image.convert("RGB").save(out, "JPEG", quality=80)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    return f"data:image/jpeg;base64,{encode_base64(out.getvalue())}"
