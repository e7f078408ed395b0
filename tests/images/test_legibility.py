"""What a reader finds in a screenshot after recompression."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from PIL import Image

import chatmend
from tests.images.pictures import desktop, saved

if TYPE_CHECKING:
    from pathlib import Path

TESSERACT = shutil.which("tesseract")


def read(image: Image.Image, folder: Path) -> Counter[str]:
    """The words that tesseract finds, on the picture at twice its size, as it wants small text."""
    path = folder / "page.png"
    grey = image.convert("L")
    grey.resize((grey.width * 2, grey.height * 2), Image.Resampling.BICUBIC).save(path)
    run = subprocess.run(  # noqa: S603 - an installed program reads a file of this test
        [str(TESSERACT), str(path), "-", "--psm", "11"], capture_output=True, text=True, check=True,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
    )  # fmt: skip
    return Counter(run.stdout.lower().split())


@pytest.mark.skipif(
    TESSERACT is None, reason="tesseract is not installed (apt install tesseract-ocr)"
)
def test_95_of_100_words_of_a_4k_screenshot_are_still_read(tmp_path: Path) -> None:
    target = "anthropic/claude-sonnet-4-5"
    screen, words = desktop(3840, 2160, size=14)
    done = Image.open(io.BytesIO(chatmend.recompress(saved(screen, "PNG"), target)))
    assert done.size == (2000, 1125)
    found = read(done, tmp_path) & Counter(words)
    assert found.total() >= 0.95 * len(words)
