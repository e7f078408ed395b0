"""Measures image work: probing, recompression, cached images and stalls of an event loop.

Every line is a ratio to a common baseline: ``b64decode`` and ``Image.open``; Pillow's plain
``open``, ``thumbnail``, ``save``; the loop over sizes and qualities that many agents use (called
the ladder below); one SHA-256. Run by ``make bench``.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.images.pictures import desktop, noise, saved

import chatmend
from chatmend.images import Recompressor, probe_image
from chatmend.images.payload import Payload
from chatmend.images.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

from PIL import Image

CLAUDE = "anthropic/claude-sonnet-4-5"
_ROOT = Path(__file__).resolve().parent.parent


def cpu(work: Callable[[], object], times: int = 5, each: int = 1) -> float:
    """Return the median CPU time of several runs in seconds, including all threads."""
    found = []
    for _ in range(times):
        start = time.process_time()
        for _ in range(each):
            work()
        found.append((time.process_time() - start) / each)
    return median(found)


def least_cpu(
    work: Callable[[], object], baseline: Callable[[], object], times: int = 7
) -> tuple[float, float]:
    """Return the least CPU time in seconds of two functions.

    The runs alternate, so that load from other processes affects both.
    """
    best = [float("inf")] * 2
    for _ in range(times):
        for index, function in enumerate((work, baseline)):
            start = time.process_time()
            function()
            best[index] = min(best[index], time.process_time() - start)
    return best[0], best[1]


def photo(width: int, height: int, seed: int = 1) -> bytes:
    """Return a JPEG like a photo of a phone: soft shapes with smoothed sensor noise."""
    rng = random.Random(seed)  # noqa: S311 - seeded, so that figures are reproducible
    tile = Image.new("L", (width // 2, height // 2))
    bands = []
    for band in noise(width, height, 0, seed).split():
        grain = Image.frombytes(
            "L",
            (512, 512),
            bytes(int(min(max(rng.gauss(128, 22), 0), 255)) for _ in range(512 * 512)),
        )
        for x in range(0, tile.width, 512):
            for y in range(0, tile.height, 512):
                tile.paste(grain, (x, y))
        bands.append(
            Image.blend(band, tile.resize((width, height), Image.Resampling.BILINEAR), 0.4)
        )
    return saved(Image.merge("RGB", bands), "JPEG", quality=92)


def plain(data: bytes, side: int) -> bytes:
    """Recompress with Pillow's ``open``, ``thumbnail`` and ``save``."""
    image = Image.open(io.BytesIO(data))
    image.thumbnail((side, side))
    return saved(image, "JPEG", quality=85)


def ladder(data: bytes, most: int) -> bytes:
    """Recompress with decreasing sizes and qualities until the result fits into ``most`` bytes.

    Every attempt decodes the original.
    """
    for side in (2000, 1800, 1600, 1400, 1200, 1000, 800):
        for quality in (85, 75, 65, 55, 45, 35):
            image = Image.open(io.BytesIO(data))
            image.thumbnail((side, side))
            out = saved(image.convert("RGB"), "JPEG", quality=quality)
            if len(out) <= most:
                return out
    return out


def recompress_uncached(data: bytes, target: str = CLAUDE, *, native: bool = False) -> bytes:
    """Recompress without a cached result."""
    return chatmend.images.recompress(data, target, native=native, recompressor=Recompressor())


def to_size(data: bytes, size: tuple[int, int]) -> bytes:
    """Recompress to any size, independent of the limits of targets."""
    plan = Plan(size, frozenset({"jpeg", "png", "webp"}))
    payload = Payload(data)
    return Payload(Recompressor()(payload, payload.probe(), plan).text or "").decode()


def print_result(label: str, ratio: float, goal: str, detail: str) -> None:
    """Print one line."""
    print(f"{label:<58} {ratio:>9.2f}   goal {goal:<10} {detail}")


def probing() -> None:
    """Compare the probe of an image with decoding it."""
    files = {
        "1080p PNG": saved(desktop(1920, 1080)[0].convert("RGB"), "PNG", compress_level=0),
        "12 MP JPEG": photo(4000, 3000),
        "48 MP JPEG": photo(8000, 6000),
        "5 MB PNG": saved(noise(1900, 1400, 255), "PNG", compress_level=1),
    }
    probe_costs = {}
    for name, data in files.items():
        text = base64.b64encode(data).decode()
        probe_costs[name] = cpu(lambda text=text: probe_image(text), each=300)
        decode_cost = cpu(lambda text=text: Image.open(io.BytesIO(base64.b64decode(text))), each=2)
        detail = f"{probe_costs[name] * 1e6:.1f} us, {len(text) / 1e6:.1f} MB"
        print_result(
            f"probe, {name}: speed-up over b64decode + Image.open",
            decode_cost / probe_costs[name],
            ">= 100",
            detail,
        )
    spread = probe_costs["48 MP JPEG"] / probe_costs["12 MP JPEG"]
    print_result("probe: CPU time, 48 MP / 12 MP", spread, "1", "independent of the size")


