"""The proof pairs: each file says what it was recorded against, holds a refusal and an answer, and no credential."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sandbox.proof_pairs import PAIRS

FOLDER = Path(__file__).resolve().parents[2] / "cassettes"
FILES = sorted(FOLDER.rglob("*.yaml"))


def test_every_pair_was_recorded() -> None:
    recorded = {(path.parent.name, path.stem) for path in FILES}
    assert {(provider, fault) for provider, faults in PAIRS.items() for fault in faults} <= recorded


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_file_tells_its_origin_and_holds_a_refusal_and_an_answer(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Recorded against ")
    first, second = (int(code) for code in re.findall(r"^      code: (\d+)", text, flags=re.MULTILINE))
    assert first >= 400
    assert second == 200
    assert not re.search("authorization|api-key|127.0.0.1", text, flags=re.IGNORECASE)
