"""What several usage objects of one response give together, and the limits of what is read from a body."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatmend import normalize_usage
from chatmend.usage.normalize import merge_fields, recompute_total

COUNTS = {"prompt_tokens": 1000, "completion_tokens": 2000, "total_tokens": 3000}


@pytest.mark.parametrize(
    ("fields", "total", "warns"),
    [
        ({"input_tokens": 10, "output_tokens": 5}, 15, False),
        ({"input_tokens": 10, "output_tokens": 5, "provider_total": 15}, 15, False),
        ({"input_tokens": 10, "output_tokens": 5, "provider_total": 15, "total_tokens": 12}, 15, False),
        ({"input_tokens": 10, "output_tokens": 5, "provider_total": 12, "total_tokens": 12}, 15, True),
        ({"input_tokens": 10, "output_tokens": 5, "provider_total": 18, "total_tokens": 18}, 15, True),
        ({"input_tokens": 10, "output_tokens": 5, "provider_total": 18, "total_tokens": 15}, 15, False),
        ({"input_tokens": 10, "output_tokens": 5, "total_tokens": 12}, 15, False),
    ],
)  # fmt: skip
def test_the_total_is_that_of_the_merged_counts(
    fields: dict[str, Any], total: int, *, warns: bool
) -> None:
    values = {**fields, "sources": {}}
    recompute_total(values)
    assert values["total_tokens"] == total
    assert values["sources"] == {"total_tokens": "input_tokens + output_tokens"}
    stated = fields.get("provider_total")
    text = f"total-differs: the provider reports {stated} tokens, but its counts add up to {total}"
    assert values.get("warnings", ()) == ((text,) if warns else ())


@pytest.mark.parametrize("known", ["input_tokens", "output_tokens"])
def test_one_count_alone_has_no_total(known: str) -> None:
    values: dict[str, Any] = {known: 10, "total_tokens": 12, "sources": {}}
    recompute_total(values)
    assert values == {known: 10, "total_tokens": 12, "sources": {}}


def test_equal_counts_have_both_sources_and_others_are_unread() -> None:
    sources = {"input_tokens": "usage.a", "output_tokens": "usage.b"}
    values = {"input_tokens": 1000, "output_tokens": 7, "sources": sources}
    others = json.loads('{"input_tokens": 1000, "output_tokens": 8}')
    merge_fields(
        values, {**others, "sources": {"input_tokens": "headers.a", "output_tokens": "b + c"}}
    )
    assert values == {
        "input_tokens": 1000,
        "output_tokens": 7,
        "sources": {"input_tokens": "usage.a | headers.a", "output_tokens": "usage.b"},
        "unread": ("b", "c"),
    }


def test_groups_and_texts_of_both_are_kept() -> None:
    values: dict[str, Any] = {"details": {"x": 1}, "warnings": ("one",), "sources": {}}
    others = {
        "details": {"x": 2, "y": 3},
        "warnings": ("two", "one"),
        "cost": 1,
        "model": None,
        "sources": {},
    }
    merge_fields(values, others)
    assert values == {
        "details": {"x": 1, "y": 3},
        "warnings": ("one", "two"),
        "cost": 1,
        "model": None,
        "sources": {},
    }


@pytest.mark.parametrize(("length", "kept"), [(200, True), (201, False)])
def test_a_text_that_is_too_long_for_a_name_is_no_model(length: int, *, kept: bool) -> None:
    body = {"model": "m" * length, "usage": COUNTS}
    assert normalize_usage(body).model == ("m" * length if kept else None)


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({"error": None, "choices": [{}]}, []),
        ({"error": None, "choices": []}, ["empty-choices"]),
        ({"error": {}, "type": "message", "choices": ()}, ["empty-choices"]),
        ({"error": "overloaded", "choices": []}, ["empty-choices", "error-body"]),
        ({"error": None, "type": "error"}, ["error-body"]),
        ({"type": 5, "status": "failed"}, ["failed-call"]),
        ({"object": "chat.completion.chunk", "choices": []}, []),
        ({"object": "chat.completion.chunk", "choices": [], "error": "x"}, ["error-body"]),
        ({"object": "chat.completion", "choices": []}, ["empty-choices"]),
    ],
)
def test_only_what_shows_an_error_is_reported_as_one(
    body: dict[str, Any], codes: list[str]
) -> None:
    found = normalize_usage({**body, "usage": COUNTS})
    assert [warning.partition(":")[0] for warning in found.warnings] == codes
    assert found.complete is not bool(codes)
    assert (found.input_tokens, found.output_tokens) == (1000, 2000)
