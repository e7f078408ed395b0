"""What a target accepts is passed through without decoding; what must change is decoded within a budget of memory."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from PIL import Image

import chatmend
from chatmend.errors import ImageError, PolicyError
from chatmend.images import Budget, Recompressor, probe_image
from chatmend.images.budget import memory_of
from chatmend.images.facts import format_size
from chatmend.rules.image_words import TOO_LARGE
from chatmend.targets import resolve
from tests.images.headers import FORMS, crafted
from tests.images.judge import FACTS
from tests.images.pictures import HOPELESS, NAMES, noise, oriented, part, png_header, samples, saved
from tests.scale import examples, sampled

if TYPE_CHECKING:
    from chatmend.targets.image_limits import ImageLimits

CLAUDE, GPT = "anthropic/claude-sonnet-4-5", "openai/gpt-4.1"
NUMBERS = re.compile(
    r"takes ([\d.]+) (KB|MB) of memory, and the budget is ([\d.]+) (bytes|KB|MB) \(raise it with "
)
UNITS = {"bytes": 1, "KB": 10**3, "MB": 10**6}


def image(data: bytes, kind: str) -> dict[str, Any]:
    text = base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{text}"}}


def said(*parts: dict[str, Any]) -> list[Any]:
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, *parts]}]


def sent(messages: list[Any]) -> list[Any]:
    content: list[Any] = messages[0]["content"]
    return content[1:]


def data_of(block: dict[str, Any]) -> bytes:
    return base64.b64decode(block["image_url"]["url"].partition(",")[2])


def is_legal(limits: ImageLimits, form: str, size: tuple[int, int], data: bytes) -> bool:
    """Whether the limits allow the image unchanged, alone in a request: upright, not animated, with eight bits per channel."""
    text = (len(data) + 2) // 3 * 4
    longer, shorter = max(size), min(size)
    return (
        (limits.types is None or form in limits.types)
        and (limits.max_side is None or longer <= limits.max_side)
        and (limits.max_pixels is None or size[0] * size[1] <= limits.max_pixels)
        and shorter >= limits.min_side
        and (limits.max_aspect is None or longer <= limits.max_aspect * shorter)
        and (
            limits.max_bytes is None
            or (text if limits.bytes_of == "base64" else len(data)) <= limits.max_bytes
        )
        and (limits.max_request_bytes is None or text + 100_000 <= limits.max_request_bytes)
    )


SAVED = [name for name in NAMES if name not in HOPELESS]
SEEING = sorted(target for target in FACTS if FACTS[target].vision)
SIZES = st.sampled_from([0, 0, 0, 2_900_000, 3_900_000, 7_800_000])
EDGES = st.sampled_from([2000, 2001, 6000, 8000, 8001, 10000, 12000, 16383])


def drawn(
    data: st.DataObject, limits: ImageLimits, *, side: int
) -> tuple[str, tuple[int, int], bytes]:
    """A form, a size and a file."""
    form = data.draw(
        st.sampled_from(FORMS if limits.types is None else sorted(limits.types & set(FORMS)))
    )
    sides = st.one_of(st.integers(12, side), EDGES.filter(lambda edge: edge <= side))
    size = data.draw(sides), data.draw(sides)
    dense = size[0] * size[1] // 1000  # fewer bytes can hold no JPEG
    return form, size, crafted(form, *size, max(dense, data.draw(SIZES)))


@pytest.mark.parametrize("target", SEEING)
@given(data=st.data())
@settings(max_examples=examples(3, 100))
def test_an_image_within_the_limits_is_the_same_object_and_is_not_decoded(
    target: str, data: st.DataObject
) -> None:
    limits = resolve(target).limits.images
    form, size, file = drawn(data, limits, side=min(limits.max_side or 16383, 16383))
    assume(is_legal(limits, form, size, file))
    made, messages = Recompressor(memory=1), said(image(file, form))
    whole = chatmend.Policy(tall="scale")  # else an accepted image may be illegible
    done = chatmend.repair(messages, target, policy=whole, recompressor=made)
    assert (done.messages is messages, done.changes, made.cache.misses) == (True, (), 0)
    cut = chatmend.repair(messages, target, recompressor=made)
    assert cut.messages is messages
    assert all(change.code == "IMG013" and change.finding for change in cut.changes)


@pytest.mark.parametrize(
    "target", sampled(SEEING, [CLAUDE, "gemini/gemini-2.5-flash", "openai/gpt-5.6", "strict"])
)
@given(data=st.data())
@settings(max_examples=examples(6, 100), suppress_health_check=[HealthCheck.filter_too_much])
def test_an_image_beyond_them_becomes_a_text_with_both_numbers_or_is_still_accepted(
    target: str, data: st.DataObject
) -> None:
    limits = resolve(target).limits.images
    form, size, file = drawn(data, limits, side=16383)
    assume(not is_legal(limits, form, size, file))
    messages = said(image(file, form))
    done = chatmend.repair(messages, target, recompressor=Recompressor(memory=50))
    few = replace(limits, max_side=limits.few_side or limits.max_side)
    if is_legal(few, form, size, file):
        assert done.messages is messages
        assert [change.applied for change in done.changes] == [False]
    else:
        [text] = [block["text"] for block in sent(done.messages)]
        assert text.startswith(
            ("Image removed: the request", f"Image removed ({probe_image(file).description}): ")
        )
        assert (
            "too narrow" in text
            or "the request" in text
            or (named(text) > 50 and "is 50 bytes" in text)
        ), text
    assert (
        chatmend.repair(done.messages, target, recompressor=Recompressor(memory=50)).messages
        is done.messages
    )


@pytest.mark.parametrize("form", ["jpeg", "webp", "png"])
def test_24_and_108_megapixels_are_passed_on_where_they_are_accepted(form: str) -> None:
    for target in (GPT, "openai/gpt-4o", "gemini/gemini-2.5-flash", "gemini/gemini-3-pro-preview"):
        messages = said(
            image(crafted(form, 6000, 4000, 4_000_000), form),
            image(crafted(form, 12000, 9000, 999), form),
        )
        done = chatmend.repair(messages, target)
        assert (done.messages is messages, done.changes) == (True, ())


def test_24_megapixels_of_webp_are_scaled_for_anthropic() -> None:
    data = saved(Image.new("RGB", (6000, 4000), (200, 90, 30)), "WEBP", quality=20, method=0)
    [becomes] = sent(chatmend.repair(said(image(data, "webp")), CLAUDE).messages)
    found = probe_image(data_of(becomes))
    assert (found.type, found.display_size, found.fault) == ("jpeg", (2000, 1333), None)


def test_108_megapixels_of_jpeg_are_scaled_without_decoding_them_all() -> None:
    data = saved(Image.new("RGB", (12000, 9000), (200, 90, 30)), "JPEG", quality=20)
    small = Recompressor(memory=120_000_000)
    [becomes] = sent(
        chatmend.repair(said(image(data, "jpeg")), CLAUDE, recompressor=small).messages
    )
    assert probe_image(data_of(becomes)).display_size == (2000, 1500)


def test_a_jpeg_is_scaled_further_rather_than_dropped() -> None:
    data = saved(
        Image.new("RGB", (8000, 6000), (200, 90, 30)), "JPEG", quality=20, progressive=True
    )
    with pytest.raises(ImageError, match="memory"):
        chatmend.recompress(data, "openai/gpt-5.6", recompressor=Recompressor(memory="145 MB"))
    made = Recompressor(memory="300 MB")
    done = chatmend.repair(said(image(data, "jpeg")), "openai/gpt-5.6", recompressor=made)
    assert probe_image(data_of(sent(done.messages)[0])).display_size == (2560, 1920)
    assert "became JPEG, 2560 x 1920" in done.report()


def test_a_webp_that_cannot_be_scaled_goes_to_anthropic_as_it_is_while_the_images_are_few() -> None:
    large, dot = image(crafted("webp", 8000, 6000), "webp"), part(samples()["one pixel"])
    before: list[Any] = []
    for count in range(1, 26):
        messages = [
            message
            for at in range(count)
            for message in (*said(large if at == 3 else dot), _seen(at))
        ]
        done = chatmend.repair(messages, CLAUDE)
        kept = count <= 20
        if count > 3:
            assert sent(done.messages[6:])[0] == (
                large if kept else {"type": "text", "text": TOO_LARGE}
            )
            assert [(c.code, c.applied) for c in done.changes] == [
                ("IMG007", False),
                *([] if kept else [("IMG012", True)]),
            ]
            finding = done.changes[0].why
            assert "the target accepts it" in finding
            assert NUMBERS.search(finding)
        assert (done.messages[: len(before)] == before) or count == 21
        assert chatmend.repair(done.messages, CLAUDE).messages is done.messages
        assert chatmend.replay(messages, done.changes) == done.messages
        before = done.messages


def _seen(at: int) -> dict[str, str]:
    return {"role": "assistant", "content": f"Seen {at}."}


def test_a_large_image_among_many_is_dropped_alone_and_later_ones_are_judged_by_what_is_left() -> (
    None
):
    large, dot = image(crafted("webp", 8000, 6000), "webp"), part(samples()["one pixel"])
    parts = [dot, large, dot, large, *[dot] * 17, large]
    [message] = chatmend.repair(said(*parts), CLAUDE).messages
    kinds = ["large" if block == large else block["type"] for block in message["content"][1:]]
    assert kinds == ["image_url", "text", "image_url", "text", *["image_url"] * 17, "text"]
    fed = chatmend.repair([message, _seen(0), *said(large)], CLAUDE)
    assert sent(fed.messages[2:]) == [large]


@pytest.mark.parametrize("name", ["orientation 6", "cmyk photo", "16-bit grey"])
def test_what_is_only_read_differently_is_passed_through_if_it_takes_too_much_memory(
    name: str,
) -> None:
    messages = said(part(samples()[name]))
    done = chatmend.repair(messages, GPT, recompressor=Recompressor(memory=1000))
    assert done.messages is messages
    assert [(change.effect.name, change.applied) for change in done.changes] == [
        ("DEGRADES", False)
    ]
    assert NUMBERS.search(done.changes[0].why)


@pytest.mark.parametrize("name", sampled(SAVED, SAVED[::3]))
def test_the_memory_that_a_text_names_is_enough(name: str) -> None:
    if name not in samples():
        pytest.skip("this Pillow cannot write it")
    data, needed = samples()[name].data, 1
    for _ in range(3):  # a WebP has two numbers: to open it, and to scale it, too
        try:
            made = chatmend.recompress(data, "strict", recompressor=Recompressor(memory=needed))
            break
        except ImageError as error:
            needed = named(str(error))
    else:
        pytest.fail(f"{needed} bytes were asked for, and were not enough")
    assert made is data or probe_image(made).fault is None


def named(text: str) -> int:
    """The bytes of memory that a text asks for, at most; it rounds to a tenth of a unit."""
    found = NUMBERS.search(text)
    assert found is not None, text
    return int((float(found[1]) + 0.1) * UNITS[found[2]])


_PEAK = r"""
import sys
from pathlib import Path
import chatmend
from tests.images.pictures import noise, saved

