"""Facts in image headers that are built field by field, one field at its limit in each."""

from __future__ import annotations

import struct

import pytest

from chatmend.images import probe_image
from chatmend.images.headers.exif import orientation
from tests.images.headers import crafted

FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""The markers of frames; the other three are tables and an extension (ITU-T T.81, table B.1)."""
PROGRESSIVE, LOSSLESS = {0xC2, 0xC6, 0xCA, 0xCE}, {0xC3, 0xC7, 0xCB, 0xCF}


@pytest.mark.parametrize("marker", range(0xC0, 0xD0), ids=hex)
def test_the_marker_of_a_jpeg_frame_says_how_it_is_coded(marker: int) -> None:
    # One component, and a scan of it: only the marker can make it progressive.
    frame = bytes([0xFF, marker]) + b"\x00\x0b\x08" + struct.pack(">HH", 20, 30) + b"\x01\x01\x11\0"
    scan = b"\xff\xda\x00\x08\x01\x01\0\0\x3f\0"
    found = probe_image(b"\xff\xd8" + frame + scan + b"\x55" * 20 + b"\xff\xd9")
    if marker not in FRAMES:
        assert (found.width, found.fault) == (0, "corrupt")
        return
    assert (found.width, found.height, found.fault) == (30, 20, None)
    assert found.progressive is (marker in PROGRESSIVE)
    assert found.lossless is (marker in LOSSLESS)


def riff(kind: bytes, body: bytes, more: bytes = b"") -> bytes:
    chunk = kind + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)
    return b"RIFF" + struct.pack("<I", len(chunk + more) + 4) + b"WEBP" + chunk + more


def extended(flags: int) -> bytes:
    sides = (299).to_bytes(3, "little") + (199).to_bytes(3, "little")
    return riff(b"VP8X", bytes([flags, 0, 0, 0]) + sides, riff(b"VP8 ", b"\0" * 20)[12:])


@pytest.mark.parametrize(
    ("flags", "alpha", "frames"),
    [(0, False, 1), (0x02, False, 2), (0x10, True, 1), (0x12, True, 2), (0x2C, False, 1)],
)
def test_the_flags_of_a_webp(flags: int, alpha: bool, frames: int) -> None:  # noqa: FBT001
    found = probe_image(extended(flags))
    assert (found.alpha, found.frames) == (alpha, frames)
    assert (found.width, found.height, found.fault) == (300, 200, None)


@pytest.mark.parametrize("alpha", [0, 1])
def test_a_lossless_webp_packs_its_size_and_transparency_into_four_bytes(alpha: int) -> None:
    bits = 299 | 199 << 14 | alpha << 28
    found = probe_image(riff(b"VP8L", b"\x2f" + struct.pack("<I", bits) + b"\0" * 20))
    assert (found.width, found.height, found.alpha) == (300, 200, bool(alpha))
    assert found.lossless
    assert found.fault is None
    assert probe_image(riff(b"VP8L", b"\x2e" + struct.pack("<I", bits))).fault == "corrupt"


def test_a_webp_without_its_last_byte_is_truncated() -> None:
    whole = crafted("webp", 30, 20, 100)
    assert probe_image(whole).fault is None
    assert probe_image(whole + b"\0" * 9).fault is None
    for lost in (1, 8, 16):
        assert probe_image(whole[:-lost]).fault == "truncated"


def test_a_png_cut_within_its_first_chunk_is_truncated() -> None:
    whole = crafted("png", 30, 20, 10)
    assert [probe_image(whole[:size]).fault for size in range(8, 26)] == ["truncated"] * 18
    assert probe_image(whole[:12] + b"IHDX" + whole[16:]).fault == "corrupt"


def test_a_png_has_its_pixels_before_the_end_and_may_have_unknown_chunks() -> None:
    whole = crafted("png", 30, 20, 10)
    unknown = b"\0\0\0\2ABCDxy\0\0\0\0"
    assert probe_image(whole[:33] + unknown + whole[33:]).fault is None
    end = whole[-12:]
    assert probe_image(whole[:33] + end + whole[33:]).fault == "truncated"


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body) + 8) + kind + body


@pytest.mark.parametrize("last", [box(b"free", b""), box(b"free", b"x"), b""])
def test_the_boxes_of_a_heif_fill_the_file(last: bytes) -> None:
    whole = crafted("heic", 30, 20, 100) + last
    assert (probe_image(whole).width, probe_image(whole).fault) == (30, None)
    assert probe_image(whole[:-1]).fault == "truncated"
    assert probe_image(whole + b"\0\0\1\0free").fault == "truncated"


def test_the_length_of_a_heif_box_may_have_eight_bytes() -> None:
    data = b"\x55" * 1000
    long = struct.pack(">I4sQ", 1, b"mdat", len(data) + 16) + data
    whole = crafted("heic", 30, 20, 0) + long
    assert probe_image(whole).fault is None
    assert probe_image(whole + b"\0").fault == "truncated"


@pytest.mark.parametrize(
    ("brands", "found"),
    [
        (b"avif\0\0\0\0mif1", ("avif", None)),
        (b"mif1\0\0\0\0avif", ("avif", None)),
        (b"mif1\0\0\0\0", ("heic", None)),
        (b"mp42\0\0\0\0isom", ("unknown", "corrupt")),
    ],
)
def test_the_brands_of_a_heif(brands: bytes, found: tuple[str, str | None]) -> None:
    whole = crafted("heic", 30, 20, 10)
    probe = probe_image(box(b"ftyp", brands) + whole[24:])
    assert (probe.type, probe.fault) == found


@pytest.mark.parametrize("height", [96, -96, 1 << 24])
def test_a_bitmap_in_an_icon_is_half_as_high_as_its_header_says(height: int) -> None:
    """The lower half is the mask; a negative height means rows from top to bottom."""
    picture = struct.pack("<Iii", 40, 48, height) + b"\0" * 40
    entry = struct.pack("<BBBBHHII", 16, 16, 0, 0, 1, 32, len(picture), 22)
    found = probe_image(b"\0\0\1\0\1\0" + entry + picture)
    assert (found.type, found.width, found.height) == ("ico", 48, abs(height) // 2)


def directory(*entries: tuple[int, int, int]) -> bytes:
    """Return a TIFF file that ends with the last entry of its directory."""
    rows = b"".join(struct.pack("<HHIHH", tag, kind, 1, value, 0) for tag, kind, value in entries)
    return b"II*\0" + struct.pack("<IH", 8, len(entries)) + rows


def test_the_last_entry_of_a_directory_counts_even_if_nothing_follows() -> None:
    data = directory((256, 3, 30), (257, 4, 20), (274, 3, 6))
    assert orientation(data) == 6
    assert orientation(data[:-1]) == 1
    found = probe_image(data)
    assert (found.width, found.height, found.orientation) == (30, 20, 6)


def test_a_directory_behind_the_end_of_a_tiff_is_truncated() -> None:
    for at in (8, 9, 1 << 30):
        assert probe_image(b"II*\0" + struct.pack("<I", at)).fault == "truncated"
    assert probe_image(directory((256, 3, 30))).fault == "corrupt"
