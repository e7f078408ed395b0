"""Reads a page with tesseract as a model would see it: as a whole, and cut into tiles."""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import chatmend
from chatmend.images import seen_size
from conversation import LINE_WIDTH, PAGE, conversation, screenshot

_LINE = re.compile(r"line (\d+)")


def is_possible() -> bool:
    """Return whether tesseract is installed."""
    return shutil.which("tesseract") is not None


def count_lines() -> int:
    """Return the number of lines on the page."""
    return PAGE[1] // 40


def whole_page(target: str) -> list[Image.Image]:
    """Return the whole page at the size at which the model would see it."""
    return [_as_seen(Image.open(io.BytesIO(base64.b64decode(screenshot()))), target)]


def tiles_of_page(target: str) -> list[Image.Image]:
    """Return the tiles that chatmend sends, at the size at which the model sees them."""
    parts: list[dict[str, Any]] = [
        part
        for message in chatmend.repair(conversation(), target).messages
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    files = [base64.b64decode(url.partition(",")[2]) for url in urls]
    return [_as_seen(Image.open(io.BytesIO(file)), target) for file in files]


def _as_seen(image: Image.Image, target: str) -> Image.Image:
    size = seen_size(chatmend.resolve(target).limits.images, image.size)
    return image if image.size == size else image.resize(size, Image.Resampling.BICUBIC)


def count_lines_read(images: list[Image.Image]) -> int:
    """Return how many different lines tesseract finds."""
    return len({number for image in images for number in _LINE.findall(_read(image))})


def _read(image: Image.Image) -> str:
    """Return the text in the left part of an image, which holds all text of the page."""
    width = image.width * LINE_WIDTH // PAGE[0]
    part = image.crop((0, 0, width, image.height)).convert("L")
    # Tesseract expects larger text than models do.
    part = part.resize((part.width * 2, part.height * 2), Image.Resampling.BICUBIC)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.png")
        part.save(path)
        run = subprocess.run(
            ["tesseract", str(path), "-", "--psm", "6"],  # noqa: S607
            capture_output=True, text=True, check=True,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )  # fmt: skip
    return run.stdout.lower()
