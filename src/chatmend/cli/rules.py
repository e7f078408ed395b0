"""``chatmend rules``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from chatmend.cli.terminal import say
from chatmend.manuals import manuals
from chatmend.targets import known_providers


def rules(
    *,
    targets: Annotated[bool, typer.Option("--targets", help="List the providers that have a table instead.")] = False,
) -> None:
    """List every rule: its code, its name, and what it finds. 'chatmend explain CODE' says more."""
    console = Console()
    if targets:
        for name in known_providers():
            say(console, name)
        return
    for manual in manuals().values():
        say(console, f"{manual.code:<9} {manual.name:<26} {manual.summary}")
