"""A long transcript of phone photos and screenshots is repaired in little more memory than it takes itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_RUN = r"""
import base64
from pathlib import Path
import chatmend
from chatmend.images import Recompressor
from tests.images.pictures import noise, oriented, saved

def high_water():
    rows = Path("/proc/self/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) * 1024

photo = saved(noise(4000, 3000, 120), "JPEG", quality=88)
sound = saved(noise(900, 700, 120), "JPEG", quality=92)
turned = oriented(noise(900, 700, 120), 6)
messages, size = [], 0
for at in range(400):
    data = photo if at % 20 == 4 else turned if at % 20 == 7 else sound
    data = data[:2] + b"\xff\xfe\x00\x06" + at.to_bytes(4, "big") + data[2:]
    text = base64.b64encode(data).decode()
    size += len(text)
    part = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + text}}
    messages += [{"role": "user", "content": [part]}, {"role": "assistant", "content": f"Seen {at}."}]
del part, text, data
told = []
chatmend.repair(messages[14:16], "openrouter/google/gemini-2.5-pro")
Path("/proc/self/clear_refs").write_text("5")
before = high_water()
done = chatmend.repair(messages, "openrouter/google/gemini-2.5-pro", recompressor=Recompressor(progress=told.append))
print(size, high_water() - before, len(told), len(done.changes))
"""


@pytest.mark.showpiece
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux's /proc"
)
def test_400_images_of_200_mb_take_at_most_a_third_more_memory() -> None:
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _RUN], cwd=root, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    size, grown, told, changes = map(int, run.stdout.split())
    assert size >= 200_000_000
    assert grown <= 0.3 * size, (grown, size)
    assert told == changes == 40  # the photos and the turned ones
