"""A headless Chromium for the tests of the inspector; they are skipped where it is missing."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
EDITOR = ROOT / "src/chatmend/inspect/static/codemirror.js"
AXE = ROOT / "inspector/node_modules/axe-core/axe.min.js"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE, PHONE = {"width": 1440, "height": 1000}, {"width": 390, "height": 844}
SERIOUS = ("serious", "critical")


def missing() -> str:
    """Return why browser tests cannot run; empty if they can."""
    try:
        import playwright  # noqa: F401, PLC0415 - not in every environment
    except ImportError:
        return "Playwright is not installed"
    if executable() is None:
        return "Chromium is not installed (Debian: apt-get install chromium)"
    return "" if EDITOR.exists() else "the editor is not built (make inspector)"


def executable() -> str | None:
    """Return the path of the installed browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not in every environment

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """Records what must not happen on a page: requests to others, errors, violations."""

    def __init__(self, page: Any, base: str) -> None:
        self.base = base
        self.faults: list[str] = []
        page.on("request", self._request)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self._console)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.faults.append(f"left the page: {request.url}")

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")


def accessibility_faults(page: Any) -> list[str]:
    """Return the serious findings of axe-core."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (make inspector)")
    # Evaluated by the driver, so the page's policy does not forbid it.
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("() => axe.run()")["violations"]
    return [
        f"{one['id']}: {node['target']}: {node['failureSummary']}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]
