"""The third-party code of the inspector is pinned, reproducible, and loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.inspector.browser import EDITOR, ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "inspector"
STATIC = EDITOR.parent


def test_every_package_is_pinned_without_the_address_of_a_registry() -> None:
    lock = json.loads((FOLDER / "package-lock.json").read_text("utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    for entry in packages.values():
        assert "resolved" not in entry
        assert entry["integrity"].startswith("sha512-")
    wanted = json.loads((FOLDER / "package.json").read_text("utf-8"))["devDependencies"]
    assert all(re.fullmatch(r"[\d.]+", version) for version in wanted.values())


@pytest.mark.skipif(
    not EDITOR.exists() or not (FOLDER / "node_modules").exists(),
    reason="the editor is not built (make inspector)",
)
def test_building_the_editor_again_gives_the_same_bytes(tmp_path: Path) -> None:
    again = tmp_path / "codemirror.js"
    node = shutil.which("node") or "node"
    subprocess.run([node, "build.mjs", str(again)], cwd=FOLDER, check=True, capture_output=True)  # noqa: S603
    assert again.read_bytes() == EDITOR.read_bytes()
    assert "MIT License" in again.read_text("utf-8")[:200]


def test_the_page_names_no_other_server() -> None:
    for path in [*STATIC.glob("*.js"), STATIC / "index.html", STATIC / "style.css"]:
        if path != EDITOR:
            for address in re.findall(r"https?://[^\s\"'`)]+", path.read_text("utf-8")):
                assert address.startswith("https://github.com/chatmend/chatmend/blob/main/docs/")
