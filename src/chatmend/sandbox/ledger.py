"""What the sandbox has seen: one verdict a request, in memory, on a log line, and in a report."""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT = 10_000
"""Verdicts that are kept. Older ones are only counted: a long-running server must not grow."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one request. It names rules and places, never what was said."""

    number: int
    provider: str
    path: str
    model: str
    status: int
    rule: str | None = None
    """The broken rule; None: accepted."""
    text: str = ""
    """The provider's text."""
    stream: bool = False
    cached: int = 0
    """Prompt tokens that the cache gave."""
    prompt: int = 0
    """Prompt tokens in all."""
    note: str = ""
    body: dict[str, Any] | None = field(default=None, repr=False, compare=False)
    """What was sent; only kept by the pytest fixture, never logged or reported."""

    @property
    def refused(self) -> bool:
        """Whether the provider would refuse it."""
        return self.rule is not None

    def line(self) -> str:
        """One line for a log. The text is cut: it may quote what was sent."""
        end = f"refused  {self.rule}" if self.refused else f"accepted  prompt {self.prompt}, cached {self.cached}"
        note = f"  ({self.note})" if self.note else ""
        return f"{self.number:>5}  {self.status}  {self.path}  {self.model or '-'}  {end}{note}"


class Ledger:
    """Keeps verdicts. Safe to share between threads."""

    def __init__(self, out: TextIO | None = None, *, bodies: bool = False) -> None:
        """Log to ``out``, if given; keep request bodies only where a test wants them."""
        self._out = out
        self._lock = Lock()
        self._kept: deque[Verdict] = deque(maxlen=_KEPT)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._number = 0
        self.bodies = bodies

    def next_number(self) -> int:
        """A number for the next request."""
        with self._lock:
            self._number += 1
            return self._number

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict, and log it."""
        with self._lock:
            self._kept.append(verdict)
            self._counts[verdict.provider, verdict.rule or "accepted"] += 1
        if self._out is not None:
            print(_printable(verdict.line()), file=self._out, flush=True)

    def __iter__(self) -> Iterator[Verdict]:
        """The verdicts, oldest first."""
        return iter(list(self._kept))

    def clear(self) -> None:
        """Forget every verdict."""
        with self._lock:
            self._kept.clear()
            self._counts.clear()

    def report(self) -> dict[str, Any]:
        """Counts by provider and rule, and the refusals, without request bodies."""
        counts: dict[str, dict[str, int]] = {}
        for (provider, rule), number in sorted(self._counts.items()):
            counts.setdefault(provider, {})[rule] = number
        refusals = []
        for verdict in self:
            if verdict.refused:
                shown = asdict(verdict)
                del shown["body"]
                refusals.append(shown)
        return {"requests": sum(self._counts.values()), "counts": counts, "refusals": refusals}

    def write(self, path: str | Path) -> None:
        """Write the report as JSON."""
        Path(path).write_text(json.dumps(self.report(), indent=2) + "\n", encoding="utf-8")


def _printable(line: str) -> str:
    """A line without control characters: a model name comes from outside."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return "".join(c if c.isprintable() else "?" for c in line).encode(encoding, "replace").decode(encoding)
