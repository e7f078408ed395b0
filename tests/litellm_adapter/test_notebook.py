"""The notebooks run completely against the sandbox and print what is stored in them."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.showpiece
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.mark.parametrize(
    ("name", "says"),
    [("litellm", "refused:"), ("fallback_and_thinking", "litellm.BadRequestError")],
)
def test_the_notebook_runs_and_prints_its_stored_output(name: str, says: str) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    before = _texts(notebook)
    nbclient.NotebookClient(
        notebook, timeout=300, startup_timeout=300, coalesce_streams=True
    ).execute()
    after = _texts(notebook)
    assert after == before
    assert any(text.startswith(says) for text in after)


def _texts(notebook: object) -> list[str]:
    cells = notebook.cells  # type: ignore[attr-defined]
    return [
        output.text
        for cell in cells
        for output in cell.get("outputs", ())
        if output.get("name") == "stdout"
    ]
