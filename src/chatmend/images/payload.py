"""The data of an image in a transcript (bytes, base64 text or a data URL), with its media type."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatmend import images
from chatmend.images.addresses import is_address, read_data_url
from chatmend.images.reader import remove_white_space

if TYPE_CHECKING:
    from chatmend.images.addresses import Spelling
    from chatmend.images.facts import Probe

_PIECE = 1 << 16
"""Characters decoded at once, so that the GIL is held for only a fraction of a millisecond."""


@dataclass(frozen=True, slots=True)
class Payload:
    """The data of an image, not copied: bytes, or base64 text from index ``start``."""

    data: str | bytes
    start: int = 0
    label: str | None = None
    """The media type that the message gives for the data, in lower case; None if it has none."""
    is_exact: bool = True
    """False if the form of the address is not what providers read, so that it is rewritten."""
    label_spelling: Spelling = "plain"
    """How the message writes the media type; some providers accept only ``plain`` ones."""

    @property
    def text_size(self) -> int:
        """The length of the data as base64."""
        if isinstance(self.data, str):
            return len(self.data) - self.start
        return (len(self.data) + 2) // 3 * 4

    def probe(self) -> Probe:
        """Inspect the image."""
        return images.probe_image(self.data, self.start)

    def key(self) -> bytes:
        """Return a hash of the content, that is of the base64 text or of the bytes.

        BLAKE3 if the extra ``fast`` is installed, otherwise SHA-256.
        """
        if not isinstance(self.data, str):
            hasher = _hash_function()(b"raw ")
            hasher.update(self.data)
            return bytes(hasher.digest())
        hasher = _hash_function()()
        for at in range(self.start, len(self.data), _PIECE):
            # Memory for a copy of the whole text would take longer than the hash.
            hasher.update(self.data[at : at + _PIECE].encode("ascii", "replace"))
        return bytes(hasher.digest())

    def decode(self) -> bytes:
        """Return the bytes of the image.

        Raises:
            ValueError: the text is not valid base64.
        """
        if not isinstance(self.data, str):
            return self.data
        if (fast := _pybase64()) is not None:
            text = memoryview(self.data.encode("ascii", "replace"))[self.start :]
            try:
                return bytes(fast.b64decode(text, validate=True))
            except (binascii.Error, ValueError):
                pass  # `_decode` accepts line breaks, URL-safe text and missing padding
        return _decode(self.data, self.start)


@lru_cache(maxsize=1)
def _pybase64() -> Any:  # noqa: ANN401 - a module or None
    """Return the module of the extra ``fast``: 50 times faster, and it does not hold the GIL."""
    try:
        import pybase64
    except ImportError:
        return None
    return pybase64


@lru_cache(maxsize=1)
def _hash_function() -> Any:  # noqa: ANN401 - a function of a module without types
    """Return BLAKE3 of the extra ``fast``, which is four times faster, or SHA-256."""
    try:
        from blake3 import blake3
    except ImportError:
        from hashlib import sha256

        return sha256
    return blake3


def _decode(text: str, start: int) -> bytes:
    if not images.base64_reader(text, start).canonical:
        text = remove_white_space(text, start).rstrip("=").translate(str.maketrans("-_", "+/"))
        text, start = text + "=" * (-len(text) % 4), 0
    pieces = [
        binascii.a2b_base64(text[at : at + _PIECE], strict_mode=at + _PIECE < len(text))
        for at in range(start, len(text), _PIECE)
    ]
    return b"".join(pieces)


def standard_base64(payload: Payload) -> str:
    """Return data as standard base64; the text itself if it is that already.

    Raises:
        ValueError: it is a text that is not base64.
    """
    data, start = payload.data, payload.start
    if isinstance(data, str) and images.base64_reader(data, start).canonical:
        return data[start:]
    return encode_base64(payload.decode())


def encode_base64(data: bytes) -> str:
    """Encode bytes as padded base64 of the standard alphabet, in one line."""
    if (fast := _pybase64()) is not None:
        return str(fast.b64encode_as_string(data))
    step = _PIECE // 4 * 3
    return b"".join(
        base64.b64encode(data[at : at + step]) for at in range(0, len(data), step)
    ).decode("ascii")


def payload_of(data: object, label: object = None) -> Payload | None:
    """Return the payload in a field of a message; None for a link, a file id or another value."""
    kind = label.lower() if isinstance(label, str) else None
    spelling: Spelling = "plain" if kind is None or kind == label else "capitals"
    if isinstance(data, bytearray | memoryview):
        data = bytes(data)
    if isinstance(data, bytes):
        return Payload(data, 0, kind, label_spelling=spelling)
    if not isinstance(data, str):
        return None
    if (found := read_data_url(data)) is not None:
        return Payload(*found)
    if "://" in data[:64]:
        return None
    return Payload(data, 0, kind, label_spelling=spelling)


def payload_of_url(url: object, label: object = None) -> Payload | None:
    """Return the payload in a field for a URL; None for a link or another address.

    Bare base64 is read as data, but is not in the form that providers read.
    """
    if not isinstance(url, str):
        return payload_of(url, label)
    if (found := read_data_url(url)) is not None:
        return Payload(*found)
    if url.strip() and is_address(url):
        return None
    return Payload(url, 0, label.lower() if isinstance(label, str) else None, is_exact=False)


def payload_of_data(data: object, label: object = None) -> Payload | None:
    """Return the payload in a field for base64; a data URL there is not what providers read."""
    found = payload_of(data, label)
    if found is None or not isinstance(data, str) or (found.data is data and not found.start):
        return found
    media_type = found.label or (label.lower() if isinstance(label, str) else None)
    return Payload(found.data, found.start, media_type, is_exact=False)
