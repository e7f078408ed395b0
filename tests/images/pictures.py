"""A corpus of images, made by a seed: what people and tools put into transcripts, sound and broken."""

from __future__ import annotations

import base64
import io
import random
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageDraw, ImageFont, features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEED = 20261121
WORDS = """the quick brown fox jumps over lazy dog settings window server answer question report market table weather
number water people morning garden letter simple figure ground record system memory program version network storage
display keyboard printer article chapter balance account invoice payment customer product delivery""".split()  # noqa: SIM905


@dataclass(frozen=True)
class Sample:
    """A file and what must become of it."""

    name: str
    data: bytes
    hopeless: bool = False
    """Nothing can be made of it but a text."""
    media_type: str = "image/png"

    @property
    def text(self) -> str:
        return base64.b64encode(self.data).decode()


def noise(width: int, height: int, spread: int = 24, seed: int = SEED) -> Image.Image:
    """Sensor noise over soft shapes: what a photo is to an encoder."""
    lots = random.Random(seed)
    small = Image.frombytes("RGB", (16, 12), lots.randbytes(16 * 12 * 3))
    ground = small.resize((width, height), Image.Resampling.BICUBIC)
    grain = Image.frombytes("L", (512, 512), lots.randbytes(512 * 512)).point(
        [int(v * spread / 255) for v in range(256)]
    )
    whole = Image.new("L", (width, height))
    for x in range(0, width, 512):
        for y in range(0, height, 512):
            whole.paste(grain, (x, y))
    return Image.merge("RGB", [Image.blend(band, whole, 0.3) for band in ground.split()])


def font(size: int) -> Any:
    try:
        return ImageFont.truetype("DejaVuSans.ttf", size)
    except OSError:
        return ImageFont.load_default(size)


def desktop(
    width: int, height: int, size: int = 14, seed: int = SEED
) -> tuple[Image.Image, list[str]]:
    """A screenshot full of text, and its words in order."""
    lots = random.Random(seed)
    image = Image.new("RGB", (width, height), (246, 246, 248))
    draw, face = ImageDraw.Draw(image), font(size)
    words: list[str] = []
    column = 560
    for left in range(20, width - column, column + 40):
        draw.rectangle(
            (left - 10, 20, left + column, height - 20),
            fill=(255, 255, 255),
            outline=(200, 200, 205),
        )
        for top in range(50, height - 60, int(size * 2.2)):
            x = left
            while True:
                word = lots.choice(WORDS)
                length = draw.textlength(word + " ", font=face)
                if x + length > left + column - 20:
                    break
                draw.text((x, top), word, font=face, fill=(30, 30, 34))
                words.append(word)
                x += int(length)
    return image, words


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_header(
    width: int, height: int, depth: int = 8, colour: int = 2, rows: bytes = b""
) -> bytes:
    """A PNG by hand: bombs, and files that only begin."""
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


