"""Each notebook opens with its result, and its pictures are legible on a dark page."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def cells(request: pytest.FixtureRequest) -> Any:
    return json.loads(request.param.read_text("utf-8"))["cells"]


def outputs(cells: Any) -> list[Any]:
    return [output for cell in cells for output in cell.get("outputs", ())]


def test_a_notebook_opens_with_its_result_and_a_collapsed_set_up(cells: Any) -> None:
    assert "**Result.**" in "".join(cells[0]["source"])
    first_code = next(cell for cell in cells if cell["cell_type"] == "code")
    assert first_code["metadata"]["jupyter"] == {"source_hidden": True}
    assert "hide-cell" in first_code["metadata"]["tags"]


def test_a_notebook_was_run_without_errors_and_warnings(cells: Any) -> None:
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")
    kinds = {output.get("name", output["output_type"]) for output in outputs(cells)}
    assert kinds.isdisjoint({"stderr", "error"})


def test_pictures_have_an_opaque_background(cells: Any) -> None:
    pictures = [output.get("data", {}).get("image/png") for output in outputs(cells)]
    for data in filter(None, pictures):
        with Image.open(io.BytesIO(base64.b64decode("".join(data)))) as image:
            darkest, _ = image.convert("RGBA").getchannel("A").getextrema()
            assert darkest == 255
