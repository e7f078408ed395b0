"""Small images, good and bad, and the two types that all pairs share."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]
Pair = tuple[Body, Body]
"""What is refused, and what is accepted."""

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAABlBMVEX///+/v7+jQ3Y5AAAADklEQVQI12P4AIX8EAgALgAD/aNpbtEAAAAA"
    "SUVORK5CYII="
)
TORN = PNG[:60]
"""The first bytes of an image whose download broke."""
BMP = "Qk1GAAAAAAAAAD4AAAAoAAAAAgAAAAIAAAABAAEAAAAAAAgAAADEDgAAxA4AAAIAAAACAAAAAAAAAP///wAAAAAAAAAAAA=="
