"""The verdicts of the sandbox: one for each request, in memory, on a log line and in a report."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_VERDICTS = 10_000
"""The number of verdicts kept; older ones are only counted, so that memory use is bounded."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one request: rules and positions, without content of the transcript."""

    number: int
    provider: str
    path: str
    model: str
    status: int
    rule: str | None = None
    """The broken rule; None if the request was accepted."""
    text: str = ""
    """The provider's error text."""
    stream: bool = False
    cached: int = 0
    """The number of prompt tokens read from the cache."""
    prompt: int = 0
    """The total number of prompt tokens."""
    note: str = ""
    body: dict[str, Any] | None = field(default=None, repr=False, compare=False)
    """The request body; kept only for tests and never logged or reported."""

    @property
    def refused(self) -> bool:
        """Whether the provider would refuse the request."""
        return self.rule is not None

    def line(self) -> str:
        """Return one line for a log, without the error text, which may quote the request."""
        end = (
            f"refused  {self.rule}"
            if self.refused
            else f"accepted  prompt {self.prompt}, cached {self.cached}"
        )
        note = f"  ({self.note})" if self.note else ""
        return f"{self.number:>5}  {self.status}  {self.path}  {self.model or '-'}  {end}{note}"


class Ledger:
    """Stores verdicts. Thread-safe."""

    def __init__(self, out: TextIO | None = None, *, bodies: bool = False) -> None:
        """Create an empty ledger.

        ``out``: where to log verdicts. ``bodies``: whether to keep request bodies.
        """
        self._out = out
        self._lock = Lock()
        self._verdicts: deque[Verdict] = deque(maxlen=_MAX_VERDICTS)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._number = 0
        self.bodies = bodies

    def next_number(self) -> int:
        """Return the number of the next request."""
        with self._lock:
            self._number += 1
            return self._number

    def add(self, verdict: Verdict) -> None:
        """Store and log a verdict."""
        with self._lock:
            self._verdicts.append(verdict)
            self._counts[verdict.provider, verdict.rule or "accepted"] += 1
        if self._out is not None:
            print(_printable(verdict.line()), file=self._out, flush=True)

    def __iter__(self) -> Iterator[Verdict]:
        """Iterate over the verdicts, oldest first."""
        return iter(list(self._verdicts))

    def clear(self) -> None:
        """Delete all verdicts."""
        with self._lock:
            self._verdicts.clear()
            self._counts.clear()

    def report(self) -> dict[str, Any]:
        """Return counts by provider and rule, and the refusals.

        Bodies and error texts, which may quote them, are left out.
        """
        counts: dict[str, dict[str, int]] = {}
        for (provider, rule), number in sorted(self._counts.items()):
            counts.setdefault(provider, {})[rule] = number
        refusals = []
        for verdict in self:
            if verdict.refused:
                entry = asdict(verdict)
                del entry["body"], entry["text"]
                refusals.append(entry)
        return {"requests": sum(self._counts.values()), "counts": counts, "refusals": refusals}

    def write(self, path: str | Path) -> None:
        """Write the report as JSON, readable only by the owner of the file."""
        handle = os.open(Path(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(self.report(), indent=2) + "\n")


def _printable(line: str) -> str:
    """Replace control characters in a line, because clients choose the model name."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return (
        "".join(c if c.isprintable() else "?" for c in line)
        .encode(encoding, "replace")
        .decode(encoding)
    )
