"""Write ``docs/inspector.png``, a screenshot of the inspector with its first example.

Run ``make inspector`` and ``python docs/screenshot_inspector.py`` after a change of the layout.
Chromium must be installed.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]


def main() -> None:
    """Take the screenshot and reduce its colours, which keeps the file small."""
    command = [sys.executable, "-m", "chatmend", "inspect", "--no-browser"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,  # noqa: S603 - our own
        sync_playwright() as driver,
    ):
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_page(
            viewport={"width": 1180, "height": 760}, device_scale_factor=1.5, color_scheme="light"
        )
        page.goto(found[0] if found else "")
        page.locator(".examples button").first.click()
        page.locator(".card .difference").first.wait_for()
        picture = page.screenshot()
        browser.close()
        server.terminate()
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(96).save(
            Path(__file__).with_name("inspector.png"), optimize=True
        )


if __name__ == "__main__":
    main()
