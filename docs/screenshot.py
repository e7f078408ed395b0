"""Write ``docs/report.png``, a screenshot of the report in a notebook.

Run ``python docs/screenshot.py`` after a change of its layout. Chromium must be installed.
"""

from __future__ import annotations

import io
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import chatmend

PAGE = (
    '<!doctype html><meta charset="utf-8">'
    "<style>body{margin:12px;background:#fff;color:#222}</style>"
)
OFFLINE = (
    "no-sandbox disable-gpu disable-quic no-first-run "
    "disable-background-networking disable-component-update"
)
SIZE = (1000, 640)


def call(name: str, call_id: str) -> dict[str, Any]:
    """Return a tool call about the order."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": '{"order": 1042}'},
    }


MESSAGES = [
    {"role": "user", "content": "Where is order 1042?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("order", "call_1"), call("parcel", "call_2")],
    },
    {"role": "tool", "tool_call_id": "call_2", "content": "in Leipzig since 08:15"},
    {"role": "user", "content": "Hello? Are you still there?"},
    {"role": "assistant", "content": "Your parcel is in Leipzig."},
    {"role": "tool", "tool_call_id": "call_gone", "content": "refund of 89.90 EUR <b>approved</b>"},
    {"role": "user", "content": ""},
    {"role": "assistant", "content": "It arrives tomorrow.  "},
]


def main() -> None:
    """Take the screenshot and reduce its colours, which keeps the file small."""
    html = chatmend.repair(MESSAGES, "anthropic/claude-sonnet-4-5")._repr_html_()
    with tempfile.TemporaryDirectory() as name:
        page, picture = Path(name) / "report.html", Path(name) / "report.png"
        page.write_text(PAGE + html, encoding="utf-8")
        options = [f"--{word}" for word in OFFLINE.split()]
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        paths = [f"--user-data-dir={name}/profile", f"--screenshot={picture}", page.as_uri()]
        window = ["--headless", "--hide-scrollbars", "--force-device-scale-factor=1.5", size]
        command = ["chromium", *options, "--disable-sync", *window, *paths]
        subprocess.run(command, check=True, capture_output=True, timeout=300)  # noqa: S603 - a page written here
        with Image.open(io.BytesIO(picture.read_bytes())) as image:
            image.convert("RGB").quantize(128).save(
                Path(__file__).with_name("report.png"), optimize=True
            )


if __name__ == "__main__":
    main()
