"""The documentation matches the code: examples run, generated pages are current, CONTRIBUTING.md works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chatmend.manuals import Example, Manual, manuals
from chatmend.refusals import refusals, search, topics
from chatmend.rules import RULES
from chatmend.targets import resolve

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = [(manual, example) for manual in manuals().values() for example in manual.examples]
FOUND_BY_ANOTHER = {"TOOL008": "TOOL006"}
"""The rule that moves results runs first and also restores their order."""
_OF_LIBRARIES = {"PART002", "KEY002", "ITEM004", "TOOL020", "TOOL021", "CACHE003"}
_LARGE = {"IMG008", "IMG013", "IMG015", "DOC003", "DOC004", "DOC006", "DOC007"}
TOLD_IN_WORDS = {"BLOCK001", "PREFIX001", "TEXT005", "THINK010"} | _LARGE | _OF_LIBRARIES
"""Rules without an example.

Images and documents are too large, some rules need what was sent before or refused, and some need the messages
of a client library: tests/langchain has their examples."""
BLOCK = re.compile(
    r"^(?:<!-- (file|line): (.+?) -->\n)?```(?:toml|python|diff)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(
    ("manual", "example"), EXAMPLES, ids=[f"{m.name}-{e.target}" for m, e in EXAMPLES]
)
def test_the_example_of_a_manual_is_what_a_repair_does(manual: Manual, example: Example) -> None:
    after, codes = example.run()
    assert after == example.after
    assert FOUND_BY_ANOTHER.get(manual.code, manual.code) in codes


@pytest.mark.parametrize(
    "example", [e for _, e in EXAMPLES], ids=[f"{m.name}-{e.target}" for m, e in EXAMPLES]
)
def test_what_an_example_shows_afterwards_is_found_sound(example: Example) -> None:
    again = Example(
        example.target, example.policy, example.after, example.after, example.json_texts
    )
    found = (
        example.run()[1] if example.before == example.after else []
    )  # a finding without a repair is reported again
    assert again.run() == (example.after, found)


@pytest.mark.parametrize("manual", manuals().values(), ids=lambda manual: manual.name)
def test_a_manual_says_what_why_and_how_and_shows_it(manual: Manual) -> None:
    assert manual.summary.endswith(".")
    assert re.search(r"^Why:\s+\S", manual.text, re.MULTILINE)
    assert re.search(r"^Repair:\s+\S", manual.text, re.MULTILINE)
    assert manual.examples or manual.code in TOLD_IN_WORDS
    if manual.code not in TOLD_IN_WORDS:
        assert manual.text.count("Before") == len(manual.examples), "an example was not parsed"


def test_every_rule_has_a_manual_of_its_own() -> None:
    assert {rule.code for rule in RULES} <= set(manuals())
    names = [manual.name for manual in manuals().values()]
    assert len(names) == len(set(names))


def test_every_known_refusal_leads_to_pages_and_targets_that_exist() -> None:
    for refusal in refusals():
        assert refusal.pages, refusal.says
        assert set(refusal.pages) <= {*manuals(), *topics()}, refusal.says
        assert all(resolve(name).provider != "other" for name in refusal.by), refusal.says
        assert refusal.says == refusal.says.lower(), "it is searched in lower-case text"


def test_every_sample_of_a_refusal_is_found_by_its_own_expression_and_printed_verbatim() -> None:
    index = (ROOT / "docs/error-index.md").read_text("utf-8")
    for refusal in refusals():
        assert not refusal.sample or search(refusal.sample) is refusal, refusal.sample
        assert refusal.sample.replace("|", "\\|") in index
    assert "must be a response to a preceeding message" in index
    assert sum(not refusal.sample for refusal in refusals()) < len(refusals()) / 10


CHECK_TWICE = """
from pathlib import Path
import generate
print(generate.main())
print("---")
Path("rules/null-content.md").write_text("edited by hand", "utf-8")
Path("rules/retired.md").write_text("", "utf-8")
print(generate.main())
"""
"""A check of the pages as they are, and one of the same pages after two of them were edited."""


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return what the checks print about a copy of the pages. Both in one process, which generates the pages once."""
    docs = tmp_path_factory.mktemp("pages") / "docs"
    shutil.copytree(ROOT / "docs", docs)
    words = [sys.executable, "-c", CHECK_TWICE, "--check"]
    environment = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(  # noqa: S603 - our own script
        words, cwd=docs, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
    fresh, _, edited = done.stdout.partition("---\n")
    return fresh, edited


@pytest.mark.showpiece
def test_the_generated_pages_are_fresh(checks: tuple[str, str]) -> None:
    assert checks[0] == "0\n"


@pytest.mark.showpiece
def test_a_page_that_is_stale_or_belongs_to_no_rule_is_named(checks: tuple[str, str]) -> None:
    assert checks[1].endswith("\n1\n")
    assert "stale: docs/rules/null-content.md" in checks[1]
    assert "stale: docs/rules/retired.md" in checks[1]


def test_what_contributing_says_works(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    ran = 0
    for kind, place, text in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        if kind == "file":
            assert not (tmp_path / place).exists()
            (tmp_path / place).write_text(text, "utf-8")
        elif kind == "line":
            name, before = place.split(", before ")
            insert(tmp_path / name, before, text.removeprefix("+"))
        else:
            words = [sys.executable, "-c", text]
            environment = {"PYTHONPATH": str(tmp_path / "src")}
            done = subprocess.run(  # noqa: S603
                words, env=environment, capture_output=True, text=True, check=False
            )
            assert (done.stderr, done.returncode) == ("", 0)
            ran += 1
    assert ran == 2, "expected the examples of a provider and of a rule"


def insert(path: Path, before: str, line: str) -> None:
    """Insert a line before the one that begins with ``before``."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    at = next(i for i, text in enumerate(lines) if text.strip().startswith(before))
    path.write_text("".join([*lines[:at], line, *lines[at:]]), "utf-8")
