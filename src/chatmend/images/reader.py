"""Reads ranges of the bytes of an image and decodes only the base64 text that they need."""

from __future__ import annotations

import binascii
import re
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WINDOW = 1536
"""Bytes decoded at once. Most headers fit into the first window."""
_SPACE = re.compile(r"\s")
_STEPS, _BYTES_PER_STEP = 1024, 64
"""A walk may take 1024 steps, plus one for every 64 bytes. Real files need a few dozen."""
_WHITE = b" \t\n\v\f\r\x1c\x1d\x1e\x1f"
"""The ASCII characters that ``str.split`` treats as white space."""
_URL_SAFE = str.maketrans("-_", "+/")


class Base64Error(ValueError):
    """The part of a text that was read is not valid base64."""


@dataclass(slots=True)
class Reader:
    """Reads ranges of the bytes of an image."""

    size: int
    read: Callable[[int, int], bytes]
    canonical: bool = True
    """Whether the data is raw bytes, or padded base64 of the standard alphabet in one line."""
    exhausted: bool = False
    """Whether a walk used up its steps, so that the rest of the file was not examined."""
    _start: int = 0
    _window: bytes = b""

    def steps(self) -> Iterator[None]:
        """Yield once per step of a walk through the file, limited in proportion to its size."""
        yield from repeat(None, _STEPS + self.size // _BYTES_PER_STEP)
        self.exhausted = True

    def read_at(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from ``offset``, or fewer at the end. Raises Base64Error."""
        begin = offset - self._start
        if begin < 0 or begin + length > len(self._window):
            self._start, begin = offset, 0
            self._window = self.read(offset, max(length, _WINDOW))
        return self._window[begin : begin + length]

    def read_available(self, offset: int, most: int) -> bytes:
        """Return the bytes from ``offset`` that are already decoded, at most ``most``.

        If none are decoded, decodes ``most`` bytes. Raises Base64Error.
        """
        begin = offset - self._start
        if not 0 <= begin < len(self._window):
            self._start, begin = offset, 0
            self._window = self.read(offset, most)
        return self._window[begin : begin + most]

    def read_tail(self, length: int) -> bytes:
        """Return the last ``length`` bytes."""
        return self.read(max(self.size - length, 0), length)


def bytes_reader(data: bytes | bytearray | memoryview) -> Reader:
    """Return a reader of raw bytes."""
    view = memoryview(data)
    return Reader(len(view), lambda offset, length: bytes(view[offset : offset + length]))


def base64_reader(text: str, start: int = 0) -> Reader:
    """Return a reader of the bytes that ``text`` encodes from index ``start``.

    Accepts the standard and the URL-safe alphabet, with or without padding and line breaks.

    Raises:
        Base64Error: the text has a character that is not base64, in a part that was read.
    """
    # The header of a data URL is not part of the data.
    head, tail = text[start : start + 1024], text[max(start, len(text) - 128) :]
    if _SPACE.search(head) or _SPACE.search(tail):
        text, start = remove_white_space(text, start), 0
        head, tail = text[:1024], text[-128:]
        canonical = False
    else:
        canonical = True
    end = len(text)
    while end > start and text[end - 1] == "=":
        end -= 1
    count = end - start
    # The first 1024 characters reveal the alphabet, except for a few images of uniform colour.
    safe = "-" in head or "_" in head or "-" in tail or "_" in tail
    canonical = canonical and not safe and (len(text) - start) % 4 == 0

    def read(offset: int, length: int) -> bytes:
        skip = offset % 3
        first = start + offset // 3 * 4
        piece = text[first : min(end, first + (skip + length + 2) // 3 * 4)]
        if safe:
            piece = piece.translate(_URL_SAFE)
        missing = -len(piece) % 4
        if missing == 3:  # noqa: PLR2004 - a single character does not encode a whole byte
            piece, missing = piece[:-1], 0
        try:
            found = binascii.a2b_base64(piece + "=" * missing, strict_mode=True)
        except (binascii.Error, ValueError) as error:
            if "-" in piece or "_" in piece:
                return _read_safe(piece, missing)[skip : skip + length]
            raise Base64Error("the data is not valid base64") from error
        return found[skip : skip + length]

    return Reader(count * 3 // 4, read, canonical)


def remove_white_space(text: str, start: int = 0) -> str:
    """Return the text from index ``start`` without white space."""
    if not text.isascii():
        return "".join(text[start:].split())
    return text[start:].encode("ascii").translate(None, _WHITE).decode("ascii")


def _read_safe(piece: str, missing: int) -> bytes:
    try:
        return binascii.a2b_base64(piece.translate(_URL_SAFE) + "=" * missing, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise Base64Error("the data is not valid base64") from error