def oriented(image: Image.Image, orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(image, "JPEG", quality=88, exif=exif)


def frames(count: int, size: tuple[int, int] = (320, 240)) -> list[Image.Image]:
    return [noise(*size, seed=SEED + at).quantize(64) for at in range(count)]


def _clear(*, light: bool) -> Image.Image:
    image = Image.new("RGBA", (900, 400), (0, 0, 0, 0))
    colour = (250, 250, 250, 255) if light else (10, 10, 10, 255)
    ImageDraw.Draw(image).text((40, 100), "words on nothing", font=font(64), fill=colour)
    return image


class Samples(Mapping[str, Sample]):
    """Every image of the corpus by name. An image is made when it is first asked for."""

    def __init__(self) -> None:
        self._makers: dict[str, Callable[[], Sample]] = {}
        self._made: dict[str, Sample] = {}

    def add(
        self, name: str, data: Callable[[], bytes], kind: str = "png", *, hopeless: bool = False
    ) -> None:
        self._makers[name] = lambda: Sample(name, data(), hopeless, f"image/{kind}")

    def __getitem__(self, name: str) -> Sample:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


@cache
def _screen() -> Image.Image:
    return desktop(2560, 1440)[0]


@cache
def _photo() -> Image.Image:
    return noise(3000, 2000)


def _sixteen_bits() -> bytes:
    rows = [[0, *(byte for x in range(800) for byte in divmod(x * 80 % 65536, 256))]] * 600
    return png_header(800, 600, 16, 0, bytes(byte for row in rows for byte in row))


def _turned(orientation: int) -> bytes:
    return oriented(_photo().crop((0, 0, 1200, 500)), orientation)


def _animated_webp() -> bytes:
    first, *rest = [image.convert("RGB") for image in frames(3)]
    return saved(first, "WEBP", save_all=True, append_images=rest, method=0)


def _animated_gif() -> bytes:
    first, *rest = frames(4)
    return saved(first, "GIF", save_all=True, append_images=rest, duration=80)


@cache
def samples() -> Samples:
    """Every image of the corpus by name."""
    made = Samples()
    _add_photos_and_screens(made)
    _add_types(made)
    _add_labels(made)
    _add_hopeless(made)
    return made


def _add_photos_and_screens(made: Samples) -> None:
    screen, photo, add = _screen, _photo, made.add
    add("screenshot", lambda: saved(screen().crop((0, 0, 1280, 720)), "PNG"))
    add("large screenshot", lambda: saved(screen(), "PNG"))
    add("photo", lambda: saved(photo().crop((0, 0, 1600, 1200)), "JPEG", quality=88), "jpeg")
    add("large photo", lambda: saved(photo(), "JPEG", quality=92), "jpeg")
    add("progressive photo", lambda: saved(photo(), "JPEG", quality=80, progressive=True), "jpeg")
    add("photo as png", lambda: saved(noise(2200, 1500, 255), "PNG", compress_level=1))
    add("heavy png", lambda: saved(noise(1900, 1400, 255), "PNG", compress_level=1))
    add("grey photo", lambda: saved(photo().convert("L").crop((0, 0, 2400, 800)), "JPEG"), "jpeg")
    add("scan", lambda: saved(screen().resize((2480, 3508)).convert("1"), "PNG"))
    add("tall page", lambda: saved(screen().resize((1000, 5000)), "PNG"))
    add("thin line", lambda: saved(Image.new("L", (3000, 1), 7), "PNG"))
    add("one pixel", lambda: png_header(1, 1, rows=b"\0\1\2\3"))
    add("dark words on nothing", lambda: saved(_clear(light=False).resize((2700, 1200)), "PNG"))
    add("light words on nothing", lambda: saved(_clear(light=True).resize((2700, 1200)), "PNG"))
    add("small alpha", lambda: saved(_clear(light=True), "PNG"))
    add(
        "palette with alpha", lambda: saved(_clear(light=False).quantize(32), "PNG", transparency=0)
    )


def _add_types(made: Samples) -> None:
    screen, photo, add = _screen, _photo, made.add
    add(
        "cmyk photo", lambda: saved(photo().crop((0, 0, 1200, 900)).convert("CMYK"), "JPEG"), "jpeg"
    )
    add("16-bit grey", _sixteen_bits)
    add("bmp", lambda: saved(noise(300, 200), "BMP"), "bmp")
    add("tiff", lambda: saved(noise(700, 500), "TIFF"), "tiff")
    add("ico", lambda: saved(noise(64, 64), "ICO"), "x-icon")
    add("still gif", lambda: saved(frames(1)[0], "GIF"), "gif")
    add("animated gif", _animated_gif, "gif")
    add("webp", lambda: saved(photo().crop((0, 0, 800, 600)), "WEBP", quality=80), "webp")
    add(
        "lossless webp",
        lambda: saved(screen().crop((0, 0, 900, 600)), "WEBP", lossless=True, method=1),
        "webp",
    )
    add("animated webp", _animated_webp, "webp")
    if features.check("avif"):
        add("avif", lambda: saved(noise(640, 480), "AVIF", speed=9), "avif")


def _add_labels(made: Samples) -> None:
    photo, add = _photo, made.add
    for orientation in range(2, 9):
        add(f"orientation {orientation}", partial(_turned, orientation), "jpeg")
    add("large on its side", lambda: oriented(photo(), 6), "jpeg")
    add("png called jpeg", lambda: made["screenshot"].data, "jpeg")
    add("jpeg called png", lambda: made["photo"].data, "png")
    add("jpeg of no type", lambda: made["photo"].data, "jpg")
    profile = b"\0" * 300_000
    add(
        "photo with a long profile",
        lambda: saved(photo().crop((0, 0, 900, 700)), "JPEG", icc_profile=profile),
        "jpeg",
    )


def _add_hopeless(made: Samples) -> None:
    def half(name: str) -> bytes:
        data = made[name].data
        return data[: len(data) // 2]

    for kind, name in (
        ("jpeg", "photo"),
        ("png", "screenshot"),
        ("webp", "webp"),
        ("gif", "still gif"),
    ):
        made.add(f"truncated {kind}", partial(half, name), kind, hopeless=True)
    html, svg = (
        b"<html><body>404 Not Found</body></html>" * 9,
        b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>',
    )
    add = partial(made.add, hopeless=True)
    add("empty", lambda: b"")
    add("header of a png", lambda: png_header(40, 40)[:33])
    add("html", lambda: html)
    add("svg", lambda: svg, "svg+xml")
    add("bomb of a header", lambda: png_header(65535, 65535))
    add("bomb of one bit", lambda: png_header(30000, 30000, 1, 0, bytes(30000 * 3751)))
    add("flat bomb", lambda: png_header(12000, 9000, 8, 2, bytes(9000 * 36001)))


HOPELESS = {
    *(f"truncated {kind}" for kind in ("jpeg", "png", "webp", "gif")),
    *("empty", "header of a png", "html", "svg", "bomb of a header", "bomb of one bit", "flat bomb"),
}  # fmt: skip
"""The names of the images that nothing can be made of, known before any is made."""


def shapes() -> dict[str, Callable[[str, str], dict[str, Any]]]:
    """How an image is written in a content part: from base64 and media type."""
    return {
        "image_url object": lambda text, kind: {
            "type": "image_url", "image_url": {"url": f"data:{kind};base64,{text}"}
        },
        "image_url string": lambda text, kind: {"type": "image_url", "image_url": f"data:{kind};base64,{text}"},
        "input_image": lambda text, kind: {"type": "input_image", "image_url": f"data:{kind};base64,{text}"},
        "anthropic": lambda text, kind: {
            "type": "image", "source": {"type": "base64", "media_type": kind, "data": text}
        },
        "gemini": lambda text, kind: {"inlineData": {"mimeType": kind, "data": text}},
        "gemini snake": lambda text, kind: {"inline_data": {"mime_type": kind, "data": text}},
        "bedrock": lambda text, kind: {
            "image": {"format": kind.removeprefix("image/"), "source": {"bytes": base64.b64decode(text)}}
        },
        "langchain v0": lambda text, kind: {
            "type": "image", "source_type": "base64", "mime_type": kind, "data": text
        },
        "langchain v1": lambda text, kind: {"type": "image", "base64": text, "mime_type": kind},
        "langchain url": lambda text, kind: {"type": "image", "url": f"data:{kind};base64,{text}"},
        "media": lambda text, kind: {"type": "media", "mime_type": kind, "data": text},
        "file": lambda text, kind: {"type": "file", "file": {"file_data": f"data:{kind};base64,{text}"}},
    }  # fmt: skip


def part(sample: Sample, shape: str = "image_url object") -> dict[str, Any]:
    """A sample as a content part."""
    return shapes()[shape](sample.text, sample.media_type)


def said(
    sample: Sample, shape: str = "image_url object", words: str = "What is this?"
) -> list[Any]:
    """A sample in a short conversation."""
    return [
        {"role": "user", "content": [{"type": "text", "text": words}, part(sample, shape)]},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "And now?"},
    ]


def each_sample() -> Any:
    """A parametrisation over the whole corpus, made when the test runs."""
    return pytest.mark.parametrize("name", NAMES)


NAMES = [
    "screenshot", "large screenshot", "photo", "large photo", "progressive photo", "photo as png", "heavy png",
    "grey photo", "scan", "tall page", "thin line", "one pixel", "dark words on nothing", "light words on nothing",
    "small alpha", "palette with alpha", "cmyk photo", "16-bit grey", "bmp", "tiff", "ico", "still gif",
    "animated gif", "webp", "lossless webp", "animated webp", "avif", *(f"orientation {n}" for n in range(2, 9)),
    "large on its side", "png called jpeg", "jpeg called png", "jpeg of no type", "photo with a long profile",
    "truncated jpeg", "truncated png", "truncated webp", "truncated gif", "empty", "header of a png", "html", "svg",
    "bomb of a header", "bomb of one bit", "flat bomb",
]  # fmt: skip
