"""The notebook about training data runs from top to bottom and prints what it printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.showpiece
NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "training_data.ipynb"


def test_the_notebook_runs_and_prints_what_it_printed() -> None:
    notebook = nbformat.read(NOTEBOOK, 4)
    before = _texts(notebook)
    nbclient.NotebookClient(
        notebook, timeout=300, startup_timeout=300, coalesce_streams=True
    ).execute()
    assert _texts(notebook) == before
    assert "4 of 5 rows are usable\n" in before


def _texts(notebook: Any) -> list[str]:
    outputs = [cell.get("outputs", ()) for cell in notebook.cells]
    assert [one for cell in outputs for one in cell if one.get("name") == "stderr"] == []
    return ["".join(one.text for one in cell if one.get("name") == "stdout") for cell in outputs]
