"""Small valid and invalid images, and the types of all pairs."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]
Pair = tuple[Body, Body]
"""The refused body and the accepted body."""

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAABlBMVEX///+/v7+jQ3Y5AAAADklEQVQI12P4AIX8EAgALgAD/aNpbtEAAAAA"
    "SUVORK5CYII="
)
TORN = PNG[:60]
"""The first bytes of an image whose download was interrupted."""
BMP = "Qk1GAAAAAAAAAD4AAAAoAAAAAgAAAAIAAAABAAEAAAAAAAgAAADEDgAAxA4AAAIAAAACAAAAAAAAAP///wAAAAAAAAAAAA=="
