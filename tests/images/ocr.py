"""Reads images with tesseract, and draws pages whose words are known."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageDraw

from tests.images.pictures import WORDS, font

if TYPE_CHECKING:
    from collections.abc import Iterable

TESSERACT = shutil.which("tesseract")
needs_tesseract = pytest.mark.skipif(
    TESSERACT is None, reason="tesseract is not installed (apt-get install tesseract-ocr)"
)


def read(image: Image.Image) -> Counter[str]:
    """The words that tesseract finds, on the picture at twice its size, as it wants small text."""
    grey = image.convert("L")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.png")
        grey.resize((grey.width * 2, grey.height * 2), Image.Resampling.BICUBIC).save(
            path, compress_level=1
        )
        run = subprocess.run(  # noqa: S603 - an installed program reads a file of this test
            [str(TESSERACT), str(path), "-", "--psm", "11"], capture_output=True, text=True,
            check=True, env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )  # fmt: skip
    return Counter(run.stdout.lower().split())


@dataclass(frozen=True)
class Line:
    """A line of text on a page."""

    top: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A page and its lines of text."""

    image: Image.Image
    lines: tuple[Line, ...]
    pitch: int

    def words(self, top: int = 0, bottom: int | None = None) -> Counter[str]:
        """The words of the lines that lie completely between two rows."""
        last = self.image.height if bottom is None else bottom
        return Counter(
            word
            for line in self.lines
            if line.top >= top and line.top + self.pitch <= last
            for word in line.words
        )


def page(width: int, height: int, size: int = 12, seed: int = 1, face: Any = None) -> Page:
    """A page of text."""
    rng, face, pitch = random.Random(seed), face or font(size), int(size * 2.2)
    image = Image.new("RGB", (width, height), "white")
    draw, lines = ImageDraw.Draw(image), []
    for top in range(20, height - pitch, pitch):
        words, left = [], 20
        while True:
            word = rng.choice(WORDS)
            length = draw.textlength(word + " ", font=face)
            if left + length > width - 20:
                break
            draw.text((left, top), word, font=face, fill=(30, 30, 34))
            words.append(word)
            left += int(length)
        lines.append(Line(top, tuple(words)))
    return Page(image, tuple(lines), pitch)


def recall(found: Counter[str], expected: Counter[str]) -> float:
    """The share of the expected words that were found."""
    return (found & expected).total() / max(expected.total(), 1)


def mean(values: Iterable[float]) -> float:
    """The mean."""
    listed = list(values)
    return sum(listed) / len(listed)