def recompression() -> None:
    """Compare recompression with the plain pipeline and the ladder."""
    small, large = (photo(w, h) for w, h in ((4000, 3000), (8000, 6000)))
    cases: list[tuple[str, bytes, Callable[[], object], Callable[[], object], str]] = [
        (
            "12 MP JPEG to 2000 px",
            small,
            lambda: recompress_uncached(small),
            lambda: plain(small, 2000),
            ">= 3.5",
        ),
        (
            "12 MP JPEG to 1568 px",
            small,
            lambda: to_size(small, (1568, 1176)),
            lambda: plain(small, 1568),
            ">= 2.2",
        ),
        (
            "48 MP JPEG to 2000 px",
            large,
            lambda: recompress_uncached(large),
            lambda: plain(large, 2000),
            ">= 2",
        ),
    ]
    for name, data, work, baseline, goal in cases:
        cost, plain_cost = least_cpu(work, baseline)
        ladders = cpu(lambda data=data: ladder(data, 400_000), times=1)
        detail = (
            f"chatmend {cost * 1e3:.0f} ms, plain {plain_cost * 1e3:.0f} ms, "
            f"ladder {ladders * 1e3:.0f} ms"
        )
        print_result(f"{name}: speed-up over the plain pipeline", plain_cost / cost, goal, detail)
    with tempfile.NamedTemporaryFile() as file:
        file.write(large)
        file.flush()
        chatmend_peak, plain_peak = peak("chatmend", file.name), peak("plain", file.name)
    print_result(
        "48 MP JPEG: peak memory, chatmend / plain pipeline",
        chatmend_peak / plain_peak,
        "<= 0.5",
        f"chatmend {chatmend_peak:.0f} MiB, plain {plain_peak:.0f} MiB",
    )


def peak(method: str, path: str) -> float:
    """Return the peak memory growth, in MiB, of a new process that recompresses a file."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_images", method, path],
        capture_output=True,
        text=True,
        check=True,
        cwd=_ROOT,
    )
    return float(run.stdout)


def grow(method: str, path: str) -> None:
    """Recompress a file in this process; print the peak memory growth in MiB."""
    data = Path(path).read_bytes()
    plain(saved(noise(300, 200), "JPEG"), 100)
    recompress_uncached(saved(noise(2100, 20), "JPEG"))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = high_water()
    recompress_uncached(data) if method == "chatmend" else plain(data, 2000)
    print((high_water() - before) / 1024)


def high_water() -> int:
    """Return the peak resident set size of this process in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(row.split()[1]) for row in lines if row.startswith("VmHWM"))


def cached_image() -> None:
    """Compare the repair of a cached image with one SHA-256 of its base64."""
    data = photo(4000, 3000)
    text = base64.b64encode(data).decode()
    messages: list[Any] = [
        {
            "role": "user",
            "content": [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/jpeg", "data": text},
                }
            ],
        }
    ]
    recompressor = Recompressor()

    def repair_again() -> object:
        return chatmend.repair(
            messages, CLAUDE, recompressor=recompressor, dialect="anthropic_messages"
        )

    repair_again()
    hash_cost = cpu(lambda: hashlib.sha256(text.encode()).digest(), times=9, each=5)
    cached_cost = cpu(repair_again, times=9, each=5)
    print_result(
        "repair of a cached image / SHA-256 of its base64",
        cached_cost / hash_cost,
        "<= 2",
        f"{cached_cost * 1e3:.2f} ms",
    )
    legal = saved(noise(1900, 1400, 60), "JPEG", quality=90)
    valid = [dict(messages[0], content=[{**messages[0]["content"][0]}])]
    valid[0]["content"][0]["source"] = {
        "type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(legal).decode()
    }  # fmt: skip
    cost = cpu(
        lambda: chatmend.repair(valid, CLAUDE, dialect="anthropic_messages"), times=9, each=50
    )
    print(f"repair of a transcript with one image within the limits: {cost * 1e6:.0f} us CPU time")


def event_loop() -> None:
    """Measure the longest stall of an event loop while eight photos are recompressed."""
    photos = [base64.b64encode(photo(4000, 3000, seed)).decode() for seed in range(8)]
    messages = [
        [
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{text}"}}
                ],
            }
        ]
        for text in photos
    ]

    async def stall(work: Callable[[Recompressor], Any]) -> float:
        worst, done = 0.0, False

        async def tick() -> None:
            nonlocal worst
            while not done:
                start = time.perf_counter()
                await asyncio.sleep(0.001)
                worst = max(worst, time.perf_counter() - start - 0.001)

        ticking = asyncio.create_task(tick())
        await asyncio.sleep(0.01)
        worst = 0.0
        await work(Recompressor())
        done = True
        await ticking
        return worst

    async def in_loop(recompressor: Recompressor) -> None:
        for one in messages:
            chatmend.repair(one, CLAUDE, recompressor=recompressor)
        await asyncio.sleep(0)

    async def in_threads(recompressor: Recompressor) -> None:
        await asyncio.gather(
            *(
                asyncio.to_thread(chatmend.repair, one, CLAUDE, recompressor=recompressor)
                for one in messages
            )
        )

    asyncio.run(stall(in_threads))  # starts the threads and imports Pillow
    inline_stall = median(asyncio.run(stall(in_loop)) for _ in range(3))
    thread_stall = median(asyncio.run(stall(in_threads)) for _ in range(3))
    fast = "with the fast extra" if sys.modules.get("pybase64") else "without the fast extra"
    detail = f"threads {thread_stall * 1e3:.0f} ms, event loop {inline_stall * 1e3:.0f} ms, {fast}"
    print_result(
        "longest stall: repair in threads / in the event loop",
        thread_stall / inline_stall,
        "<= 0.2/0.1",
        detail,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        grow(*sys.argv[1:])
    else:
        for benchmark in (probing, recompression, cached_image, event_loop):
            benchmark()
