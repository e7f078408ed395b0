"""A recompressed picture is at least as good as Pillow's plain pipeline at the same number of bytes.

The plain pipeline is ``resize`` with LANCZOS and ``save`` as JPEG, at the best quality that has no
more bytes. Both are compared with the mean of the original's pixels, a filter that neither uses.
"""

from __future__ import annotations

import io
import random
from functools import cache
from typing import Any

import pytest
from PIL import Image, ImageDraw

import chatmend
from tests.images.ocr import mean, needs_tesseract, page, read, recall
from tests.images.pictures import desktop, font, noise, saved
from tests.scale import examples, sampled

np = pytest.importorskip("numpy")

CLAUDE, STRICT = "anthropic/claude-sonnet-4-5", "strict"  # with WebP and without it
KINDS = ("screenshot", "chart", "photo", "mixed")
SEEDS = 10
_BLOCK = 8
_TOLERANCE = 0.0005
_WIDTH, _HEIGHT = 2100, 1200


def chart(seed: int) -> Image.Image:
    """Lines, bars and small numbers."""
    rng, image = random.Random(seed), Image.new("RGB", (_WIDTH, _HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    for line in range(5):
        points = [
            (x, _HEIGHT // 2 + rng.randint(-200, 200) + 60 * line) for x in range(40, _WIDTH, 25)
        ]
        draw.line(points, fill=(rng.randrange(220), 90, 40 * line), width=1 + line % 3)
    for x in range(60, _WIDTH - 80, 90):
        draw.text((x, _HEIGHT - 40), f"{x / 7:.1f}", fill="black", font=font(11))
        draw.rectangle((x, 300 - rng.randrange(200), x + 40, 300), fill=(x % 255, 120, 200))
    return image


@cache
def picture(kind: str, seed: int) -> tuple[bytes, Image.Image]:
    """A file and its pixels."""
    if kind == "photo":
        data = saved(noise(2600, 1600, 24, seed), "JPEG", quality=92)
        return data, Image.open(io.BytesIO(data)).convert("RGB")
    image = chart(seed)
    if kind != "chart":
        image = desktop(_WIDTH, _HEIGHT, size=8 + seed % 7, seed=seed)[0]
    if kind == "mixed":
        image.paste(noise(900, 600, 24, seed), (1100, 400))
    return saved(image, "PNG", compress_level=1), image


def plain(image: Image.Image, size: tuple[int, int], most: int) -> Image.Image:
    """The plain pipeline at the best quality that has at most ``most`` bytes."""
    small, fits, exceeds = image.resize(size, Image.Resampling.LANCZOS), 0, 96
    data = saved(small, "JPEG", quality=1)
    while exceeds - fits > 1:
        quality = (fits + exceeds) // 2
        made = saved(small, "JPEG", quality=quality)
        if len(made) <= most:
            fits, data = quality, made
        else:
            exceeds = quality
    return Image.open(io.BytesIO(data))


def similarity(first: Image.Image, second: Image.Image) -> float:
    """SSIM of the brightness, over blocks of 8 x 8 pixels."""
    x, y = _blocks(first), _blocks(second)
    mean_x, mean_y = x.mean(1), y.mean(1)
    covariance = ((x - mean_x[:, None]) * (y - mean_y[:, None])).mean(1)
    above = (2 * mean_x * mean_y + 6.5025) * (2 * covariance + 58.5225)
    below = (mean_x**2 + mean_y**2 + 6.5025) * (x.var(1) + y.var(1) + 58.5225)
    return float((above / below).mean())


def _blocks(image: Image.Image) -> Any:
    pixels = np.asarray(image.convert("L"), dtype=np.float32)
    height, width = (side // _BLOCK for side in pixels.shape)
    whole = pixels[: height * _BLOCK, : width * _BLOCK]
    return whole.reshape(height, _BLOCK, width, _BLOCK).swapaxes(1, 2).reshape(-1, _BLOCK**2)


def compare(kind: str, seed: int, target: str) -> tuple[float, float]:
    """The similarity of chatmend's result and of the plain one to the original."""
    data, image = picture(kind, seed)
    result = chatmend.recompress(data, target)
    ours = Image.open(io.BytesIO(result))
    assert ours.size != image.size
    original = image.resize(ours.size, Image.Resampling.BOX)
    return (
        similarity(ours, original),
        similarity(plain(image, ours.size, len(result)), original),
    )


@pytest.mark.parametrize("target", [CLAUDE, STRICT])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_never_worse_than_the_plain_pipeline_and_better_on_average(
    kind: str, target: str
) -> None:
    first = KINDS.index(kind)
    pairs = [compare(kind, seed, target) for seed in range(first, first + examples(1, SEEDS))]
    assert all(ours >= other - _TOLERANCE for ours, other in pairs), pairs
    assert mean(ours for ours, _ in pairs) > mean(other for _, other in pairs), pairs


def test_the_format_follows_the_content() -> None:
    def form(kind: str, target: str) -> str:
        return str(Image.open(io.BytesIO(chatmend.recompress(picture(kind, 0)[0], target))).format)

    assert [form(kind, CLAUDE) for kind in ("screenshot", "chart", "photo")] == [
        "WEBP", "WEBP", "JPEG"
    ]  # fmt: skip
    assert form("screenshot", STRICT) == "JPEG"


@needs_tesseract
@pytest.mark.showpiece
@pytest.mark.parametrize("target", sampled([CLAUDE, STRICT], [CLAUDE]))
def test_small_text_is_read_as_well_as_after_the_plain_pipeline(target: str) -> None:
    pairs = []
    for size in sampled(list(range(8, 15)), [8, 11, 14]):
        made = page(1000, 160, size=size, seed=size)
        sheet = Image.new("RGB", (_WIDTH, _HEIGHT), "white")
        sheet.paste(made.image)
        result = chatmend.recompress(saved(sheet, "PNG", compress_level=1), target)
        ours = Image.open(io.BytesIO(result))
        other = plain(sheet, ours.size, len(result))
        area = (0, 0, 1000 * 2000 // _WIDTH, 160 * 2000 // _WIDTH)
        pairs.append(tuple(recall(read(image.crop(area)), made.words()) for image in (ours, other)))
    assert all(ours >= other - 0.02 for ours, other in pairs), pairs
    assert mean(ours for ours, _ in pairs) >= mean(other for _, other in pairs) - 0.005, pairs
