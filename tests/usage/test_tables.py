"""The tables are data that says where it comes from."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import chatmend
from chatmend.usage import Usage, tables
from chatmend.usage.shapes import Branch, CountList, Leaf

HERE = Path(tables.__file__).parent / "tables"
NAMES = sorted(path.stem for path in HERE.glob("*.toml"))
GROUPS = ("details", "billed", "cost_details")
FIELDS = {field.name for field in fields(Usage)}


@pytest.mark.parametrize("name", NAMES)
def test_a_table_says_how_it_is_known_and_when_that_was_checked(name: str) -> None:
    data = tables.load(name)
    assert data["source"]
    assert isinstance(data["checked"], dt.date)


def test_every_table_is_used() -> None:
    assert set(NAMES) == {*tables.ORDER, "providers", "stream"}


@pytest.mark.parametrize("shape", tables.ORDER)
def test_every_leaf_is_a_field_of_the_account(shape: str) -> None:
    table = tables.tables()[shape]
    unknown = {leaf.key for leaf in leaves(table.keys) if not known(leaf)}
    assert unknown == set()
    for part in table.parts:
        assert {part.part, part.whole} <= FIELDS


def known(leaf: Leaf) -> bool:
    return leaf.kind == "warn" or (leaf.group in GROUPS if leaf.group else leaf.key in FIELDS)


def leaves(keys: dict[str, Any]) -> list[Leaf]:
    found: list[Leaf] = []
    for node in keys.values():
        if isinstance(node, Leaf):
            found.append(node)
        elif isinstance(node, Branch):
            found += [*leaves(node.keys), *([node.own] if node.own else [])]
        elif isinstance(node, CountList):
            found += node.leaves.values()
    return found


def test_the_rank_of_a_table_is_its_place_in_the_order() -> None:
    assert all(one.rank < two.rank for one, two in pairwise(tables.tables().values()))


def test_a_mark_is_a_key_that_the_table_knows() -> None:
    for table in tables.tables().values():
        ignored = tables.load(table.shape).get("ignored", {})
        assert [
            mark
            for mark in table.marks
            if mark not in table.keys and mark not in ignored | _IN_PASSING
        ] == []


# strings that tell the shape and carry no count
_IN_PASSING = {"inference_geo": "a place"}


def test_no_provider_is_named_in_the_code() -> None:
    names = {name for row in tables.providers() for name in (row.name, *row.names)} - {
        "google",
        "litellm",
        "gemini",
    }
    for path in HERE.parent.glob("*.py"):
        if path.stem not in {
            "prices",
            "converters",
        }:  # tables of their own, for other people's names
            code = "".join(
                line
                for line in path.read_text().splitlines(keepends=True)
                if not line.strip().startswith("#")
            )
            assert [name for name in names if f'"{name}"' in code] == [], path


def test_importing_chatmend_does_not_load_the_tables() -> None:
    code = "import sys, chatmend; print([name for name in sys.modules if name.startswith('chatmend.usage')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_there_and_others_are_not() -> None:
    assert chatmend.normalize_usage({"prompt_tokens": 1}).input_tokens == 1
    assert {"Usage", "UsageLedger", "UsageStream", "normalize_usage"} <= set(dir(chatmend))
    with pytest.raises(AttributeError, match="no attribute 'usage_of'"):
        _ = chatmend.usage_of  # type: ignore[attr-defined]
