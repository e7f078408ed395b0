"""Reads type and duration of audio and video files from their headers, in few steps.

A read is a range of bytes, so that base64 text is decoded only where it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmend.images.reader import Base64Error

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.reader import Reader

_HEAD = 64
_OGG_TAIL = 65_536
_RATES = (
    (44_100, 48_000, 32_000),  # MPEG 1
    (22_050, 24_000, 16_000),  # MPEG 2
    (11_025, 12_000, 8_000),  # MPEG 2.5
)
_BITRATES_1 = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_BITRATES_2 = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
"""Bit rates of MPEG layer 3 in kbit/s, for MPEG 1 and for MPEG 2 and 2.5."""
_INSIDE = (b"moov",)
_SECONDS_PER_DAY = 86_400
_LONGEST_DAYS = 100


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What is known about a recording without decoding it."""

    type: str
    """The name of the format, such as ``WAV``; empty if it is not known."""
    seconds: float | None = None
    """The duration; None if the header does not tell it."""


def probe_recording(reader: Reader) -> RecordingFacts:
    """Inspect an audio or video file. Never raises."""
    try:
        head = reader.read_at(0, _HEAD)
        for name, matches, read in _FORMATS:
            if matches(head):
                return RecordingFacts(name, _plausible(read(reader)))
    except (Base64Error, IndexError, ValueError, OverflowError):
        pass
    return RecordingFacts("")


def _plausible(seconds: float | None) -> float | None:
    if seconds is None or not 0 < seconds < _LONGEST_DAYS * _SECONDS_PER_DAY:
        return None
    return seconds


def _wav(reader: Reader) -> float | None:
    """RIFF chunks: the byte rate in ``fmt``, the number of bytes in ``data``."""
    at, rate = 12, 0
    for _ in reader.steps():
        chunk = reader.read_at(at, 20)
        if len(chunk) < 8:  # noqa: PLR2004 - name and length
            return None
        length = int.from_bytes(chunk[4:8], "little")
        if chunk[:4] == b"fmt ":
            rate = int.from_bytes(chunk[16:20], "little")
        elif chunk[:4] == b"data":
            # The length is unset while a recording is streamed.
            length = min(length, max(reader.size - at - 8, 0))
            return length / rate if rate else None
        at += 8 + length + (length & 1)
    return None


def _mp3(reader: Reader) -> float | None:
    """The first frame: its header Xing or Info counts the frames; else the bit rate is constant."""
    at = _end_of_id3(reader)
    frame = reader.read_at(at, 200)
    if len(frame) < 4 or frame[0] != 0xFF or frame[1] & 0xE0 != 0xE0:  # noqa: PLR2004
        return None
    version = {3: 0, 2: 1, 0: 2}.get(frame[1] >> 3 & 3)
    if version is None or frame[1] >> 1 & 3 != 1:  # only layer 3
        return None
    rate_at, bits_at = frame[2] >> 2 & 3, frame[2] >> 4
    if rate_at == 3 or bits_at in (0, 15):  # noqa: PLR2004 - reserved values
        return None
    rate = _RATES[version][rate_at]
    counted = _counted_frames(frame)
    if counted is not None:
        return counted * (1152 if version == 0 else 576) / rate
    bits = (_BITRATES_2 if version else _BITRATES_1)[bits_at]
    return (reader.size - at) * 8 / (bits * 1000)


def _end_of_id3(reader: Reader) -> int:
    head = reader.read_at(0, 10)
    if head[:3] != b"ID3":
        return 0
    size = 0
    for byte in head[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _counted_frames(frame: bytes) -> int | None:
    for mark in (b"Xing", b"Info"):
        at = frame.find(mark)
        if at >= 0 and frame[at + 7] & 1:
            return int.from_bytes(frame[at + 8 : at + 12], "big")
    return None


def _flac(reader: Reader) -> float | None:
    info = reader.read_at(8, 18)
    rate = int.from_bytes(info[10:13], "big") >> 4
    samples = int.from_bytes(info[13:18], "big") & ((1 << 36) - 1)
    return samples / rate if rate else None


def _ogg(reader: Reader) -> float | None:
    """The last page has the number of samples, the first one the rate."""
    head = reader.read_at(28, 40)
    opus = head.find(b"OpusHead")
    vorbis = head.find(b"\x01vorbis")
    if opus < 0 and vorbis < 0:
        return None
    rate = 48_000 if opus >= 0 else int.from_bytes(head[vorbis + 12 : vorbis + 16], "little")
    tail = reader.read_tail(_OGG_TAIL)
    last = tail.rfind(b"OggS")
    samples = int.from_bytes(tail[last + 6 : last + 14], "little") if last >= 0 else 0
    return samples / rate if rate and samples < 1 << 63 else None


def _mp4(reader: Reader) -> float | None:
    """Boxes: ``moov`` holds ``mvhd`` with time scale and duration."""
    at = 0
    for _ in reader.steps():
        box = reader.read_at(at, 16)
        if len(box) < 8:  # noqa: PLR2004 - length and name
            return None
        length, name = int.from_bytes(box[:4], "big"), box[4:8]
        if name in _INSIDE:
            at += 8
            continue
        if name == b"mvhd":
            return _movie_header(reader.read_at(at + 8, 32))
        if length == 1:
            length = int.from_bytes(box[8:16], "big")
        if length < 8:  # noqa: PLR2004 - 0: up to the end of the file
            return None
        at += length
    return None


def _movie_header(head: bytes) -> float | None:
    wide = head[0] == 1
    scale = int.from_bytes(head[20:24] if wide else head[12:16], "big")
    length = int.from_bytes(head[24:32] if wide else head[16:20], "big")
    return length / scale if scale else None


def _unread(_: Reader) -> None:
    return None


_FORMATS: tuple[
    tuple[str, Callable[[bytes], bool], Callable[[Reader], float | None]], ...
] = (
    ("WAV", lambda head: head[:4] == b"RIFF" and head[8:12] == b"WAVE", _wav),
    ("AVI", lambda head: head[:4] == b"RIFF" and head[8:12] == b"AVI ", _unread),
    ("FLAC", lambda head: head[:4] == b"fLaC", _flac),
    ("Ogg", lambda head: head[:4] == b"OggS", _ogg),
    ("MP4", lambda head: head[4:8] == b"ftyp", _mp4),
    ("WebM", lambda head: head[:4] == b"\x1a\x45\xdf\xa3", _unread),
    (
        "MP3",
        lambda head: head[:3] == b"ID3" or (head[:1] == b"\xff" and head[1:2] > b"\xe0"),
        _mp3,
    ),
)  # fmt: skip
"""Name, how its first bytes are recognised, and how the duration is read."""
