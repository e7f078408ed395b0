"""Tall and wide images become tiles that the model can read; other images stay whole."""

from __future__ import annotations

import base64
import io
from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import chatmend
from chatmend.images import Recompressor, SharedCache, probe_image, seen_size, tiling_for, tokens
from chatmend.images.budget import Budget
from chatmend.images.cutting import cut
from chatmend.images.facts import Probe
from chatmend.images.pixels import apply_orientation
from chatmend.images.plan import Plan
from chatmend.images.tiles import LEGIBLE, Tiling
from chatmend.targets import resolve
from tests.images.judge import FACTS, refusals
from tests.images.pictures import Sample, desktop, oriented, part, said, samples, saved, shapes
from tests.scale import sampled

CLAUDE, OPUS, GPT4O = "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-8", "openai/gpt-4o"
GPT54, MISTRAL = "openai/gpt-5.4", "mistral/mistral-medium-latest"
SEEING = sorted(target for target in FACTS if FACTS[target].vision)
SIZED = list(product(SEEING, [(700, 5000), (5200, 700)]))


@cache
def page(width: int = 700, height: int = 5000) -> Sample:
    """A screenshot of a whole page with text of 12 px."""
    return Sample("page", saved(desktop(width, height, size=12)[0], "PNG"))


def images_in(parts: Any) -> list[bytes]:
    """The images of the ``image_url`` parts, in order."""
    return [
        base64.b64decode(item["image_url"]["url"].partition(",")[2])
        for item in parts
        if item.get("type") == "image_url"
    ]


def codes(done: Any) -> list[str]:
    return [change.code for change in done.changes]


# What stays whole


@pytest.mark.parametrize(
    ("target", "size"),
    [
        (CLAUDE, (700, 1568)),  # as tall as the model sees
        (CLAUDE, (1170, 2000)),  # a phone
        (GPT4O, (760, 2048)),
        (OPUS, (600, 2000)),  # tall, and seen at its size
        (MISTRAL, (1540, 400)),
        ("gemini/gemini-2.5-flash", (1440, 11000)),  # the size that the model sees is unknown
        ("openai_compatible/any", (1440, 11000)),
        ("xai/grok-4", (1440, 11000)),
    ],
)
def test_a_legible_image_is_the_same_object(target: str, size: tuple[int, int]) -> None:
    messages = said(Sample("flat", saved(Image.new("RGB", size, "#eeeeee"), "PNG")))
    assert chatmend.repair(messages, target).messages is messages


def test_screens_and_photos_are_scaled_as_a_whole() -> None:
    for name in ("large screenshot", "large photo", "scan"):
        done = chatmend.repair(said(samples()[name]), CLAUDE)
        assert codes(done) == ["IMG007"]
        assert len(images_in(done.messages[0]["content"])) == 1


def test_a_line_that_can_hold_no_text_is_scaled_as_a_whole() -> None:
    assert codes(chatmend.repair(said(samples()["thin line"]), CLAUDE)) == ["IMG007"]


def test_detail_low_asks_for_a_small_image() -> None:
    image = part(page())
    image["image_url"]["detail"] = "low"
    messages = [{"role": "user", "content": [image]}]
    assert chatmend.repair(messages, GPT4O).messages is messages


@pytest.mark.parametrize("policy", [{"tall": "scale"}, {"images": "native"}, {"images": "off"}])
def test_policies_that_keep_an_image_whole(policy: dict[str, str]) -> None:
    for target in (CLAUDE, GPT4O):
        done = chatmend.repair(said(page()), target, policy=policy)
        assert len(images_in(done.messages[0]["content"])) == 1
        assert "IMG013" not in codes(done)


def test_the_screenshot_of_a_computer_tool_stays_whole() -> None:
    shot = {
        "type": "computer_screenshot",
        "image_url": f"data:image/png;base64,{page().text}",
    }
    action = {"type": "screenshot"}
    items = [
        {"role": "user", "content": "look"},
        {
            "type": "computer_call", "id": "cu_1", "call_id": "call_1", "action": action,
            "pending_safety_checks": [], "status": "completed",
        },
        {"type": "computer_call_output", "call_id": "call_1", "output": shot},
    ]  # fmt: skip
    done = chatmend.repair(items, "openai/gpt-4.1", dialect="openai_responses")
    assert done.messages[2] is items[2]


