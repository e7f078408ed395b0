"""Any payload is read or reported, and never raises."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chatmend import Usage, normalize_usage
from chatmend.usage.shapes import Branch, CountList, Leaf, UsageTable
from chatmend.usage.sums import _COUNTS
from chatmend.usage.tables import tables
from tests.scale import examples

SHAPES = [
    table
    for name, table in tables().items()
    if name not in {"body", "openhuman", "headers", "timings"}
]
ODD = (
    st.none()
    | st.booleans()
    | st.integers(-3, 10**20)
    | st.floats()
    | st.text(max_size=4)
    | st.lists(st.integers(), max_size=2)
)
COUNT = st.integers(0, 10**6)


def payloads(
    keys: dict[str, Any], values: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Generate payloads with any keys of a table, and with an unknown key."""
    return st.fixed_dictionaries(
        {},
        optional={key: _below(node, values) for key, node in keys.items()} | {"surprise": values},
    )


def _below(node: object, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    if isinstance(node, Branch):
        inner = payloads(node.keys, values)
        return inner | values if node.own else inner
    if isinstance(node, CountList):
        entry = {node.name or "x": st.sampled_from([*node.leaves, "?"]), node.count: values}
        return st.lists(st.fixed_dictionaries({}, optional=entry), max_size=3)
    return values if isinstance(node, Leaf) else st.none() | values


@st.composite
def any_payload(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> dict[str, Any]:
    table: UsageTable = draw(st.sampled_from(SHAPES))
    return draw(payloads(table.keys, values))


@settings(max_examples=examples(35, 3_000))
@given(any_payload(ODD), st.sampled_from([None, "xai", "vercel", "google", "nobody"]))
def test_no_payload_raises_and_every_account_can_be_told(
    payload: dict[str, Any], provider: str | None
) -> None:
    usage = normalize_usage(payload, provider)
    assert Usage.from_dict(usage.to_dict()) == usage
    assert usage + Usage() == usage
    assert normalize_usage({"usage": payload, "choices": [{}]}, provider).input_tokens in {
        usage.input_tokens,
        None,
    }


@settings(max_examples=examples(35, 3_000))
@given(any_payload(COUNT))
def test_every_count_says_where_it_was_read_and_the_total_is_the_sum(
    payload: dict[str, Any],
) -> None:
    usage = normalize_usage(payload)
    told = {name for name in _COUNTS if getattr(usage, name) is not None}
    # counts by cache lifetime are summed; no path holds their total
    assert told - {"cache_write_tokens"} <= usage.sources.keys()
    if usage.input_tokens is not None and usage.output_tokens is not None:
        assert usage.total_tokens == usage.input_tokens + usage.output_tokens


@settings(max_examples=examples(35, 3_000))
@given(any_payload(COUNT), any_payload(COUNT))
def test_the_account_of_a_payload_does_not_depend_on_what_was_read_before(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    first = normalize_usage(one)
    normalize_usage(two)
    assert normalize_usage(one) == first
