"""The example with ``chatmend proxy``: the conversation is refused without it and accepted through it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline import OFFLINE

pytest.importorskip("litellm.proxy.proxy_cli")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/agent_proxy.py"


@pytest.mark.showpiece
def test_the_conversation_is_refused_without_the_proxy_and_accepted_through_it(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], env={**os.environ, **OFFLINE}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    bare, repaired = done.stdout.splitlines()
    assert bare.startswith("without chatmend: refused: messages.1: `tool_use` ids were found")
    assert repaired == "chatmend proxy: accepted, x-chatmend-changes: TOOL007=1"
