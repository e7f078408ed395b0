"""Random access to the bytes of an image, wherever they lie: base64 text is decoded only where it is looked at."""

from __future__ import annotations

import binascii
import re
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WINDOW = 1536
"""Bytes decoded at once: most headers lie in the first window."""
_SPACE = re.compile(r"\s")
_STEPS, _BYTES_A_STEP = 1024, 64
"""A walk may take so many steps, and one more for so many bytes of the file. Real files need a few dozen."""
_WHITE = b" \t\n\v\f\r\x1c\x1d\x1e\x1f"
"""ASCII characters that ``str.split`` splits at."""
_URL_SAFE = str.maketrans("-_", "+/")


class Base64Error(ValueError):
    """A text that is no base64 where it was looked at."""


@dataclass(slots=True)
class Reader:
    """The bytes of an image: their number, and any few of them."""

    size: int
    read: Callable[[int, int], bytes]
    clean: bool = True
    """Whether the bytes came as such, or as base64 of the standard alphabet, in one line and padded."""
    exhausted: bool = False
    """Whether a walk has used up its steps: what it would have found further on is not known."""
    _start: int = 0
    _window: bytes = b""

    def steps(self) -> Iterator[None]:
        """The steps of one walk through the file, bounded in proportion to its bytes."""
        yield from repeat(None, _STEPS + self.size // _BYTES_A_STEP)
        self.exhausted = True

    def at(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset``; fewer at the end. Raises Base64Error."""
        begin = offset - self._start
        if begin < 0 or begin + length > len(self._window):
            self._start, begin = offset, 0
            self._window = self.read(offset, max(length, _WINDOW))
        return self._window[begin : begin + length]

    def some(self, offset: int, most: int) -> bytes:
        """Bytes from ``offset``: those that are decoded already, or else up to ``most``. Raises Base64Error."""
        begin = offset - self._start
        if not 0 <= begin < len(self._window):
            self._start, begin = offset, 0
            self._window = self.read(offset, most)
        return self._window[begin : begin + most]

    def tail(self, length: int) -> bytes:
        """The last ``length`` bytes."""
        return self.read(max(self.size - length, 0), length)


def bytes_reader(data: bytes | bytearray | memoryview) -> Reader:
    """The bytes themselves."""
    view = memoryview(data)
    return Reader(len(view), lambda offset, length: bytes(view[offset : offset + length]))


def base64_reader(text: str, start: int = 0) -> Reader:
    """The bytes that ``text`` encodes from ``start`` on, in any alphabet, padded or not, wrapped or not.

    Raises:
        Base64Error: a character stands there that no base64 has, as far as was looked.
    """
    head, tail = text[start : start + 1024], text[-128:]
    if _SPACE.search(head) or _SPACE.search(tail):
        text, start = unwrapped(text, start), 0
        head, tail = text[:1024], text[-128:]
        clean = False
    else:
        clean = True
    end = len(text)
    while end > start and text[end - 1] == "=":
        end -= 1
    count = end - start
    # The alphabet shows in the first 1024 characters of anything but a handful of flat images.
    safe = "-" in head or "_" in head or "-" in tail or "_" in tail
    clean = clean and not safe and (len(text) - start) % 4 == 0

    def read(offset: int, length: int) -> bytes:
        skip = offset % 3
        first = start + offset // 3 * 4
        piece = text[first : min(end, first + (skip + length + 2) // 3 * 4)]
        if safe:
            piece = piece.translate(_URL_SAFE)
        missing = -len(piece) % 4
        if missing == 3:  # noqa: PLR2004 - one character alone says nothing
            piece, missing = piece[:-1], 0
        try:
            found = binascii.a2b_base64(piece + "=" * missing, strict_mode=True)
        except (binascii.Error, ValueError) as error:
            if "-" in piece or "_" in piece:
                return _read_safe(piece, missing)[skip : skip + length]
            raise Base64Error("the data is no base64") from error
        return found[skip : skip + length]

    return Reader(count * 3 // 4, read, clean)


def unwrapped(text: str, start: int = 0) -> str:
    """The text from ``start`` on without white space."""
    if not text.isascii():
        return "".join(text[start:].split())
    return text[start:].encode("ascii").translate(None, _WHITE).decode("ascii")


def _read_safe(piece: str, missing: int) -> bytes:
    try:
        return binascii.a2b_base64(piece.translate(_URL_SAFE) + "=" * missing, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise Base64Error("the data is no base64") from error