def test_an_animation_is_not_cut() -> None:
    first, second = (desktop(640, 4000, seed=seed)[0].quantize(16) for seed in (1, 2))
    moving = Sample("moving", saved(first, "GIF", save_all=True, append_images=[second]))
    done = chatmend.repair(said(moving), MISTRAL)
    assert codes(done) == ["IMG004"]


# What is cut


def test_a_page_becomes_tiles_in_reading_order_each_after_a_caption() -> None:
    messages = said(page())
    done = chatmend.repair(messages, CLAUDE)
    content = done.messages[0]["content"]
    assert content[0] is messages[0]["content"][0]
    assert [item["type"] for item in content[1:]] == ["text", "image_url"] * 3
    assert [item["text"] for item in content[1::2]] == [
        "Tile 1 of 3 of an image of 700 x 5000 pixels: rows 0 to 1725.",
        "Tile 2 of 3 of an image of 700 x 5000 pixels: rows 1637 to 3362.",
        "Tile 3 of 3 of an image of 700 x 5000 pixels: rows 3275 to 5000.",
    ]
    assert done.messages[1:] == messages[1:]
    (change,) = done.changes
    assert change.code == "IMG013"
    assert "PNG, 700 x 5000" in change.why
    assert "became 3 tiles of" in change.why
    limits = resolve(CLAUDE).limits.images
    each = [tokens(limits, probe_image(data).display_size) or 0 for data in images_in(content)]
    before = tokens(limits, (700, 5000))
    assert f"about {sum(each)} tokens instead of {before}" in change.why


def test_each_tile_shows_its_part_of_the_page() -> None:
    whole = desktop(700, 5000, size=12)[0]
    tiles = images_in(chatmend.repair(said(page()), CLAUDE).messages[0]["content"])
    for data, top in zip(tiles, (0, 1637, 3275), strict=True):
        tile = Image.open(io.BytesIO(data)).convert("L")
        expected = whole.crop((0, top, 700, top + 1725)).convert("L").resize(tile.size)
        difference = [abs(a - b) for a, b in zip(tile.tobytes(), expected.tobytes(), strict=True)]
        assert sum(difference) / len(difference) < 4


@pytest.mark.parametrize(("target", "size"), sampled(SIZED, SIZED[::3]))
def test_every_target_accepts_the_result_which_a_second_repair_keeps(
    target: str, size: tuple[int, int]
) -> None:
    messages = said(page(*size))
    done = chatmend.repair(messages, target)
    assert refusals(done.messages, FACTS[target]) == []
    assert chatmend.repair(done.messages, target).messages is done.messages
    assert chatmend.check(done.messages, target) == ()
    assert chatmend.replay(messages, done.changes) == done.messages
    limits = resolve(target).limits.images
    for data in images_in(done.messages[0]["content"]):
        size_sent = probe_image(data).display_size
        assert seen_size(limits, size_sent) == size_sent


@pytest.mark.parametrize("target", [CLAUDE, OPUS, GPT4O, GPT54, MISTRAL, "strict"])
@given(width=st.integers(12, 6000), height=st.integers(12, 60000), is_sent_whole=st.booleans())
def test_tiles_cover_the_image_and_are_seen_at_a_legible_scale(
    target: str, width: int, height: int, *, is_sent_whole: bool
) -> None:
    limits = resolve(target).limits.images
    tiling = tiling_for(Probe("png", width, height), limits, is_sent_whole=is_sent_whole)
    if tiling is None:
        return
    boxes = tiling.boxes
    assert 2 <= len(boxes) <= (limits.max_images or 20) * 0.75
    assert {(right - left, bottom - top) for left, top, right, bottom in boxes} == {
        (boxes[0][2] - boxes[0][0], boxes[0][3] - boxes[0][1])
    }
    assert boxes == tuple(sorted(boxes, key=lambda box: (box[1], box[0])))
    for first, last, side in ((0, 2, width), (1, 3, height)):
        spans = sorted({(box[first], box[last]) for box in boxes})
        assert (spans[0][0], spans[-1][1]) == (0, side)
        assert all(after < end for (_, end), (after, _) in pairwise(spans))
    assert tiling.scale >= LEGIBLE or tiling.legible_text
    assert seen_size(limits, tiling.plan.size) == tiling.plan.size


def test_a_photo_that_is_refused_is_cut_too_and_turned_upright() -> None:
    whole = desktop(5000, 900, size=14)[0]
    done = chatmend.repair(
        said(Sample("side", oriented(whole, 6), media_type="image/jpeg")), CLAUDE
    )
    tiles = [probe_image(data) for data in images_in(done.messages[0]["content"])]
    assert codes(done) == ["IMG013"]
    assert all(tile.orientation == 1 and tile.height > tile.width for tile in tiles)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("scale", [1, 2])
