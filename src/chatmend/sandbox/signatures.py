"""Signs reasoning that the sandbox emits, and verifies it when it comes back.

Real providers sign thinking blocks, thought signatures and encrypted reasoning. The sandbox cannot check theirs; it
looks only at their form. What it signed itself it checks in full: the text, the model, and the prefix before it.
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
_FORM = re.compile(r"[A-Za-z0-9+/_=-]{5,}\Z")
"""Genuine ones have 100 characters and more, but a recorded request with ``sig_abc`` was answered with 200."""


class Verdict(Enum):
    """What can be said of a signature."""

    GENUINE = auto()
    """Made here, for this text, this model and this prefix."""
    MOVED = auto()
    """Made here for this text and model, but the prefix before it is another one."""
    MODIFIED = auto()
    """Made here, but for another text or another model."""
    FOREIGN = auto()
    """Not made here; it has the form of a signature."""
    MALFORMED = auto()
    """Not even the form."""


def _mac(*parts: str) -> bytes:
    return hmac.new(_KEY, "\x1f".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256).digest()


def sign(model: str, text: str, prefix: str = "") -> str:
    """A signature over a text of this model, bound to the prefix before it (base64)."""
    return base64.b64encode(_MARK + _mac("text", model, text) + _mac("prefix", model, text, prefix)).decode()


def verify(signature: str, model: str, text: str, prefix: str = "") -> Verdict:
    """What the signature says of the text that it came back with."""
    try:
        data = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data.startswith(_MARK):
        return Verdict.FOREIGN if _FORM.match(signature) else Verdict.MALFORMED
    body = data[len(_MARK) :]
    if not hmac.compare_digest(body[:32], _mac("text", model, text)):
        return Verdict.MODIFIED
    genuine = hmac.compare_digest(body[32:], _mac("prefix", model, text, prefix))
    return Verdict.GENUINE if genuine else Verdict.MOVED
