"""Reads the addresses under which messages hold images: data URLs, bare base64, and links.

Data URLs are read as browsers do (RFC 2397, WHATWG), and so are frequent mistakes that have only
one meaning. Nothing is ever fetched.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

_LONGEST_HEAD = 512
"""The comma of a data URL must be among its first 512 characters."""
_LONGEST_SCHEME = 64
if TYPE_CHECKING:
    from collections.abc import Container

    from chatmend.targets.image_limits import ImageLimits

_MARKS = "\"'<>`"
_ENDS = f" \t\r\n\f\v{_MARKS}"
"""Characters around an address that do not belong to it: white space, quotes and brackets."""
_HEAD, _TAIL = 1024, 128
_WITHOUT_SCHEME = re.compile(
    r"(?:image|application|audio|video|text)/[\w.+-]{1,80};base64,", re.IGNORECASE
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{1,30}):")
"""A scheme has at least two letters; a single one is a drive of Windows."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_=\s-]*\Z")
_QUOTED = re.compile(rb"%([0-9A-Fa-f]{2})")
_SHORTEST_DATA = 40
"""A shorter text is not base64 of an image."""
_LINKS = ("http", "https")
_MOST_HEADS = 4


Spelling: TypeAlias = Literal["plain", "parameters", "capitals"]
"""How the media type of data is written.

In lower case alone (``plain``), with parameters behind it, or otherwise, as in ``image/PNG`` and
``DATA:image/png``.
"""

_REFUSED_SPELLINGS: dict[str, tuple[Spelling, ...]] = {
    "any": (),
    "lower": ("capitals",),
    "exact": ("capitals", "parameters"),
}


class DataAddress(NamedTuple):
    """The data in an address, and its media type."""

    data: str | bytes
    """Base64 text that contains the data, or the bytes."""
    start: int
    """Where the base64 begins."""
    media_type: str | None
    """The media type, in lower case; empty if the data URL has none."""
    is_exact: bool = True
    """False if the address has to be rewritten, because providers may not read it."""
    label_spelling: Spelling = "plain"
    """How the media type is written."""


def read_data_url(text: str) -> DataAddress | None:
    """Return the data in a data URL, also if it is slightly malformed; None for another text."""
    if text[:5].lower() == "data:":
        return _read(text, 0)
    start = _start_of_address(text)
    if text[start : start + 5].lower() == "data:":
        return _read(text, start)
    if _WITHOUT_SCHEME.match(text, start):
        return _read(text, start - 5)._replace(is_exact=False)
    return None


def _start_of_address(text: str) -> int:
    start = 0
    while start < min(len(text), _LONGEST_HEAD) and text[start] in _ENDS:
        start += 1
    return start


def _read(text: str, start: int) -> DataAddress:
    """Read a data URL whose ``data:`` begins at ``start``."""
    head_at = start + len("data:")
    comma = text.find(",", head_at, head_at + _LONGEST_HEAD)
    if comma < 0:
        return DataAddress(text, head_at, None)
    kind, *parameters = (part.strip() for part in text[head_at:comma].lower().split(";"))
    if kind == "base64" and not parameters:
        kind, parameters = "", ["base64"]
    if "base64" not in parameters:
        return DataAddress(_unquote(text[comma + 1 :]), 0, kind or None, is_exact=False)
    begin = _behind_repeated_heads(text, comma + 1)
    is_exact = start == 0 and begin == comma + 1 and text[-1] not in _MARKS
    found = _read_base64(text, begin, kind, is_exact=is_exact)
    return found._replace(label_spelling=_spelling_of(text[start:comma], kind))


def _spelling_of(head: str, kind: str) -> Spelling:
    if head == f"data:{kind};base64":
        return "plain"
    is_lower = head.startswith(f"data:{kind};") and head.endswith(";base64")
    return "parameters" if is_lower else "capitals"


def is_misspelt(spelling: Spelling, limits: ImageLimits) -> bool:
    """Whether the target refuses a media type, even a correct one, because of how it is written."""
    return spelling in _REFUSED_SPELLINGS[limits.label_spelling]


def _behind_repeated_heads(text: str, begin: int) -> int:
    """Return where the data begins if the head of the data URL is repeated before it."""
    for _ in range(_MOST_HEADS):
        if text[begin : begin + 5].lower() != "data:":
            break
        comma = text.find(",", begin, begin + _LONGEST_HEAD)
        if comma < 0:
            break
        begin = comma + 1
    return begin


def _read_base64(text: str, begin: int, kind: str, *, is_exact: bool) -> DataAddress:
    is_quoted = "%" in text[begin : begin + _HEAD] or "%" in text[max(begin, len(text) - _TAIL) :]
    if is_quoted or not is_exact:
        data = text[begin:].strip(_ENDS)
        if is_quoted:
            data = _unquote(data).decode("ascii", "replace").strip(_ENDS)
        return DataAddress(data, 0, kind, is_exact=False)
    return DataAddress(text, begin, kind)


def _unquote(text: str) -> bytes:
    """Return the bytes of a text in which some are written as ``%`` and two digits."""
    return _QUOTED.sub(lambda found: bytes((int(found[1], 16),)), text.encode("utf-8", "replace"))


def is_address(text: str) -> bool:
    """Return whether a text is an address of a file, well-formed or not, and not its data."""
    short = text[:_LONGEST_SCHEME]
    if "://" in short or _SCHEME.match(short.strip(_ENDS)):
        return True
    return len(text) < _SHORTEST_DATA or not _BASE64.match(short) or short.startswith("//")


def corrected_link(link: str, schemes: Container[str]) -> str | None:
    """Return the address of a link in the form that providers read; None if no provider can.

    Args:
        link: the address.
        schemes: the schemes that the target can read.
    """
    text = link.strip(_ENDS)
    if text.startswith("//") and len(text) > len("//"):
        text = f"https:{text}"
    scheme = _SCHEME.match(text)
    if scheme is None or scheme[1].lower() not in schemes:
        return None
    return text if scheme[1].lower() not in _LINKS or _has_host(text) else None


def _has_host(text: str) -> bool:
    _, slashes, rest = text.partition("://")
    return bool(slashes) and bool(rest.strip("/"))
