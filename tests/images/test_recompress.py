"""One image: what comes out is legal, legible, no larger, the same everywhere, and made once."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageFile, ImageStat

import chatmend
from chatmend.errors import ImageError
from chatmend.images import (
    Budget,
    Recompressor,
    ResultCache,
    SharedCache,
    probe_image,
    seen_size,
    tokens,
)
from chatmend.images import payload as payload_module
from chatmend.images.payload import Payload, encode_base64
from chatmend.images.plan import plan_for
from chatmend.targets import resolve
from tests.images.pictures import HOPELESS, NAMES, desktop, noise, oriented, said, samples, saved
from tests.scale import sampled

CLAUDE = "anthropic/claude-sonnet-4-5"


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize(
    "name", ["screenshot", "photo", "one pixel", "still gif", "webp", "small alpha"]
)
def test_a_legal_image_comes_back_as_the_very_same_bytes(name: str) -> None:
    data = samples()[name].data
    assert chatmend.recompress(data, CLAUDE) is data


SAVED = list(
    product(
        [name for name in NAMES if name in samples() and name not in HOPELESS],
        [CLAUDE, "openai/gpt-4.1", "strict"],
    )
)


@pytest.mark.parametrize(("name", "target"), sampled(SAVED, SAVED[::4]))
def test_what_was_recompressed_is_legal(name: str, target: str) -> None:
    done = chatmend.recompress(samples()[name].data, target)
    assert chatmend.recompress(done, target) is done


@pytest.mark.parametrize("name", sorted(HOPELESS))
def test_what_cannot_be_saved_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(ImageError, match=r"bytes|KB"):
        chatmend.recompress(samples()[name].data, CLAUDE)


def test_one_bound_holds_however_large_the_image_was() -> None:
    assert probe_image(chatmend.recompress(samples()["large photo"].data, CLAUDE)).display_size == (
        2000,
        1333,
    )
    assert probe_image(chatmend.recompress(samples()["tall page"].data, CLAUDE)).display_size == (
        400,
        2000,
    )


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_photo_is_set_upright(orientation: int) -> None:
    corners = Image.new("RGB", (300, 200), "white")
    corners.paste((255, 0, 0), (0, 0, 100, 80))
    turned = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}[
        orientation
    ]  # Pillow's number of the inverse
    data = oriented(corners.transpose(Image.Transpose(turned)), orientation)
    done = opened(chatmend.recompress(data, CLAUDE))
    assert done.size == (300, 200)
    assert done.getexif().get(0x0112, 1) == 1
    red = done.convert("RGB").getpixel((40, 30))
    assert isinstance(red, tuple)
    assert (red[0] > 200, red[1] < 60) == (True, True)


def test_a_photo_keeps_its_looks() -> None:
    before = noise(3000, 2000)
    done = opened(chatmend.recompress(saved(before, "JPEG", quality=92), CLAUDE)).convert("RGB")
    difference = ImageChops.difference(done, before.resize(done.size, Image.Resampling.LANCZOS))
    assert max(ImageStat.Stat(difference).mean) < 3


@pytest.mark.parametrize(
    ("name", "dark"), [("light words on nothing", True), ("dark words on nothing", False)]
)
def test_what_is_transparent_gets_a_ground_on_which_the_words_can_be_read(
    name: str,
    dark: bool,  # noqa: FBT001
) -> None:
    done = opened(chatmend.recompress(samples()[name].data, CLAUDE)).convert("L")
    assert (done.getpixel((5, 5)) < 60) is dark
    low, high = done.getextrema()
    assert high - low > 150


def test_sixteen_bits_keep_their_gradient() -> None:
    done = opened(chatmend.recompress(samples()["16-bit grey"].data, CLAUDE)).convert("L")
    assert abs(done.getpixel((700, 300)) - 700 * 80 // 257) < 6
    assert abs(done.getpixel((100, 300)) - 100 * 80 // 257) < 6


def test_a_legal_original_stays_though_the_model_sees_less_of_it_or_it_could_be_smaller() -> None:
    for name in ("large screenshot", "scan", "grey photo", "photo as png", "large photo"):
        data = samples()[name].data
        assert chatmend.recompress(data, "openai/gpt-4.1") is data, name


def test_white_noise_fits_into_the_smallest_limit_with_two_encodes() -> None:
    data = saved(noise(2400, 2400, 255), "PNG", compress_level=0)
    done = chatmend.recompress(data, "groq/meta-llama/llama-4-scout")
    assert len(base64.b64encode(done)) <= 2_000_000


def test_low_detail_is_given_low_detail_where_the_image_must_change_anyway() -> None:
    done = chatmend.recompress(samples()["large on its side"].data, "openai/gpt-4o", detail="low")
    assert max(probe_image(done).display_size) == 512
    legal = samples()["photo"].data
    assert chatmend.recompress(legal, "openai/gpt-4o", detail="low") is legal


@pytest.mark.parametrize(
    "target", [CLAUDE, "anthropic/claude-opus-4-8", "openai/gpt-4o", "openai/gpt-4.1-mini"]
)
def test_native_is_exactly_what_the_model_sees(target: str) -> None:
    limits = resolve(target).limits.images
    assert probe_image(
        chatmend.recompress(samples()["large photo"].data, CLAUDE, native=True)
    ).display_size == (1344, 896)
    for name in ("large photo", "large screenshot", "tall page", "large on its side", "photo"):
        done = chatmend.recompress(samples()[name].data, target, native=True)
        shown = probe_image(done).display_size
        assert seen_size(limits, shown) == shown, name
        assert chatmend.recompress(done, target, native=True) is done
        assert (tokens(limits, shown) or 0) <= (
            tokens(limits, probe_image(samples()[name].data).display_size) or 0
        )


def test_a_spare_quarter_of_a_processor_makes_no_other_bytes() -> None:
    names = ["large photo", "large screenshot", "orientation 5", "cmyk photo", "large photo"]

    def digest(name: str) -> str:
        done = chatmend.recompress(samples()[name].data, CLAUDE)
        return hashlib.sha256(done).hexdigest()

    def fresh(name: str) -> str:
        payload = Payload(samples()[name].data)
        made = Recompressor()
        limits = resolve(CLAUDE).limits.images
        probe = payload.probe()
        wanted = plan_for(probe, limits)
        assert not isinstance(wanted, str)
        return hashlib.sha256(Payload(made(payload, probe, wanted).text or "").decode()).hexdigest()

    inline = [digest(name) for name in names]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fresh, names)) == inline


@pytest.mark.parametrize("missing", ["pybase64", "blake3"])
def test_the_extra_fast_changes_no_bytes(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = samples()["large photo"].data
    messages = said(samples()["large photo"])
    fast = chatmend.repair(messages, CLAUDE, recompressor=Recompressor()).messages
    monkeypatch.setitem(sys.modules, missing, None)
    payload_module._pybase64.cache_clear()
    payload_module._hash_function.cache_clear()
    try:
        slow = chatmend.repair(messages, CLAUDE, recompressor=Recompressor()).messages
        assert Payload(encode_base64(data)).decode() == data
    finally:
        payload_module._pybase64.cache_clear()
        payload_module._hash_function.cache_clear()
    assert slow == fast


def test_the_key_of_an_image_depends_on_all_of_its_data_and_on_nothing_else() -> None:
    text = base64.b64encode(bytes(range(256)) * 400).decode()  # longer than two pieces
    keys = [
        Payload(text).key(),
        Payload("data:image/png;base64," + text, 22).key(),
        Payload(text[:-3] + "A==").key(),
        Payload("B" + text[1:]).key(),
        Payload(base64.b64decode(text)).key(),
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


def test_another_process_makes_the_same_bytes() -> None:
    data = samples()["large photo"].data
    code = (
        "import sys, hashlib, chatmend; d = sys.stdin.buffer.read();"
        f"print(hashlib.sha256(chatmend.recompress(d, {CLAUDE!r})).hexdigest())"
    )
    out = {
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], input=data, capture_output=True, check=True
        ).stdout.strip()
        for _ in range(2)
    }
    assert out == {hashlib.sha256(chatmend.recompress(data, CLAUDE)).hexdigest().encode()}


def test_an_image_that_many_ask_for_at_once_is_made_once() -> None:
    made = Recompressor()
    messages = said(samples()["large photo"])
    with ThreadPoolExecutor(8) as pool:
        done = list(
            pool.map(
                lambda _: chatmend.repair(messages, CLAUDE, recompressor=made).messages, range(8)
            )
        )
    assert (made.cache.misses, made.cache.hits <= 7) == (1, True)
    assert all(messages == done[0] for messages in done)


def test_so_it_is_under_asyncio() -> None:
    made = Recompressor()
    messages = said(samples()["large screenshot"])

    async def all_at_once() -> list[Any]:
        calls = [
            asyncio.to_thread(chatmend.repair, messages, CLAUDE, recompressor=made)
            for _ in range(6)
        ]
        return list(await asyncio.gather(*calls))

    done = asyncio.run(all_at_once())
    assert made.cache.misses == 1
    assert len({repr(one.messages) for one in done}) == 1


def test_failures_are_remembered_too() -> None:
    made = Recompressor()
    for _ in range(3):
        chatmend.repair(said(samples()["truncated png"]), CLAUDE, recompressor=made)
    assert made.cache.misses == 1


def test_a_maker_that_fails_leaves_the_next_one_to_try() -> None:
    cache = ResultCache()
    with pytest.raises(KeyError):
        cache.find("k", lambda: {}["no"])
    assert cache.find("k", lambda: chatmend.images.Outcome(problem="p")).problem == "p"


def test_the_cache_is_bounded_by_bytes_and_forgets_the_oldest() -> None:
    cache = ResultCache(max_bytes=10_000)
    for at in range(9):
        cache.find(str(at), lambda: chatmend.images.Outcome("x" * 2000))
        cache.find("0", lambda: chatmend.images.Outcome("y" * 2000))
    assert cache.used <= 10_000
    before = cache.misses
    cache.find("0", lambda: chatmend.images.Outcome("z"))
    cache.find("8", lambda: chatmend.images.Outcome("z"))
    assert cache.misses == before
    cache.find("2", lambda: chatmend.images.Outcome("z"))
    assert cache.misses == before + 1


class Store(dict[str, bytes]):
    def put(self, key: str, value: bytes) -> None:
        self[key] = value


def with_store(
    store: Any, tenant: str = "team-a", secret: bytes = b"0123456789abcdef"
) -> Recompressor:
    return Recompressor(shared=SharedCache(store, tenant=tenant, secret=secret))


def test_a_shared_cache_serves_its_own_tenant_alone() -> None:
    store, messages = Store(), said(samples()["large photo"])
    first = chatmend.repair(messages, CLAUDE, recompressor=with_store(store)).messages
    assert len(store) == 1
    assert chatmend.repair(messages, CLAUDE, recompressor=with_store(store)).messages == first
    assert len(store) == 1
    chatmend.repair(messages, CLAUDE, recompressor=with_store(store, tenant="team-b"))
    assert len(store) == 2


def test_what_was_forged_in_a_shared_cache_is_not_used() -> None:
    store, messages = Store(), said(samples()["large photo"])
    first = chatmend.repair(messages, CLAUDE, recompressor=with_store(store)).messages
    forged = encode_base64(saved(Image.new("RGB", (2000, 1333), "red"), "JPEG")).encode()
    for value in (b"", b"x" * 40, b"\0" * 32 + forged, next(iter(store.values()))[:-4]):
        store.update(dict.fromkeys(store, value))
        assert chatmend.repair(messages, CLAUDE, recompressor=with_store(store)).messages == first
    other = Store()
    chatmend.repair(messages, CLAUDE, recompressor=with_store(other, secret=b"another secret !!"))
    store.update(dict(zip(store, other.values(), strict=True)))
    assert chatmend.repair(messages, CLAUDE, recompressor=with_store(store)).messages == first


def test_a_shared_cache_that_fails_costs_nothing_but_the_work() -> None:
    class Broken:
        def get(self, key: str) -> bytes:
            raise OSError(key)

        def put(self, key: str, value: bytes) -> None:
            raise OSError(key, value)

    messages = said(samples()["large photo"])
    assert chatmend.repair(messages, CLAUDE, recompressor=with_store(Broken())).changes


def test_no_more_is_decoded_at_once_than_the_budget_has_room_for() -> None:
    budget = Budget(workers=3, memory=100)
    used, most, lock = [0], [0], threading.Lock()

    def work(cost: int) -> None:
        with budget.reserve(cost):
            with lock:
                used[0] += cost
                most[0] = max(most[0], used[0])
            with lock:
                used[0] -= cost

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, [40, 70, 30, 90, 10, 100, 60] * 40))
    assert most[0] <= 100


def test_what_would_take_more_memory_than_allowed_is_not_decoded() -> None:
    small = Recompressor(budget=Budget(max_per_image=1 << 20))
    with pytest.raises(ImageError, match="memory"):
        chatmend.images.recompress(samples()["large photo"].data, CLAUDE, recompressor=small)
    legal = samples()["large photo"].data
    assert chatmend.images.recompress(legal, "openai/gpt-4.1", recompressor=small) is legal


def test_pillow_is_left_as_it_was() -> None:

    before = (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)
    for sample in samples().values():
        chatmend.repair(said(sample), "strict")
    assert before == (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)
    assert "HEIF" not in Image.OPEN


def test_importing_chatmend_imports_nothing_that_only_images_need() -> None:
    late = [
        "PIL",
        "hashlib",
        "chatmend.images.plan",
        "chatmend.images.probe",
        "chatmend.images.recompressor",
        "chatmend.images.tiles",
        "chatmend.documents.pdf",
    ]
    code = f"import sys, chatmend; sys.exit(any(name in sys.modules for name in {late}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


def test_the_words_of_a_screenshot_are_drawn_where_they_were() -> None:
    before, _ = desktop(2400, 1200)
    done = opened(chatmend.recompress(saved(before, "PNG"), CLAUDE)).convert("L")
    difference = ImageChops.difference(
        done, before.convert("L").resize(done.size, Image.Resampling.BICUBIC)
    )
    assert ImageStat.Stat(difference).mean[0] < 2