def test_tiles_of_any_orientation_are_parts_of_the_upright_image(
    orientation: int, scale: int
) -> None:
    stored = desktop(640, 320)[0]
    data = oriented(stored, orientation)
    probe = probe_image(data)
    upright = apply_orientation(Image.open(io.BytesIO(data)).convert("L"), orientation)
    box = (32, 48, 32 + 64 * scale, 48 + 96 * scale)
    tiling = Tiling((box,), Plan((64, 96), frozenset({"jpeg"})), 1 / scale)
    (tile,) = cut(data, probe, tiling, Budget())
    found = Image.open(io.BytesIO(tile.data)).convert("L")
    expected = upright.crop(box).resize((64, 96), Image.Resampling.BICUBIC)
    difference = [abs(a - b) for a, b in zip(found.tobytes(), expected.tobytes(), strict=True)]
    assert found.size == (64, 96)
    assert sum(difference) / len(difference) < 12


@pytest.mark.parametrize("shape", sorted(shapes()))
def test_it_is_cut_in_every_form_of_content_part(shape: str) -> None:
    messages = said(page(), shape)
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    content = done.messages[0]["content"]
    assert [block["type"] for block in content] == ["text", *["text", "image"] * 3]
    assert refusals(done.messages, FACTS[CLAUDE]) == []
    again = chatmend.repair(done.messages, CLAUDE, dialect="anthropic_messages")
    assert again.messages is done.messages


def test_only_the_last_tile_keeps_the_cache_marker() -> None:
    image = part(page(), "anthropic") | {"cache_control": {"type": "ephemeral"}}
    done = chatmend.repair(
        [{"role": "user", "content": [image]}], CLAUDE, dialect="anthropic_messages"
    )
    content = done.messages[0]["content"]
    assert [at for at, block in enumerate(content) if "cache_control" in block] == [5]


def with_result(content: Any) -> list[Any]:
    function = {"name": "look", "arguments": "{}"}
    return [
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call00001", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call00001", "content": content},
    ]


