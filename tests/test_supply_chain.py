"""Workflows use pinned actions with least rights, and CI installs packages with known digests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"\s+(- )?uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\s+uses: \./.*")
WRITES = {
    ("codeql.yml", "analyze"): {"security-events"},
    ("release.yml", "attest"): {"id-token", "attestations"},
    ("release.yml", "publish"): {"id-token"},
    ("release.yml", "github"): {"contents"},
}
"""The only jobs that may write, and what."""


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    return found


def test_each_action_is_pinned_by_its_digest(path: Path) -> None:
    lines = [line for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert [line for line in lines if not PINNED.fullmatch(line)] == []


def test_the_same_action_has_the_same_version_everywhere() -> None:
    text = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    used = set(re.findall(r"uses: ([\w-]+/[\w-]+)\S*@([0-9a-f]{40})", text))
    assert len(dict(used)) == len(used)


def test_a_workflow_has_no_rights_and_a_job_only_those_that_it_needs(path: Path) -> None:
    assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {}
    for name, job in jobs(path).items():
        rights = job.get("permissions", {})
        writes = {right for right, level in rights.items() if level == "write"}
        assert writes == WRITES.get((path.name, name), set())
        assert all(level in ("read", "write") for level in rights.values())
        for step in job.get("steps", ()):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_no_text_from_outside_is_part_of_a_script(path: Path) -> None:
    for job in jobs(path).values():
        for step in job.get("steps", ()):
            assert "${{" not in step.get("run", "")


def test_the_wheel_is_tested_on_all_versions_and_systems() -> None:
    matrix = jobs(ROOT / ".github/workflows/check.yml")["wheel"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "windows-latest", "macos-latest"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]


def test_packages_for_ci_have_digests_and_the_versions_of_the_constraints() -> None:
    text = (ROOT / "requirements-ci.txt").read_text("utf-8")
    pinned = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if entry[0] != "#"]
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "http" not in re.sub(r"http\w*==|\bhttp[\w-]*", "", text)
    constraints = (ROOT / "constraints.txt").read_text("utf-8")
    wanted = dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", constraints, re.MULTILINE))
    normal = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in wanted.items()}
    different = {
        name: (version, normal[name])
        for name, version in pinned.items()
        if name in normal and normal[name] != version
    }
    assert different == {}
