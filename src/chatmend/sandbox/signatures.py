"""Signs the reasoning that the sandbox emits, and verifies it when it is sent back.

Real providers sign thinking blocks, thought signatures and encrypted reasoning. The sandbox
cannot verify their signatures and checks only their format. It verifies its own signatures
completely: the text, the model and the messages before it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from enum import Enum, auto

_MARK = b"\x12chatmend-sandbox\x00"
_KEY = b"chatmend sandbox: this key is public, it protects nothing"
_PATTERN = re.compile(r"[A-Za-z0-9+/_=-]{5,}\Z")
"""The format of a signature.

Real ones have at least 100 characters, but a recorded request with ``sig_abc`` was answered with
200.
"""


class SignatureStatus(Enum):
    """The result of verifying a signature."""

    GENUINE = auto()
    """Created by the sandbox for this text, this model and this prefix."""
    MOVED = auto()
    """Created by the sandbox for this text and model, but after a different prefix."""
    MODIFIED = auto()
    """Created by the sandbox, but for another text or another model."""
    FOREIGN = auto()
    """Not created by the sandbox, but in the format of a signature."""
    MALFORMED = auto()
    """Not in the format of a signature."""


def _mac(*parts: str) -> bytes:
    return hmac.new(
        _KEY, "\x1f".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256
    ).digest()


def sign(model: str, text: str, prefix: str = "") -> str:
    """Return a base64 signature of a text of this model, bound to the prefix before it."""
    return base64.b64encode(
        _MARK + _mac("text", model, text) + _mac("prefix", model, text, prefix)
    ).decode()


def verify(signature: str, model: str, text: str, prefix: str = "") -> SignatureStatus:
    """Verify the signature of a text that was sent back."""
    try:
        data = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data.startswith(_MARK):
        return SignatureStatus.FOREIGN if _PATTERN.match(signature) else SignatureStatus.MALFORMED
    body = data[len(_MARK) :]
    if not hmac.compare_digest(body[:32], _mac("text", model, text)):
        return SignatureStatus.MODIFIED
    genuine = hmac.compare_digest(body[32:], _mac("prefix", model, text, prefix))
    return SignatureStatus.GENUINE if genuine else SignatureStatus.MOVED
