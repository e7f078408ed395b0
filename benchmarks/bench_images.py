"""What images cost: looking at them, recompressing them, seeing them again, and what the event loop feels of it.

Every line is a ratio against something that everybody has: ``b64decode`` and ``Image.open``; Pillow's plain
``open, thumbnail, save``; the ladder of sizes and qualities that agents use; one SHA-256. Run as ``make bench``.
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
_HERE = Path(__file__).resolve().parent.parent


def cpu(work: Callable[[], object], times: int = 5, each: int = 1) -> float:
    """Seconds of processor time of this process, its threads included; the median of several."""
    found = []
    for _ in range(times):
        start = time.process_time()
        for _ in range(each):
            work()
        found.append((time.process_time() - start) / each)
    return median(found)


def against(ours: Callable[[], object], other: Callable[[], object], times: int = 7) -> tuple[float, float]:
    """Seconds of processor time of each of two, run in turn so that both meet the same machine; the best of several."""
    best = [float("inf")] * 2
    for _ in range(times):
        for at, work in enumerate((ours, other)):
            start = time.process_time()
            work()
            best[at] = min(best[at], time.process_time() - start)
    return best[0], best[1]


def photo(width: int, height: int, seed: int = 1) -> bytes:
    """A JPEG as a phone makes it: soft shapes under sensor noise that demosaicing has smeared over its neighbours."""
    lots = random.Random(seed)  # noqa: S311 - seeded, so that a figure can be had again
    tile = Image.new("L", (width // 2, height // 2))
    bands = []
    for band in noise(width, height, 0, seed).split():
        grain = Image.frombytes(
            "L", (512, 512), bytes(int(min(max(lots.gauss(128, 22), 0), 255)) for _ in range(512 * 512))
        )
        for x in range(0, tile.width, 512):
            for y in range(0, tile.height, 512):
                tile.paste(grain, (x, y))
        bands.append(Image.blend(band, tile.resize((width, height), Image.Resampling.BILINEAR), 0.4))
    return saved(Image.merge("RGB", bands), "JPEG", quality=92)


def plain(data: bytes, side: int) -> bytes:
    """What everybody writes first."""
    image = Image.open(io.BytesIO(data))
    image.thumbnail((side, side))
    return saved(image, "JPEG", quality=85)


def ladder(data: bytes, most: int) -> bytes:
    """Decreasing sizes and qualities, each decoded anew, until one fits."""
    for side in (2000, 1800, 1600, 1400, 1200, 1000, 800):
        for quality in (85, 75, 65, 55, 45, 35):
            image = Image.open(io.BytesIO(data))
            image.thumbnail((side, side))
            out = saved(image.convert("RGB"), "JPEG", quality=quality)
            if len(out) <= most:
                return out
    return out


def once(data: bytes, target: str = CLAUDE, *, native: bool = False) -> bytes:
    """Recompress without any memory of before."""
    return chatmend.images.recompress(data, target, native=native, recompressor=Recompressor())


def to_size(data: bytes, size: tuple[int, int]) -> bytes:
    """Recompress to a size that no target's bound is."""
    wanted = Plan(size, frozenset({"jpeg", "png", "webp"}))
    payload = Payload(data)
    return Payload(Recompressor()(payload, payload.probe(), wanted).text or "").decoded()


def line(what: str, ratio: float, wanted: str, detail: str) -> None:
    """One result."""
    print(f"{what:<58} {ratio:>9.2f}   wanted {wanted:<10} {detail}")


def looking() -> None:
    """Probing against decoding."""
    files = {
        "1080p PNG": saved(desktop(1920, 1080)[0].convert("RGB"), "PNG", compress_level=0),
        "12 MP JPEG": photo(4000, 3000),
        "48 MP JPEG": photo(8000, 6000),
        "5 MB PNG": saved(noise(1900, 1400, 255), "PNG", compress_level=1),
    }
    costs = {}
    for name, data in files.items():
        text = base64.b64encode(data).decode()
        costs[name] = cpu(lambda text=text: probe_image(text), each=300)
        other = cpu(lambda text=text: Image.open(io.BytesIO(base64.b64decode(text))), each=2)
        detail = f"{costs[name] * 1e6:.1f} us, {len(text) / 1e6:.1f} MB"
        line(f"probe, {name}: b64decode + Image.open is times slower", other / costs[name], ">= 100", detail)
    spread = costs["48 MP JPEG"] / costs["12 MP JPEG"]
    line("probe, 48 MP against 12 MP", spread, "1", "the same at any size")


