"""The notebook about usage and the cache runs from top to bottom against the sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
for package in ("ipykernel", "matplotlib", "genai_prices", "anthropic"):
    pytest.importorskip(package)

pytestmark = pytest.mark.showpiece
NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "usage_and_cache.ipynb"


def test_the_notebook_runs_and_says_what_it_said() -> None:
    notebook = nbformat.read(NOTEBOOK, 4)
    before = _texts(notebook)
    nbclient.NotebookClient(
        notebook, timeout=300, startup_timeout=300, coalesce_streams=True
    ).execute()
    after = _texts(notebook)
    assert after == before
    assert "refused: 0\n" in after
    assert [kind for cell in notebook.cells for kind in _kinds(cell)].count("image/png") == 2


def _texts(notebook: Any) -> list[str]:
    """What each cell printed; a busy kernel may send it in several pieces."""
    outputs = [cell.get("outputs", ()) for cell in notebook.cells]
    assert [one for cell in outputs for one in cell if one.get("name") == "stderr"] == []
    return ["".join(one.text for one in cell if one.get("name") == "stdout") for cell in outputs]


def _kinds(cell: Any) -> list[str]:
    return [kind for output in cell.get("outputs", ()) for kind in output.get("data", ())]
