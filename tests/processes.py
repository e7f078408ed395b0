"""Processes that a test starts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """Nobody waits for what will not end: where the test fails, the process is killed."""
    try:
        yield
    except BaseException:
        process.kill()
        raise
