"""Sizes and tokens as the providers publish them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatmend.images import seen_size, tokens
from chatmend.images.sizes import scale_to_fit
from chatmend.targets import resolve
from tests.images.judge import FACTS
from tests.scale import examples


def images(target: str) -> object:
    return resolve(target).limits.images


@pytest.mark.parametrize(
    ("size", "seen"),
    [
        ((1075, 1520), (924, 1307)),
        ((2000, 1500), (1269, 952)),
        ((1920, 1080), (1456, 819)),
        ((3840, 2160), (1456, 819)),
        ((1000, 800), (1000, 800)),
        ((2880, 1800), (1389, 868)),
        ((20000, 10), (1568, 1)),
        ((1568, 1568), (1092, 1092)),
    ],
)
def test_the_standard_tier_sees_what_anthropic_documents(
    size: tuple[int, int], seen: tuple[int, int]
) -> None:
    limits = resolve("anthropic/claude-sonnet-4-5").limits.images
    assert seen_size(limits, size) == seen


def test_the_high_tier_sees_more_and_counts_more() -> None:
    limits = resolve("anthropic/claude-opus-4-8").limits.images
    assert seen_size(limits, (3840, 2160)) == (2576, 1449)
    assert tokens(limits, (3840, 2160)) == 4784
    assert tokens(limits, (1920, 1080)) == 2691
    assert tokens(resolve("anthropic/claude-sonnet-4-5").limits.images, (1920, 1080)) == 1560


def test_tiles_are_counted_as_openai_documents() -> None:
    limits = resolve("openai/gpt-4o").limits.images
    assert tokens(limits, (1024, 1024)) == 765
    assert tokens(limits, (2048, 4096)) == 1105
    assert tokens(limits, (4096, 8192), "low") == 85


def test_patches_are_counted_as_openai_documents() -> None:
    limits = resolve("openai/gpt-4.1-mini").limits.images
    assert tokens(limits, (1024, 1024)) == 1659  # 1024 patches, times 1.62
    assert seen_size(limits, (1800, 2400)) == (1056, 1408)  # the guide's own example: 1452 patches


def test_crops_are_counted_as_gemini_documents() -> None:
    limits = resolve("gemini/gemini-2.5-flash").limits.images
    assert tokens(limits, (384, 384)) == 258
    assert tokens(limits, (960, 540)) == 258 * 6


@pytest.mark.parametrize("target", sorted(FACTS))
@given(
    width=st.integers(1, 12000),
    height=st.integers(1, 12000),
    detail=st.sampled_from([None, "low", "high"]),
)
@settings(max_examples=examples(50, 1_000))
def test_what_the_model_sees_is_seen_as_it_is(
    target: str, width: int, height: int, detail: str | None
) -> None:
    limits = resolve(target).limits.images
    seen = seen_size(limits, (width, height), detail)
    assert seen_size(limits, seen, detail) == seen
    assert seen[0] <= width
    assert seen[1] <= height


@given(
    st.integers(1, 12000),
    st.integers(1, 12000),
    st.integers(1, 4000),
    st.integers(12_000, 10_000_000),
)
@settings(max_examples=examples(70, 3_000))
def test_a_size_that_fits_stays_and_one_that_was_made_to_fit_fits(
    w: int, h: int, side: int, pixels: int
) -> None:
    made = scale_to_fit((w, h), side=side, pixels=pixels)
    assert scale_to_fit(made, side=side, pixels=pixels) == made
    assert max(made) <= max(side, 1)
    assert made[0] * made[1] <= pixels or 1 in made