def working() -> None:
    """Recompression against the plain pipeline and the ladder."""
    small, large = (photo(w, h) for w, h in ((4000, 3000), (8000, 6000)))
    cases: list[tuple[str, bytes, Callable[[], object], Callable[[], object], str]] = [
        ("12 MP JPEG to 2000 px", small, lambda: once(small), lambda: plain(small, 2000), ">= 3.5"),
        ("12 MP JPEG to 1568 px", small, lambda: to_size(small, (1568, 1176)), lambda: plain(small, 1568), ">= 2.2"),
        ("48 MP JPEG to 2000 px", large, lambda: once(large), lambda: plain(large, 2000), ">= 2"),
    ]
    for name, data, ours, other, wanted in cases:
        mine, theirs = against(ours, other)
        ladders = cpu(lambda data=data: ladder(data, 400_000), times=1)
        detail = f"{mine * 1e3:.0f} ms, plain {theirs * 1e3:.0f} ms, ladder {ladders * 1e3:.0f} ms"
        line(f"{name}: the plain pipeline is times slower", theirs / mine, wanted, detail)
    with tempfile.NamedTemporaryFile() as file:
        file.write(large)
        file.flush()
        mine, theirs = peak("once", file.name), peak("plain", file.name)
    line(
        "48 MP JPEG: our peak of memory by that of the plain one",
        mine / theirs,
        "<= 0.5",
        f"{mine:.0f} of {theirs:.0f} MiB",
    )


def peak(way: str, path: str) -> float:
    """MiB by which a fresh process grows at most while it recompresses a 48 MP JPEG."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_images", way, path],
        capture_output=True,
        text=True,
        check=True,
        cwd=_HERE,
    )
    return float(run.stdout)


def grow(way: str, path: str) -> None:
    """Run one way in this process, and print by how many MiB it grew."""
    data = Path(path).read_bytes()
    plain(saved(noise(300, 200), "JPEG"), 100)
    once(saved(noise(2100, 20), "JPEG"))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = high_water()
    once(data) if way == "once" else plain(data, 2000)
    print((high_water() - before) / 1024)


def high_water() -> int:
    """The most memory that this process ever had, in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(row.split()[1]) for row in lines if row.startswith("VmHWM"))


def again() -> None:
    """The second sight of an image that needs work."""
    data = photo(4000, 3000)
    text = base64.b64encode(data).decode()
    messages: list[Any] = [
        {
            "role": "user",
            "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": text}}],
        }
    ]
    made = Recompressor()

    def see() -> object:
        return chatmend.repair(messages, CLAUDE, recompressor=made, dialect="anthropic_messages")

    see()
    hashing = cpu(lambda: hashlib.sha256(text.encode()).digest(), times=9, each=5)
    seen = cpu(see, times=9, each=5)
    line("second sight of an image by the hash of its base64", seen / hashing, "<= 2", f"{seen * 1e3:.2f} ms")
    legal = saved(noise(1900, 1400, 60), "JPEG", quality=90)
    sound = [dict(messages[0], content=[{**messages[0]["content"][0]}])]
    sound[0]["content"][0]["source"] = {
        "type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(legal).decode()
    }  # fmt: skip
    cost = cpu(lambda: chatmend.repair(sound, CLAUDE, dialect="anthropic_messages"), times=9, each=50)
    print(f"a transcript of one legal image: {cost * 1e6:.0f} us")


def waiting() -> None:
    """The longest stall of an event loop while eight photos are recompressed."""
    photos = [base64.b64encode(photo(4000, 3000, seed)).decode() for seed in range(8)]
    messages = [
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{text}"}}]}]
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

    async def inline(made: Recompressor) -> None:
        for one in messages:
            chatmend.repair(one, CLAUDE, recompressor=made)
        await asyncio.sleep(0)

    async def aside(made: Recompressor) -> None:
        await asyncio.gather(*(asyncio.to_thread(chatmend.repair, one, CLAUDE, recompressor=made) for one in messages))

    asyncio.run(stall(aside))  # threads are started, Pillow is imported
    blocked = median(asyncio.run(stall(inline)) for _ in range(3))
    felt = median(asyncio.run(stall(aside)) for _ in range(3))
    fast = "with the fast extra" if sys.modules.get("pybase64") else "without the fast extra"
    detail = f"{felt * 1e3:.0f} of {blocked * 1e3:.0f} ms, {fast}"
    line("longest stall of the event loop in threads by inline", felt / blocked, "<= 0.2/0.1", detail)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        grow(*sys.argv[1:])
    else:
        for part in (looking, working, again, waiting):
            part()
