"""A little of ``make fuzz`` at every run."""

from __future__ import annotations

import pytest

from tests.images.fuzz import run


@pytest.mark.filterwarnings("ignore")
def test_no_damaged_file_raises_or_is_let_through() -> None:
    assert run(60, []) == 0
