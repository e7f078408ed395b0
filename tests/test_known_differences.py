"""The list of known differences between versions is complete, and hides no other difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatmend.dialects import DIALECTS
from chatmend.rules import FIRST, LAST, RULES
from tests.equivalence import difference
from tests.known_differences import CHANGED, FEWER, MORE, Known, explain, load

ROOT = Path(__file__).resolve().parents[1]
KNOWN = load(ROOT / "tests" / "known_differences.toml")
PARTS = {"reasons", "invalidates_thinking", "positions and order"}
CODES = {rule.code for rule in (*FIRST, *RULES, *LAST)}
FILES = Known(
    "files",
    "a",
    frozenset({"FILE001 more"}),
    frozenset({"PART001 fewer"}),
    ("openai_chat",),
    "gemini|mistral",
)


@pytest.mark.parametrize("entry", KNOWN, ids=lambda entry: entry.reason[:40])
def test_an_entry_names_rules_and_wire_formats_that_exist(entry: Known) -> None:
    for part in entry.differs | entry.follows:
        code, _, kind = part.partition(" ")
        assert part in PARTS or (code in CODES and kind in (MORE, FEWER, CHANGED)), part
    assert set(entry.dialects) <= set(DIALECTS)
    assert entry.reason.endswith(".")


def test_the_changelog_lists_each_known_difference() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    repaired = text.partition("### Repaired output")[2].partition("\n### ")[0]
    assert [entry.reason for entry in KNOWN if f"- {entry.reason}" not in repaired] == []


@pytest.mark.parametrize(
    ("dialect", "target", "parts", "is_known"),
    [
        ("openai_chat", "gemini/x", {"FILE001 more"}, True),
        ("openai_chat", "mistral/x", {"FILE001 more", "PART001 fewer", "TURN001 changed"}, True),
        ("openai_chat", "gemini/x", {"FILE001 more", "TOOL005 fewer"}, False),
        ("openai_chat", "gemini/x", {"PART001 fewer"}, False),
        ("openai_chat", "gemini/x", {"TURN001 changed"}, False),
        ("openai_chat", "openai/x", {"FILE001 more"}, False),
        ("gemini_contents", "gemini/x", {"FILE001 more"}, False),
    ],
)
def test_a_difference_is_known_only_if_each_of_its_parts_is(
    dialect: str, target: str, parts: set[str], is_known: bool  # noqa: FBT001 - expected
) -> None:  # fmt: skip
    assert bool(explain((dialect, target, None), frozenset(parts), [FILES])) is is_known


def test_a_difference_names_the_rules_that_changed_more_fewer_or_other_things() -> None:
    case = ["broken", 1, "openai_chat", "openai/gpt-4o", None]
    old = {"parts": {"messages": "a"}, "changes": [["A x", "1"], ["A x", "2"], ["B y", "1"]]}
    new = {"parts": {"messages": "b"}, "changes": [["A x", "1"], ["B y", "2"], ["C z", "1"]]}
    assert difference([case, old], [case, new]) == (case, {"A fewer", "B changed", "C more"})


def test_without_other_changes_a_difference_names_what_differs() -> None:
    case = ["broken", 1, "openai_chat", "openai/gpt-4o", None]
    old = {"parts": {"messages": "a", "system": "a"}, "changes": []}
    new = {"parts": {"messages": "b", "system": "a"}, "changes": []}
    assert difference([case, old], [case, new]) == (case, {"messages"})
