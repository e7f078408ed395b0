"""Whether an encrypted PDF opens without a password (ISO 32000-1, 7.6.3; ISO 32000-2, 7.6.4).

A PDF that only restricts printing is encrypted too, but every reader opens it.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
"""The padding of a password; alone it is the empty password."""
_LONGEST = 4096
"""Only the first 4 KiB of the dictionary of the encryption are read."""
_REFERENCE = re.compile(rb"/Encrypt\s+(\d{1,8})\s+(\d{1,5})\s+R")
_INLINE = re.compile(rb"/Encrypt\s*<<")
_ID = re.compile(rb"/ID\s*\[\s*")
_NUMBER = {
    name: re.compile(rb"/" + name.encode() + rb"\s+(-?\d{1,10})(?![\d.])")
    for name in ("R", "P", "Length")
}
_STRING = {name: re.compile(rb"/" + name.encode() + rb"\s*(?=[(<])") for name in ("O", "U")}
_KEEPS_METADATA = re.compile(rb"/EncryptMetadata\s+false")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_RC4_REVISIONS, _AES_256 = (2, 3, 4), 5
_LONGEST_STRING = 512


def opens_without_password(data: bytes) -> bool | None:
    """Return whether an encrypted PDF opens with the empty password; None if it is not known."""
    dictionary, identifier = _dictionary(data), _identifier(data)
    if dictionary is None:
        return None
    numbers = {name: _number(dictionary, name) for name in _NUMBER}
    owner, user = (_string_after(dictionary, _STRING[name]) for name in ("O", "U"))
    revision = numbers["R"]
    if owner is None or user is None or revision is None:
        return None
    if revision == _AES_256:
        return hashlib.sha256(user[32:40]).digest() == user[:32]
    if revision not in _RC4_REVISIONS or numbers["P"] is None:
        return None
    key = _key(dictionary, owner, numbers, identifier)
    return _is_user_key(key, user, identifier, revision)


def _dictionary(data: bytes) -> bytes | None:
    """Return the beginning of the dictionary of the encryption."""
    if (reference := _REFERENCE.search(data)) is not None:
        head = re.compile(rb"(?<!\d)" + reference[1] + rb"\s+" + reference[2] + rb"\s+obj")
        found = head.search(data)
        return data[found.end() : found.end() + _LONGEST] if found else None
    inline = _INLINE.search(data)
    return data[inline.end() : inline.end() + _LONGEST] if inline else None


def _identifier(data: bytes) -> bytes:
    return _string_after(data, _ID) or b""


def _number(dictionary: bytes, name: str) -> int | None:
    """Return a number; of several with one name the largest, as crypt filters repeat `Length`."""
    found = [int(text) for text in _NUMBER[name].findall(dictionary.partition(b"endobj")[0])]
    return max(found, default=None)


def _string_after(data: bytes, head: re.Pattern[bytes]) -> bytes | None:
    """Return the literal or hexadecimal string after a key."""
    found = head.search(data)
    if found is None:
        return None
    text = data[found.end() : found.end() + _LONGEST]
    if text[:1] == b"<":
        digits = re.sub(rb"[^0-9A-Fa-f]", b"", text[1:].partition(b">")[0])
        return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
    return _literal(text[1:]) if text[:1] == b"(" else None


def _literal(text: bytes) -> bytes:
    """Return the bytes of a literal string, from behind its parenthesis."""
    out, depth, at = bytearray(), 1, 0
    while at < len(text) and len(out) < _LONGEST_STRING:
        char = text[at : at + 1]
        at += 1
        if char == b"\\":
            octal = re.match(rb"[0-7]{1,3}", text[at : at + 3])
            piece = text[at : at + 1]
            out += bytes([int(octal[0], 8) & 255]) if octal else _ESCAPES.get(piece, piece)
            at += len(octal[0]) if octal else 1
            continue
        depth += (char == b"(") - (char == b")")
        if not depth:
            break
        out += char
    return bytes(out)


def _key(
    dictionary: bytes, owner: bytes, numbers: dict[str, int | None], identifier: bytes
) -> bytes:
    revision = numbers["R"] or 0
    length = 5 if revision == 2 else max(5, min((numbers["Length"] or 40) // 8, 16))  # noqa: PLR2004
    rights = (numbers["P"] or 0) & 0xFFFFFFFF
    parts: Iterable[bytes] = (_PADDING, owner[:32], rights.to_bytes(4, "little"), identifier)
    digest = hashlib.md5(b"".join(parts), usedforsecurity=False)
    if revision >= 4 and _KEEPS_METADATA.search(dictionary):  # noqa: PLR2004
        digest.update(b"\xff\xff\xff\xff")
    key = digest.digest()[:length]
    for _ in range(50 if revision > 2 else 0):  # noqa: PLR2004
        key = hashlib.md5(key, usedforsecurity=False).digest()[:length]
    return key


def _is_user_key(key: bytes, user: bytes, identifier: bytes, revision: int) -> bool:
    if revision == 2:  # noqa: PLR2004
        return _rc4(key, _PADDING) == user[:32]
    text = _rc4(key, hashlib.md5(_PADDING + identifier, usedforsecurity=False).digest())
    for step in range(1, 20):
        text = _rc4(bytes(byte ^ step for byte in key), text)
    return text == user[:16]


def _rc4(key: bytes, text: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) & 255
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in text:
        i = (i + 1) & 255
        j = (j + state[i]) & 255
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) & 255])
    return bytes(out)
