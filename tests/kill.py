"""Kills ``chatmend repair --write`` at random moments, and looks whether each file is the old or the new one, whole.

``python -m tests.kill 200``. The moments are drawn from the time that a whole run takes.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOUND = [{"role": "user", "content": "Where is order 1042?"}]
ORPHAN = [*SOUND, {"role": "tool", "tool_call_id": "call_gone", "content": "shipped"}]
FILES = 60


def texts() -> dict[str, str]:
    """Small conversations, some big ones, and one of many lines."""
    small = {f"{number:03}.json": json.dumps(ORPHAN, indent=number % 3 or None) for number in range(FILES)}
    big = {f"{number:03}-big.json": json.dumps([*SOUND * 5_000, *ORPHAN]) for number in range(0, FILES, 15)}
    return {**small, **big, "many.jsonl": "".join(f"{json.dumps(ORPHAN)}\n" for _ in range(4_000))}


def lay_out(folder: Path, old: dict[str, str]) -> None:
    """Put the old files there, and nothing else."""
    for path in folder.iterdir():
        path.unlink()
    for name, text in old.items():
        (folder / name).write_text(text, encoding="utf-8")


def main(count: int) -> int:
    """Kill so many runs; 1 if a file is neither old nor new."""
    with tempfile.TemporaryDirectory() as name:
        folder, old, lots = Path(name), texts(), random.Random(7)
        command = [sys.executable, "-m", "chatmend", "repair", name, "--write", "--quiet", "--target", "openai/gpt-4o"]
        lay_out(folder, old)
        began = time.monotonic()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command line
        whole = time.monotonic() - began
        new = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
        killed = mixed = runs = 0
        while killed < count and runs < 5 * count:
            runs += 1
            lay_out(folder, old)
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603
                time.sleep(lots.uniform(whole * 0.2, whole * 0.95))
                process.kill()
                killed += process.wait() != 0
            now = {name: (folder / name).read_text("utf-8") for name in old}
            torn = [name for name, text in now.items() if text not in (old[name], new[name])]
            if torn:
                print(f"TORN: {torn}")
                return 1
            changed = sum(now[name] != old[name] for name in old)
            mixed += 0 < changed < len(old)
    print(f"{killed} of {runs} runs were killed, {mixed} between files; every file was the old or the new one")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