def test_tiles_stay_in_a_tool_result_that_may_hold_images() -> None:
    done = chatmend.repair(with_result([part(page())]), "openai/gpt-4.1")
    content = done.messages[2]["content"]
    assert [item["type"] for item in content] == ["text", "image_url"] * (len(content) // 2)
    assert len(content) > 2


def test_else_they_move_with_their_captions_to_a_user_message() -> None:
    done = chatmend.repair(with_result([part(page())]), GPT4O)
    assert [message["role"] for message in done.messages] == ["user", "assistant", "tool", "user"]
    assert done.messages[2]["content"] == [
        {"type": "text", "text": "The image of this tool result is in the next user message."}
    ]
    label, *tiles = done.messages[3]["content"]
    assert label["text"] == "Image from the tool result above:"
    assert [item["type"] for item in tiles] == ["text", "image_url"] * (len(tiles) // 2)
    assert tiles[0]["text"].startswith("Tile 1 of ")
    assert chatmend.repair(done.messages, GPT4O).messages is done.messages


def test_a_list_of_images_of_ollama_gets_the_tiles_and_the_text_their_captions() -> None:
    messages = [{"role": "user", "content": "What is this?", "images": [page().text]}]
    done = chatmend.repair(messages, "ollama/llava", dialect="ollama_chat")
    assert len(done.messages[0]["images"]) == 2
    assert "Tile 2 of 2" in done.messages[0]["content"]
    again = chatmend.repair(done.messages, "ollama/llava", dialect="ollama_chat")
    assert again.messages is done.messages


def test_messages_of_langchain_are_cut_too() -> None:
    core = pytest.importorskip("langchain_core.messages")
    message = core.HumanMessage([{"type": "text", "text": "What is this?"}, part(page())])
    done = chatmend.repair([message], CLAUDE)
    assert isinstance(done.messages[0], core.HumanMessage)
    assert len(images_in(done.messages[0].content)) == 3


# Effects, notes, limits


def test_the_effect_is_an_addition_where_the_target_accepts_the_image() -> None:
    for target, effect in ((GPT4O, "ADDS"), (MISTRAL, "ADDS"), (CLAUDE, "ADDS")):
        (change,) = chatmend.repair(said(page()), target).changes
        assert change.effect.name == effect, target
    flat = Sample("flat", saved(Image.new("L", (900, 9000), 200), "PNG"))
    (change,) = chatmend.repair(said(flat), CLAUDE).changes  # more than 8000 px
    assert change.effect.name == "DEGRADES"


def test_a_policy_that_allows_no_additions_gets_a_report_and_the_same_object() -> None:
    messages = said(page())
    done = chatmend.repair(messages, GPT4O, policy={"allow": "reshapes"})
    assert done.messages is messages
    assert [(change.code, change.applied) for change in done.changes] == [("IMG013", False)]


def test_image_notes_tell_how_to_convert_coordinates() -> None:
    policy = chatmend.Policy(image_notes=True)
    content = chatmend.repair(said(page()), CLAUDE, policy=policy).messages[0]["content"]
    width = probe_image(images_in(content)[1]).width
    assert content[3]["text"] == (
        "Tile 2 of 3 of an image of 700 x 5000 pixels: rows 1637 to 3362. Multiply coordinates in "
        f"this tile by {700 / width:.4g} and add 0 to x and 1637 to y."
    )


def test_the_number_of_images_limits_the_tiles_and_the_report_names_the_legible_text() -> None:
    done = chatmend.repair(said(page(1400, 16000)), MISTRAL)
    tiles = images_in(done.messages[0]["content"])
    assert len(tiles) == 6  # of 8
    (change,) = done.changes
    assert "text smaller than 17 px is not legible" in change.why
    assert chatmend.repair(done.messages, MISTRAL).messages is done.messages


def test_tiles_count_as_images_and_the_oldest_go_in_coarse_steps() -> None:
    messages: list[Any] = []
    sent: list[Any] = []
    changed = 0
    for _ in range(5):
        messages += said(page())[:2]
        done = chatmend.repair([*messages, {"role": "user", "content": "?"}], MISTRAL).messages
        assert refusals(done, FACTS[MISTRAL]) == []
        changed += done[: len(sent)] != sent
        sent = done[:-1]
    assert changed == 3


def test_what_was_sent_stays_a_prefix() -> None:
    first = chatmend.repair(said(page())[:1], CLAUDE).messages
    longer = chatmend.repair([*said(page()), *said(page(5200, 700))], CLAUDE).messages
    assert longer[:1] == first
    fed = chatmend.repair([*first, *said(page())[1:], *said(page(5200, 700))], CLAUDE).messages
    assert fed == longer
    assert fed[0] is first[0]


def test_an_image_that_is_too_large_to_decode_is_scaled_or_passed_through() -> None:
    small = Recompressor(memory=3_000_000)
    messages = said(page())
    done = chatmend.repair(messages, GPT4O, recompressor=small)
    assert done.messages is messages
    assert [(change.code, change.finding) for change in done.changes] == [("IMG013", True)]
    assert "not cut into tiles: decoding it takes" in done.changes[0].why
    photo = Sample("jpeg", saved(desktop(900, 9000)[0], "JPEG"), media_type="image/jpeg")
    done = chatmend.repair(said(photo), CLAUDE, recompressor=Recompressor(memory=12_000_000))
    assert len(images_in(done.messages[0]["content"])) == 1
    assert "not cut into tiles" in done.changes[0].why


def test_an_image_is_cut_once_and_shared_between_processes() -> None:
    class Store(dict[str, bytes]):
        def put(self, key: str, value: bytes) -> None:
            self[key] = value

    store = Store()
    first, second = (
        Recompressor(shared=SharedCache(store, tenant="t", secret=b"s" * 16)) for _ in range(2)
    )
    done = chatmend.repair(said(page()), CLAUDE, recompressor=first)
    assert chatmend.repair(said(page()), CLAUDE, recompressor=first).messages == done.messages
    assert (first.cache.misses, first.cache.hits, len(store)) == (1, 1, 3)
    stored = dict(store)
    assert chatmend.repair(said(page()), CLAUDE, recompressor=second).messages == done.messages
    assert store == stored
    assert chatmend.repair(said(page()), CLAUDE).messages == done.messages


def test_recompress_returns_one_image() -> None:
    assert probe_image(chatmend.recompress(page().data, CLAUDE)).display_size == (280, 2000)


def test_planning_takes_a_bounded_number_of_steps_for_any_header() -> None:
    limits = resolve(MISTRAL).limits.images
    for width, height in ((12, 2**31 - 1), (2**31 - 1, 12), (2**20, 2**31 - 1), (65535, 1)):
        tiling = tiling_for(Probe("png", width, height), limits, is_sent_whole=True)
        assert tiling is None or len(tiling.boxes) <= 6
