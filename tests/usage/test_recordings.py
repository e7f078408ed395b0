"""Usage that real providers reported is read with its documented meaning."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chatmend import Usage, UsageStream, normalize_usage
from chatmend.usage.tables import load, tables
from tests.usage.recorded import ROWS, WHY, body, differences, event, numbers, usage_of

pytestmark = pytest.mark.skipif(not ROWS, reason=WHY)
WHOLE = [row for row in ROWS if not row["stream"]]
STREAMS = [row for row in ROWS if row["stream"]]


def account(row: dict[str, Any], provider: str | None) -> Usage:
    return normalize_usage(usage_of(row), provider, row["model"])


def streamed(row: dict[str, Any], provider: str | None, *, bare: bool) -> Usage:
    stream = UsageStream(provider, row["model"])
    for chunk in row["raw_usage"]:
        stream.feed(chunk["usage"] if bare else event(chunk))
    return stream.usage


@pytest.mark.parametrize("known", [True, False], ids=["provider named", "provider unknown"])
def test_every_recorded_account_is_exact(known: bool) -> None:  # noqa: FBT001 - a parameter of the test
    wrong = {
        row["id"]: found
        for row in WHOLE
        if row["expected"]
        and (found := differences(row, account(row, row["provider"] if known else None)))
    }
    assert wrong == {}


@pytest.mark.parametrize("bare", [True, False], ids=["usage alone", "events"])
@pytest.mark.parametrize("known", [True, False], ids=["provider named", "provider unknown"])
def test_every_recorded_stream_is_exact(known: bool, bare: bool) -> None:  # noqa: FBT001 - parameters of the test
    wrong = {
        row["id"]: found
        for row in STREAMS
        if row["expected"]
        and (
            found := differences(row, streamed(row, row["provider"] if known else None, bare=bare))
        )
    }
    assert wrong == {}


def test_a_whole_body_with_its_headers_says_the_same_as_its_usage() -> None:
    wrong = {}
    for row in WHOLE:
        payload, headers = body(row)
        usage = normalize_usage(payload, row["provider"], headers=headers)
        # llama.cpp reports cached tokens in its timings where its usage omits them
        cached = payload.get("timings", {}).get("cache_n")
        if row["expected"] and (found := differences(row, usage)) != (
            {"cache_read": (0, cached)} if cached else {}
        ):
            wrong[row["id"]] = found
    assert wrong == {}


def test_an_account_whose_truth_is_not_recorded_still_gives_a_result() -> None:
    told = {row["id"]: account(row, row["provider"]) for row in WHOLE if not row["expected"]}
    told |= {
        row["id"]: streamed(row, row["provider"], bare=False)
        for row in STREAMS
        if not row["expected"]
    }
    silent = [name for name, usage in told.items() if _says_nothing(usage)]
    assert silent == []


def _says_nothing(usage: Usage) -> bool:
    tokens = (usage.total_tokens, usage.input_tokens, usage.output_tokens, usage.cost)
    return not usage.billed and all(value is None for value in tokens)


def test_no_number_is_lost_without_being_listed() -> None:
    lost = set()
    for row in WHOLE:
        usage = account(row, row["provider"])
        known = (
            set(usage.unread)
            | paths(usage, "")
            | {path for part in usage.parts for path in paths(part, "iterations[].")}
        )
        lost |= numbers(usage_of(row)) - known
    assert lost <= NAMES


def test_no_number_of_a_stream_is_lost_without_being_listed() -> None:
    lost = set()
    for row in STREAMS:
        usage = streamed(row, row["provider"], bare=False)
        known = (
            set(usage.unread)
            | paths(usage, "")
            | {path for part in usage.parts for path in paths(part, "")}
        )
        given = {number for chunk in row["raw_usage"] for number in numbers(chunk["usage"])}
        lost |= {
            (row["provider"], number)
            for number in given
            if not any(_ends(path, number) for path in known)
        }
    assert {number for _, number in lost} <= NAMES


def _ends(path: str, number: str) -> bool:
    """Return whether one path ends with the other: usage may be nested in an event, and paths of parts start in their list."""
    return path == number or path.endswith(f".{number}") or number.endswith(f".{path}")


# Numbers that encode names: Vertex writes 1 for TEXT, and 1 for ON_DEMAND.
NAMES = {"promptTokensDetails[].modality", "candidatesTokensDetails[].modality"}


def paths(usage: Usage, prefix: str) -> set[str]:
    """Return every path that the usage record was read from."""
    return {
        prefix + path for source in usage.sources.values() for path in re.split(r" [+|] ", source)
    }


def test_what_is_left_unread_is_a_duration_a_rate_or_a_size() -> None:
    reasons = {key: why for name in tables() for key, why in load(name).get("ignored", {}).items()}
    reasons["cache_creation"] = "the split of a count that a later chunk of the stream restates"
    unread = {path for row in WHOLE for path in account(row, row["provider"]).unread}
    unread |= {path for row in STREAMS for path in streamed(row, row["provider"], bare=True).unread}
    assert {path for path in unread if path.split(".")[0] not in reasons} == set()
    assert len({path.split(".")[0] for path in unread}) < 30
