"""Feeds damaged image files to a repair: nothing may be raised, decoded above the caps, or left unsaid.

    python -m tests.images.fuzz 20000 [FORMAT...]

Each file is a whole one with flipped bytes, cut, with a header spliced in from another, or with sizes set at random.
"""

from __future__ import annotations

import base64
import io
import random
import resource
import struct
import sys
from typing import Any

from PIL import Image

import chatmend
from chatmend.images import Recompressor, probe_image
from chatmend.images.transcode import MOST_PIXELS
from tests.images.pictures import desktop, noise, oriented, saved

TARGETS = ("strict", "anthropic/claude-sonnet-4-5", "openai/gpt-4.1", "gemini/gemini-2.5-flash")
OPTIONS: dict[str, dict[str, Any]] = {
    "PNG": {},
    "GIF": {},
    "TIFF": {},
    "BMP": {},
    "ICO": {},
    "AVIF": {"speed": 10},
}


def seeds() -> dict[str, list[bytes]]:
    """Whole files by format."""
    photo, screen = noise(96, 64), desktop(640, 120)[0].crop((0, 40, 200, 120))
    clear = screen.convert("RGBA")
    clear.putalpha(screen.convert("L"))
    first, *rest = [noise(40, 30, seed=seed).quantize(16) for seed in range(3)]
    made = {
        "JPEG": [
            oriented(photo, 6),
            saved(photo, "JPEG", progressive=True),
            saved(photo.convert("CMYK"), "JPEG"),
        ],
        "WEBP": [
            saved(photo, "WEBP"),
            saved(clear, "WEBP", lossless=True),
            saved(photo, "WEBP", exif=b"Exif\0\0MM\0*"),
        ],
        "PNG": [
            saved(screen, "PNG"),
            saved(clear, "PNG"),
            saved(screen.convert("1"), "PNG"),
            saved(first, "PNG"),
        ],
        "GIF": [saved(first, "GIF", save_all=True, append_images=rest), saved(first, "GIF")],
        "TIFF": [saved(photo, "TIFF"), saved(screen, "TIFF", compression="tiff_lzw")],
        "BMP": [saved(photo, "BMP"), saved(first, "BMP")],
        "ICO": [saved(screen.resize((32, 32)), "ICO")],
        "AVIF": [saved(photo, "AVIF", speed=10)],
    }
    try:
        import pillow_heif  # noqa: PLC0415 - only where it is installed
    except ImportError:
        return made
    out = io.BytesIO()
    pillow_heif.from_pillow(photo).save(out)
    return {**made, "HEIC": [out.getvalue()]}


def damaged(files: list[bytes], others: list[bytes], lots: random.Random) -> bytes:
    """One file, broken in one way or several."""
    data = bytearray(lots.choice(files))
    for _ in range(lots.choice((1, 1, 1, 2, 3))):
        way = lots.randrange(6)
        if way == 0 and data:
            for _ in range(lots.choice((1, 4, 30))):
                data[lots.randrange(len(data))] = lots.randrange(256)
        elif way == 1:
            del data[lots.randrange(len(data) + 1) :]
        elif way == 2:
            other = lots.choice(others)
            data[: lots.randrange(1, 64)] = other[: lots.randrange(1, 64)]
        elif way == 3 and data:
            at = lots.randrange(min(len(data), 64))
            data[at : at + 4] = struct.pack(
                lots.choice("<>") + "I", lots.choice((0, 1, 20000, 65535, 1 << 20, 1 << 31))
            )
        elif way == 4:
            at = lots.randrange(len(data) + 1)
            data[at:at] = lots.randbytes(lots.choice((1, 9, 300)))
        else:
            data += lots.choice((b"\0" * 70, b"\xff\xd9", b"IEND", data[-20:]))
    return bytes(data)


def check(data: bytes, target: str, made: Recompressor) -> str | None:
    """What a repair of a message with these bytes does wrong, if anything."""
    text = base64.b64encode(data).decode()
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{text}"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, part]}]
    done = chatmend.repair(messages, target, recompressor=made)
    content = done.messages[0]["content"]
    if content[0] is not messages[0]["content"][0]:
        return "the words were touched"
    if content[1] is not part and not done.changes:
        return "a change was not reported"
    if content[1]["type"] == "image_url":
        found = probe_image(content[1]["image_url"]["url"].partition(",")[2])
        if found.width * found.height > MOST_PIXELS:
            return "a bomb was let through"
    if chatmend.repair(done.messages, target, recompressor=made).messages is not done.messages:
        return "not a fixed point"
    return None


def run(count: int, formats: list[str]) -> int:
    """Fuzz each format ``count`` times; how many went wrong."""
    files = seeds()
    everything = [data for group in files.values() for data in group]
    largest = [0]
    load = Image.Image.load

    def watched(self: Image.Image) -> Any:
        largest[0] = max(largest[0], self.width * self.height)
        return load(self)

    Image.Image.load = watched  # type: ignore[method-assign]
    try:
        return sum(
            _run(form, files, everything, count, largest) for form in formats or sorted(files)
        )
    finally:
        Image.Image.load = load  # type: ignore[method-assign]


def _run(
    form: str,
    files: dict[str, list[bytes]],
    everything: list[bytes],
    count: int,
    largest: list[int],
) -> int:
    lots, wrong, made = random.Random(f"images {form}"), 0, Recompressor()
    for at in range(count):
        data = damaged(files[form], everything, lots)
        try:
            fault = check(data, TARGETS[at % len(TARGETS)], made)
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            fault = f"{type(error).__name__}: {error}"
        if fault:
            wrong += 1
            print(form, at, fault)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{form:5} {count} files, {wrong} wrong; peak {peak} MiB, most decoded {largest[0]} pixels"
    )
    return wrong + (largest[0] > MOST_PIXELS)


if __name__ == "__main__":
    sys.exit(1 if run(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2:]) else 0)
