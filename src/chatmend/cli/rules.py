"""``chatmend rules``: lists the rules."""

from __future__ import annotations

from rich.console import Console

from chatmend.cli.terminal import print_line
from chatmend.manuals import manuals


def rules() -> None:
    """List all rules with code, name and defect. 'chatmend explain CODE' prints the details."""
    console = Console()
    for manual in manuals().values():
        print_line(console, f"{manual.code:<9} {manual.name:<26} {manual.summary}")
