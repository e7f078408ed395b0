"""Links and ``make`` targets in the pages exist, README has its tables, and the age of facts is listed."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from docs import facts_age

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
PAGES = [page for page in PAGES if "_build" not in page.parts and "notebooks" not in page.parts]
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
HOME = re.compile(
    r"https://(?:github\.com/chatmend/chatmend/blob|raw\.githubusercontent\.com/chatmend/chatmend)/main/"
)
"""The start of README's links, which are absolute because PyPI shows README without the other files."""
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page, as GitHub and MyST generate them from headings."""
    heads = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_within_the_pages_leads_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(HOME.sub(_up(page), FENCED.sub("", page.read_text("utf-8")))):
        aim = (page.parent / path).resolve() if path else page
        assert aim.exists(), path
        assert not anchor or anchor in anchors(aim), f"{path}#{anchor}"


def _up(page: Path) -> str:
    """Return the relative path from a page to the root of the repository."""
    return "../" * (len(page.relative_to(ROOT).parts) - 1)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 900


def test_links_of_readme_lead_somewhere_on_pypi_too() -> None:
    assert not LINK.findall(FENCED.sub("", (ROOT / "README.md").read_text("utf-8")))


def test_make_knows_every_target_that_a_page_names() -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"`make ([a-z-]+)", page.read_text("utf-8")))
        assert named <= known, (page, named - known)


def test_the_tables_that_runs_write_are_there() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text("utf-8")
    for name in ("compare", "compare-full", "speed"):
        table = page.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]
        assert table.count("\n|") > 5, (
            f"run 'make {'bench' if name == 'speed' else 'compare'} WRITE=--write'"
        )


def test_the_age_of_every_fact_is_listed() -> None:
    checked = sorted(day for day, _, _ in facts_age.facts())
    assert facts_age.older_than(0, checked[0]) == []
    (first, *_), everything = (
        facts_age.older_than(120, checked[0] + timedelta(days=121)),
        facts_age.older_than(120, date(2100, 1, 1)),
    )
    assert first.startswith(" 121 days")
    assert len(everything) == len(checked)
