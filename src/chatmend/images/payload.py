"""An image as a transcript holds it: bytes, base64 text, or a data URL; and what its label says it is."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatmend import images
from chatmend.images.reader import unwrapped

if TYPE_CHECKING:
    from chatmend.images.facts import Probe

_LONGEST_HEAD = 512
"""Characters of a data URL in which its comma must stand."""
_PIECE = 1 << 16
"""Characters decoded at once: the interpreter's lock is held for a fraction of a millisecond."""


@dataclass(frozen=True, slots=True)
class Payload:
    """The data of an image, not copied: base64 text from ``start`` on, or bytes."""

    data: str | bytes
    start: int = 0
    label: str | None = None
    """The media type that stands beside the data, in lower case; None where there is none."""

    @property
    def text_size(self) -> int:
        """The length of the data as base64."""
        if isinstance(self.data, str):
            return len(self.data) - self.start
        return (len(self.data) + 2) // 3 * 4

    def probe(self) -> Probe:
        """What the image is."""
        return images.probe_image(self.data, self.start)

    def key(self) -> bytes:
        """A hash of the content: SHA-256 of the base64 text, or of the bytes."""
        from hashlib import sha256

        if isinstance(self.data, str):
            return sha256(self.data[self.start :].encode("ascii", "replace")).digest()
        told = sha256(b"raw ")
        told.update(self.data)
        return told.digest()

    def decoded(self) -> bytes:
        """The bytes of the image.

        Raises:
            ValueError: the text is no base64.
        """
        if not isinstance(self.data, str):
            return self.data
        if (fast := _fast()) is not None:
            try:
                return bytes(fast.b64decode(self.data[self.start :], validate=True))
            except (binascii.Error, ValueError):
                pass  # wrapped, unpadded or URL-safe; or broken, and then the next line says so
        return _decoded(self.data, self.start)


@lru_cache(maxsize=1)
def _fast() -> Any:  # noqa: ANN401 - a module or None
    """The extra ``fast``: fifty times the speed, and nothing of it under the interpreter's lock."""
    try:
        import pybase64
    except ImportError:
        return None
    return pybase64


def _decoded(text: str, start: int) -> bytes:
    if not images.base64_reader(text, start).clean:
        text = unwrapped(text, start).rstrip("=").translate(str.maketrans("-_", "+/"))
        text, start = text + "=" * (-len(text) % 4), 0
    pieces = [
        binascii.a2b_base64(text[at : at + _PIECE], strict_mode=at + _PIECE < len(text))
        for at in range(start, len(text), _PIECE)
    ]
    return b"".join(pieces)


def encoded(data: bytes) -> str:
    """Base64 of the standard alphabet, in one line and padded."""
    if (fast := _fast()) is not None:
        return str(fast.b64encode_as_string(data))
    step = _PIECE // 4 * 3
    return b"".join(base64.b64encode(data[at : at + step]) for at in range(0, len(data), step)).decode("ascii")


def payload_of(data: object, label: object = None) -> Payload | None:
    """The payload in a field of a message; None for what is no data: a link, a file's id, anything else."""
    kind = label.lower() if isinstance(label, str) else None
    if isinstance(data, bytes):
        return Payload(data, 0, kind)
    if isinstance(data, bytearray | memoryview):
        return Payload(bytes(data), 0, kind)
    if not isinstance(data, str):
        return None
    if data[:5].lower() == "data:":
        return _from_url(data)
    if "://" in data[:64]:
        return None
    return Payload(data, 0, kind)


def _from_url(url: str) -> Payload:
    comma = url.find(",", 5, _LONGEST_HEAD)
    if comma < 0:
        return Payload(url, 5, None)
    head = url[5:comma].lower()
    kind, *parameters = (part.strip() for part in head.split(";"))
    if "base64" not in parameters:
        return Payload(url[comma + 1 :].encode("utf-8", "replace"), 0, kind or None)
    return Payload(url, comma + 1, kind)  # without a type it says text/plain: a wrong label, not a missing one
