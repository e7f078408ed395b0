"""The example with every SDK: each installed one is refused without chatmend and accepted with it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("boto3")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/any_sdk.py"


def test_each_sdk_is_refused_without_and_accepted_with_chatmend(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATMEND_HOSTS", "")  # restored afterwards
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    _, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    for line in lines:
        assert "not installed" in line or ("refused" in line and line.endswith("accepted")), line
    assert sum("accepted" in line for line in lines) >= 4
