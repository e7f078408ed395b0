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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SOUND = [{"role": "user", "content": "Where is order 1042?"}]
ORPHAN = [*SOUND, {"role": "tool", "tool_call_id": "call_gone", "content": "shipped"}]
FILES = 60


def texts() -> dict[str, str]:
    """Small conversations, some big ones, and one of many lines."""
    small = {
        f"{number:03}.json": json.dumps(ORPHAN, indent=number % 3 or None)
        for number in range(FILES)
    }
    big = {
        f"{number:03}-big.json": json.dumps([*SOUND * 5_000, *ORPHAN])
        for number in range(0, FILES, 15)
    }
    return {**small, **big, "many.jsonl": "".join(f"{json.dumps(ORPHAN)}\n" for _ in range(4_000))}


def lay_out(folder: Path, old: dict[str, str]) -> None:
    """Put the old files there, and nothing else."""
    for path in folder.iterdir():
        path.unlink()
    for name, text in old.items():
        (folder / name).write_text(text, encoding="utf-8")


def leftovers(folder: Path) -> list[str]:
    """Files there that nobody put there."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def repair(place: Path) -> list[str]:
    """The command."""
    return [
        sys.executable,
        "-m",
        "chatmend",
        "repair",
        str(place),
        "--write",
        "--quiet",
        "--target",
        "openai/gpt-4o",
    ]


def torn(folder: Path, old: dict[str, str], new: dict[str, str], names: Iterable[str]) -> list[str]:
    """Files that are neither the old nor the new one."""
    return [
        name for name in names if (folder / name).read_text("utf-8") not in (old[name], new[name])
    ]


def main(count: int) -> int:
    """Kill so many runs; 1 if a file is neither old nor new, or if the next run leaves what a killed one left."""
    with tempfile.TemporaryDirectory() as name:
        folder, old, lots = Path(name), texts(), random.Random(7)
        command = repair(folder)
        lay_out(folder, old)
        began = time.monotonic()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command line
        whole = time.monotonic() - began
        new = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
        killed = mixed = runs = left = 0
        while killed < count and runs < 5 * count:
            runs += 1
            lay_out(folder, old)
            with subprocess.Popen(  # noqa: S603
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                time.sleep(lots.uniform(whole * 0.2, whole * 0.95))
                process.kill()
                killed += process.wait() != 0
            if found := torn(folder, old, new, old):
                print(f"TORN: {found}")
                return 1
            changed = sum((folder / name).read_text("utf-8") != old[name] for name in old)
            mixed += 0 < changed < len(old)
            if leftovers(folder):
                left += 1
                subprocess.run(repair(folder / "000.json"), check=True, capture_output=True)  # noqa: S603
                if found := leftovers(folder):
                    print(f"LEFT: {found}")
                    return 1
    print(
        f"{killed} of {runs} runs were killed, {mixed} between files; every file was the old or the new one"
    )
    print(f"{left} left a temporary file behind, which the next run removed")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
