"""The notebook runs from top to bottom against the sandbox."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("starlette")

pytestmark = pytest.mark.showpiece
NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "images.ipynb"


def test_the_notebook_runs_and_says_what_it_said() -> None:
    notebook = nbformat.read(NOTEBOOK, 4)
    before, pictures = _texts(notebook), _pictures(notebook)
    nbclient.NotebookClient(
        notebook, timeout=300, startup_timeout=300, coalesce_streams=True
    ).execute()
    assert _texts(notebook) == before
    assert _pictures(notebook) == pictures == 6
    assert NOTEBOOK.stat().st_size < 200_000


def _texts(notebook: object) -> list[str]:
    """What was printed; without sizes, which follow the zlib of the machine, and without what tesseract read."""
    cells = notebook.cells  # type: ignore[attr-defined]
    texts = [o.text for cell in cells for o in cell.get("outputs", ()) if o.get("name") == "stdout"]
    return [
        re.sub(r" +[\d.]+ [KM]B *", " # ", text) for text in texts if not text.startswith("OCR")
    ]


def _pictures(notebook: object) -> int:
    cells = notebook.cells  # type: ignore[attr-defined]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    return sum("image/jpeg" in data or "image/png" in data for data in outputs)
