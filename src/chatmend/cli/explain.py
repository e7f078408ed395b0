"""``chatmend explain``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer
from rich.console import Console

from chatmend.cli.terminal import say, stop
from chatmend.manuals import Manual, find, manuals


def explain(what: Annotated[str, typer.Argument(metavar="CODE")]) -> None:
    """Explain."""
    manual = find(what)
    if manual is None:
        names = {word.lower(): m.code for m in manuals().values() for word in (m.code, m.name)}
        near = get_close_matches(what.lower(), names, 1)
        hint = f"did you mean {names[near[0]]}?" if near else "'chatmend rules' lists them all"
        raise stop(f"no rule {what!r}; {hint}")
    _manual(Console(), manual)


def _manual(console: Console, manual: Manual) -> None:
    say(console, f"{manual.code} {manual.name}", "bold")
    for row in ["", *manual.text.splitlines()]:
        say(console, row)
