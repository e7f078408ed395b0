"""`make demo` does what its headings announce, and leaves no process or file when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.scale import sampled

ROOT = Path(__file__).resolve().parents[1]
WORDS = [sys.executable, "examples/demo.py"]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of the demo. Its TMPDIR holds the demo's files and identifies its processes."""
    return {**os.environ, "TMPDIR": str(folder)}


def running(folder: Path) -> list[str]:
    """Return the processes that were started with ``environment(folder)``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:  # another user's process, or it has ended
            continue
    return found


@pytest.mark.showpiece
def test_the_demo_goes_as_it_says(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own script
        WORDS, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "exceed max allowed size: 8000" in done.stdout
    assert "were found without" in done.stdout
    assert "requests: anthropic 529, gemini 200" in done.stdout
    assert "tokens sent before were read from the provider's cache." in done.stdout
    assert list(tmp_path.iterdir()) == []


def _heard() -> None:
    """Restore the handling of Ctrl-C, which background processes of a shell and their children ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("sign", sampled([signal.SIGINT, signal.SIGTERM], [signal.SIGINT]))
def test_a_demo_that_is_stopped_leaves_no_process_and_no_file(
    sign: signal.Signals, tmp_path: Path
) -> None:
    place: dict[str, Any] = {"cwd": ROOT, "env": environment(tmp_path), "preexec_fn": _heard}
    with subprocess.Popen(WORDS, stdout=subprocess.PIPE, text=True, **place) as demo:  # noqa: S603
        assert demo.stdout is not None
        assert demo.stdout.readline().startswith("A LiteLLM proxy starts")
        demo.send_signal(sign)
        demo.stdout.read()
    assert demo.returncode == 128 + sign
    assert running(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


STOPPED_IN_A_FINALIZER = """
import os, signal, stop

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

stopping = stop.Stop()
Finalized()
print("the exception was dropped", flush=True)
stopping.check()
print("not stopped")
"""


def test_a_signal_that_arrives_in_a_finalizer_is_not_lost() -> None:
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", STOPPED_IN_A_FINALIZER],
        cwd=ROOT / "examples",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "the exception was dropped\n", done.stderr
    assert done.returncode == 128 + signal.SIGINT
