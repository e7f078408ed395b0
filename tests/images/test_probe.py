"""A probe of header and tail finds the same facts as decoding, in every form of the data."""

from __future__ import annotations

import base64
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from chatmend.images import probe_image
from chatmend.images.probe import probe_reader
from chatmend.images.reader import base64_reader
from tests.images.pictures import NAMES, samples
from tests.scale import examples

WHOLE = [
    name
    for name in NAMES
    if not name.startswith(("truncated", "empty", "header", "html", "svg", "bomb", "flat"))
]


@pytest.mark.parametrize("name", WHOLE)
def test_a_probe_says_what_pillow_says(name: str) -> None:
    if name not in samples():
        pytest.skip("this Pillow cannot write it")
    data = samples()[name].data
    found = probe_image(data)
    with Image.open(io.BytesIO(data)) as image:
        assert (found.width, found.height) == image.size
        assert found.type == (image.format or "").lower().replace("mpo", "jpeg")
        assert (found.frames > 1) == (getattr(image, "n_frames", 1) > 1)
        assert found.orientation == image.getexif().get(0x0112, 1)
        assert found.cmyk == (image.mode == "CMYK")
        assert (found.depth > 8) == image.mode.startswith("I;16")
    assert found.fault is None
    assert found.size == len(data)


@pytest.mark.parametrize(
    "name", [*WHOLE, "truncated jpeg", "truncated png", "truncated webp", "truncated gif"]
)
def test_the_spelling_of_base64_makes_no_difference_but_one_that_is_said(name: str) -> None:
    if name not in samples():
        pytest.skip("this Pillow cannot write it")
    data = samples()[name].data
    plain = probe_image(data)
    text = base64.b64encode(data).decode()
    assert probe_image(text) == plain
    assert probe_image("data:image/png;base64," + text, 22) == plain
    for spelled in (
        base64.urlsafe_b64encode(data).decode().rstrip("="),
        base64.encodebytes(data).decode(),
        "\r\n".join(text[at : at + 60] for at in range(0, len(text), 60)),
    ):
        found = probe_image(spelled)
        found.canonical = True
        assert found == plain


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("truncated jpeg", "truncated"),
        ("truncated png", "truncated"),
        ("truncated webp", "truncated"),
        ("truncated gif", "truncated"),
        ("header of a png", "truncated"),
        ("empty", "empty"),
        ("html", "corrupt"),
    ],
)
def test_what_is_not_whole_is_seen_without_decoding(name: str, fault: str) -> None:
    assert probe_image(samples()[name].data).fault == fault


def test_an_animated_png_and_a_heif_are_known() -> None:
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    out = io.BytesIO()
    frames[0].save(out, "PNG", save_all=True, append_images=frames[1:])
    assert (probe_image(out.getvalue()).type, probe_image(out.getvalue()).frames) == ("png", 2)
    heif = pytest.importorskip("pillow_heif")
    out = io.BytesIO()
    heif.from_pillow(frames[0].resize((64, 48))).save(out)
    found = probe_image(out.getvalue())
    assert (found.type, found.width, found.height, found.fault) == ("heic", 64, 48, None)


@given(st.one_of(st.binary(max_size=400), st.text(max_size=400)))
@settings(max_examples=examples(70, 4_000))
def test_nothing_makes_a_probe_raise(data: bytes | str) -> None:
    probe_image(data)


@given(
    name=st.sampled_from(
        ["photo", "screenshot", "webp", "still gif", "bmp", "tiff", "ico", "avif"]
    ),
    data=st.data(),
)
@settings(max_examples=examples(50, 3_000))
def test_neither_does_a_damaged_file_however_it_is_cut(name: str, data: st.DataObject) -> None:
    if name not in samples():
        return
    whole = samples()[name].data[:6000]
    cut = data.draw(st.integers(0, len(whole)))
    place = data.draw(st.integers(0, max(cut - 1, 0)))
    damaged = bytearray(whole[:cut])
    if damaged:
        damaged[place] = data.draw(st.integers(0, 255))
    found = probe_image(bytes(damaged))
    assert found.size == cut
    assert found.orientation in range(1, 9)
    assert found.width >= 0
    assert found.height >= 0


def _blocks(*lengths: int) -> bytes:
    return b"".join(bytes([length]) + b"x" * length for length in lengths) + b"\0"


_DESCRIPTOR = b"\x2c" + bytes(4) + b"\x64\0\x64\0" + b"\0" + b"\x08"
HOSTILE = {
    "tiny blocks": lambda size: _DESCRIPTOR + _blocks(*[1] * (size // 2)),
    "full and tiny blocks in turn": lambda size: _DESCRIPTOR + _blocks(*[255, 1] * (size // 258)),
    "empty extensions": lambda size: b"\x21\xfe\0" * (size // 3) + _DESCRIPTOR + _blocks(),
    "extensions of one block": lambda size: (
        (b"\x21\xfe" + _blocks(9)) * (size // 13) + _DESCRIPTOR + _blocks()
    ),
}
"""GIFs that make a walk through their blocks long."""


@pytest.mark.parametrize("shape", HOSTILE)
def test_each_byte_of_a_gif_is_decoded_a_few_times_at_most_however_small_its_blocks_are(
    shape: str,
) -> None:
    data = b"GIF89a" + b"\x64\0\x64\0" + b"\0\0\0" + HOSTILE[shape](100_000) + b";"
    reader = base64_reader(base64.b64encode(data).decode())
    decode, decoded = reader.read, []

    def counted(offset: int, length: int) -> bytes:
        decoded.append(len(found := decode(offset, length)))
        return found

    reader.read = counted
    found = probe_reader(reader)
    assert (found.width, found.height, found.frames, found.fault) == (100, 100, 1, None)
    assert sum(decoded) < 2 * len(data)