def high_water():
    rows = Path("/proc/self/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) * 1024

form, options = sys.argv[1], eval(sys.argv[2])
picture = noise(300, 200).convert(sys.argv[3])
small, data = saved(picture, form, **options), saved(picture.resize((3000, 2000)), form, **options)
chatmend.recompress(small, "strict", native=True)
try:
    chatmend.recompress(data, "strict", recompressor=chatmend.images.Recompressor(memory=1))
except chatmend.ImageError as error:
    print(error)
generous = chatmend.images.Recompressor(memory="2 GB")
Path("/proc/self/clear_refs").write_text("5")
before = high_water()
chatmend.recompress(data, "strict", recompressor=generous)
print(high_water() - before)
"""


DECODED = [
    ("WEBP", "{'method': 0}", "RGBA"),
    ("JPEG", "{'progressive': True, 'subsampling': 0}", "RGB"),
    ("JPEG", "{'progressive': True}", "CMYK"),
    ("PNG", "{'compress_level': 1}", "P"),
    ("PNG", "{'compress_level': 1, 'transparency': (1, 2, 3)}", "RGB"),
]


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux's /proc"
)
@pytest.mark.parametrize(("form", "options", "mode"), sampled(DECODED, DECODED[::2]))
def test_decoding_takes_no_more_memory_than_the_header_says(
    form: str, options: str, mode: str
) -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", _PEAK, form, options, mode]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    error, grown = run.stdout.splitlines()
    assert int(grown) <= named(error) * 1.1


def test_a_jpeg_of_a_gigapixel_in_a_few_bytes_costs_no_decoding() -> None:
    messages = said(image(crafted("jpeg", 31000, 31000), "jpeg"))
    [text] = sent(chatmend.repair(messages, CLAUDE).messages)
    assert text["text"].endswith("it cannot be decoded.")
    messages = said(image(crafted("jpeg", 65500, 65500), "jpeg"))
    [text] = sent(chatmend.repair(messages, CLAUDE).messages)
    assert "it has 4290 megapixels, and at most 1000 are decoded" in text["text"]


def test_coefficients_of_a_jpeg_with_a_scan_for_each_colour_count() -> None:
    whole = saved(noise(900, 600), "JPEG", subsampling=0)
    apart = whole.replace(b"\xff\xda\x00\x0c\x03", b"\xff\xda\x00\x0c\x01")
    assert (probe_image(whole).progressive, probe_image(apart).progressive) == (False, True)


@pytest.mark.parametrize(
    "name", ["large photo", "large screenshot", "bmp", "tiff", "webp", "ico", "still gif"]
)
def test_the_applications_own_limit_of_pillow_does_not_matter(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = samples()[name].data
    expected = chatmend.recompress(data, "strict", recompressor=Recompressor())
    pixels = probe_image(data).width * probe_image(data).height
    monkeypatch.setattr(
        Image, "MAX_IMAGE_PIXELS", pixels // 2 + 1
    )  # Image.open would warn, or raise
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if name in ("tiff", "ico"):  # these ask for the limit again while they decode
            with pytest.raises(ImageError, match="MAX_IMAGE_PIXELS"):
                chatmend.recompress(data, "strict", recompressor=Recompressor())
        else:
            assert chatmend.recompress(data, "strict", recompressor=Recompressor()) == expected
    assert pixels // 2 + 1 == Image.MAX_IMAGE_PIXELS


def test_a_budget_is_given_in_bytes_or_as_a_size() -> None:
    assert [memory_of(value) for value in (1, "7", "512 MB", "1.5gb", " 3 KB ")] == [
        1, 7, 512_000_000, 1_500_000_000, 3000
    ]  # fmt: skip
    for value in (0, -1, True, None, 1.5, "", "many", "1 TB", "0.1"):
        with pytest.raises(PolicyError, match="image_memory="):
            memory_of(value)
    with pytest.raises(PolicyError, match="not both"):
        Recompressor(memory=1, budget=Budget())


def test_the_environment_sets_the_budget_of_the_shared_recompressor() -> None:
    data = oriented(noise(400, 300), 6)
    code = (
        "import sys, chatmend\n"
        "try: chatmend.recompress(sys.stdin.buffer.read(), 'strict')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )

    def run(value: str) -> str:
        out = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code],
            input=data,
            capture_output=True,
            check=True,
            env={"CHATMEND_IMAGE_MEMORY": value, "PYTHONPATH": ":".join(sys.path)},
        )
        return out.stdout.decode()

    assert run("") == run("1 GB") == ""
    assert "ImageError" in run("1 KB")
    assert "the budget is 1 KB" in run("1 KB")
    assert run("much").startswith("PolicyError image_memory='much'")


def test_another_budget_is_another_result_even_of_a_shared_cache() -> None:
    cache = chatmend.images.ResultCache()
    messages = said(image(saved(noise(400, 300), "BMP"), "bmp"))
    poor, rich = (Recompressor(cache=cache, memory=memory) for memory in (1000, "512 MB"))
    assert sent(chatmend.repair(messages, GPT, recompressor=poor).messages)[0]["type"] == "text"
    assert (
        sent(chatmend.repair(messages, GPT, recompressor=rich).messages)[0]["type"] == "image_url"
    )


def test_an_image_larger_than_a_whole_request_is_recompressed_not_dropped() -> None:
    target = resolve("gemini/gemini-3-pro-preview")
    limits = replace(target.limits, images=replace(target.limits.images, max_request_bytes=200_000))
    data = saved(noise(400, 300, 255), "PNG", compress_level=0)
    assert len(data) > 300_000
    [becomes] = sent(
        chatmend.repair(
            said(image(data, "png")), replace(target, limits=limits, spoken={})
        ).messages
    )
    assert becomes["type"] == "image_url"
    assert len(data_of(becomes)) < 100_000


def test_a_bomb_is_named_with_its_numbers() -> None:
    data = png_header(30000, 30000, 1, 0, bytes(30000 * 3751))
    with pytest.raises(
        ImageError,
        match=r"PNG, 30000 x 30000, .*takes 2\d+\.\d MB of memory, and the budget is 512 MB",
    ):
        chatmend.recompress(data, GPT)
    assert format_size(512_000_000) == "512 MB"
