"""The pytest plugin costs a test run nothing that does not use its fixtures."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points


def test_the_plugin_imports_nothing_that_pytest_has_not_imported() -> None:
    (plugin,) = entry_points(group="pytest11", name="chatmend-sandbox")
    script = (
        "import sys, pytest; before = set(sys.modules); import "
        f"{plugin.module}; print(*sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == [plugin.module]
