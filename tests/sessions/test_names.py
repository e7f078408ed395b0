"""A name for each agent, on any file system."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatmend.sessions.names import file_name, index_of, stem

NAMES = st.text(st.characters(codec=None)) | st.sampled_from(
    ["main", "Main", "con", "a/b", "..", "a.", "a_1", "~", ""]
)


@pytest.mark.parametrize("agent", ["main", "planner-2", "a_1", "gpt4.search"])
def test_a_plain_name_stays_as_it_is(agent: str) -> None:
    assert file_name(agent, 3) == f"{agent}_3.md"


@pytest.mark.parametrize(
    "agent",
    ["", ".", "..", "../etc/passwd", "a/b", "a\\b", "a..b", "CON", "con", "con.x", "nul", "com1", "lpt9.txt", "a ",
     "a.", " a", "Main", "MAIN", "ma\u0131n", "a\0b", "\ud800", "x" * 300, "日本", "a:b", "a*b", "a~b",
     "-a", ".hidden"],
)  # fmt: skip
def test_a_name_that_no_file_can_have_everywhere_gets_a_hash(agent: str) -> None:
    name = file_name(agent, 1)
    assert "~" in name
    assert len(name.encode()) < 120
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-~_.md")
    assert index_of(name, agent) == 1


@given(NAMES, NAMES)
@example("Main", "main")
@example("a b", "a-b")
@example("a", "a_1")
@example("stra\u00dfe", "strasse")
def test_two_agents_never_share_a_file_not_even_where_case_is_folded(one: str, other: str) -> None:
    assert (stem(one).casefold() == stem(other).casefold()) == (one == other)


@given(NAMES, NAMES, st.integers(1, 10**8))
def test_the_index_of_one_agent_is_never_taken_for_another_s(
    one: str, other: str, index: int
) -> None:
    assert index_of(file_name(one, index), other) == (index if one == other else None)


@pytest.mark.parametrize(
    "name", ["main_01.md", "main_1.md.bak", ".main_1.md.tmp", "main.md", "main_-1.md", "_1.md"]
)
def test_other_files_have_no_index(name: str) -> None:
    assert index_of(name, "main") is None
