"""The Grafana board is valid according to the types that Grafana publishes."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("grafana_foundation_sdk")

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.litellm_adapter.proxy import ROOT

BOARD = ROOT / "contrib/litellm/grafana/chatmend.json"


def test_grafana_reads_each_field_of_the_board() -> None:
    register_default_plugins()
    board = json.loads(BOARD.read_text())
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(board)))
    assert list(_differences(board, read, "")) == []


def test_each_panel_has_a_description_and_its_own_place() -> None:
    panels = json.loads(BOARD.read_text())["panels"]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels) == len({panel["id"] for panel in panels})
    assert all(panel["description"] and panel["targets"] for panel in panels)


def _differences(written: Any, read: Any, path: str) -> Any:
    """Yield the paths of the values that are lost or changed by reading."""
    if isinstance(written, dict) and isinstance(read, dict):
        for key, value in written.items():
            yield from _differences(value, read.get(key, "lost"), f"{path}.{key}")
    elif isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        for at, (one, other) in enumerate(zip(written, read, strict=True)):
            yield from _differences(one, other, f"{path}[{at}]")
    elif written != read:
        yield path
