"""What a reader finds in a screenshot after recompression, at the size at which the model sees it."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter

import pytest
from PIL import Image

import chatmend
from chatmend.images import seen_size
from chatmend.targets import resolve
from tests.images.ocr import needs_tesseract, page, read, recall
from tests.images.pictures import Sample, desktop, said, saved
from tests.scale import sampled

pytestmark = pytest.mark.showpiece
"""Reading a page with tesseract takes seconds."""
CLAUDE = "anthropic/claude-sonnet-4-5"
_ROWS = re.compile(r"rows (\d+) to (\d+)")
_TARGETS = [CLAUDE, "anthropic/claude-opus-4-8", "openai/gpt-4o", "openai/gpt-5.4", "strict"]


@needs_tesseract
def test_95_of_100_words_of_a_4k_screenshot_are_still_read() -> None:
    screen, _ = desktop(3840, 2160, size=14)
    _, words = desktop(660, 1080, size=14)  # the same first lines of the first column
    done = Image.open(io.BytesIO(chatmend.recompress(saved(screen, "PNG"), CLAUDE)))
    assert done.size == (2000, 1125)
    found = read(done.crop((0, 0, 640 * 2000 // 3840, 562))) & Counter(words)
    assert found.total() >= 0.95 * len(words)


@needs_tesseract
@pytest.mark.parametrize("target", sampled(_TARGETS, [CLAUDE]))
def test_95_of_100_words_of_12_px_on_a_tall_page_are_read_as_the_model_sees_it(target: str) -> None:
    tall = page(600, 3000, size=12)
    messages = said(Sample("page", saved(tall.image, "PNG")))
    content = chatmend.repair(messages, target).messages[0]["content"][1:]
    limits = resolve(target).limits.images
    found, expected = Counter[str](), Counter[str]()
    for caption, tile in zip(content[::2], content[1::2], strict=True):
        rows = _ROWS.search(caption["text"])
        assert rows is not None
        data = base64.b64decode(tile["image_url"]["url"].partition(",")[2])
        image = Image.open(io.BytesIO(data))
        seen = image.resize(seen_size(limits, image.size), Image.Resampling.BICUBIC)
        words = tall.words(int(rows[1]), int(rows[2]))
        found += read(seen) & words
        expected += words
    assert expected.total() >= tall.words().total()
    assert recall(found, expected) >= 0.95


@needs_tesseract
def test_the_whole_page_is_illegible_which_the_tiles_are_for() -> None:
    tall = page(600, 4600, size=12)
    seen = seen_size(resolve(CLAUDE).limits.images, tall.image.size)
    whole = tall.image.resize(seen, Image.Resampling.BICUBIC)
    top = whole.crop((0, 0, whole.width, whole.height // 4))
    assert recall(read(top), tall.words(0, 4600 // 4)) < 0.1
