"""Marker tokens: every text, argument value and result carries one, so that a test can say what was lost."""

import base64
import re
import struct
import wave
import zlib
from io import BytesIO
from itertools import count
from random import Random
from typing import Any

from .nested import strings

TOKEN = re.compile(r"tok\d{5,10}x")
"""No token is part of another one: each begins with ``tok`` and ends with its only ``x``."""

PNG = "iVBORw0KGgo"
"""How the base64 text of every PNG begins."""


class Tokens:
    """Counts ``tok00000x``, ``tok00001x``, ... and draws an image for each number that is asked for."""

    def __init__(self) -> None:
        self._numbers = count()

    def number(self) -> int:
        """The next number; what is made from it is unique in the transcript."""
        return next(self._numbers)

    def token(self) -> str:
        """The next token."""
        return f"tok{self.number():05d}x"

    def png(self) -> str:
        """A real 8 x 8 PNG as base64, of a colour that no other image of the transcript has."""
        return png(self.number())


def fresh(rng: Random) -> str:
    """A token for content that a mutation invents. Ten digits, so that it never is one of the conversation's own."""
    return f"tok{rng.randrange(10**9, 10**10)}x"


def png(number: int) -> str:
    """A real 8 x 8 PNG as base64, its colour being ``number``."""
    row = b"\x00" + (number % 2**24).to_bytes(3, "big") * 8

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(row * 8))
        + chunk(b"IEND", b"")
    )
    return base64.b64encode(data).decode()


def silence() -> str:
    """A tenth of a second of silence: a real WAV file as base64."""
    held = BytesIO()
    with wave.open(held, "wb") as file:
        file.setparams((1, 1, 8_000, 0, "NONE", "not compressed"))
        file.writeframes(b"\x80" * 800)
    return base64.b64encode(held.getvalue()).decode()


def expected_tokens(value: Any) -> set[str]:
    """Every token anywhere in ``value`` (messages, a request, a report). Keys count, depth does not matter."""
    return {token for text in strings(value) for token in TOKEN.findall(text)}


def expected_images(value: Any) -> set[str]:
    """The base64 text of every PNG in ``value``, alone or in a data URL."""
    found = (
        text for text in strings(value) if text.startswith(PNG) or f";base64,{PNG}" in text[:80]
    )
    return {text[text.index(PNG) :] for text in found}
