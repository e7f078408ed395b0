"""What reaches a terminal: text as it is, without markup, without anything that a terminal would obey."""

from __future__ import annotations

import unicodedata

import typer
from rich.console import Console
from rich.text import Text

FOUND, FAULT = 1, 2
"""Exit statuses: something was found; a file could not be read or written, or the command was wrong."""
EFFECTS = {"reshapes": "blue", "adds": "green", "degrades": "yellow", "drops": "red"}
"""The colour of each effect."""
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def say(console: Console, text: str, style: str = "") -> None:
    """Print one line as it is: no markup, no control characters, no wrapping."""
    console.print(Text(printable(text), style), soft_wrap=True)


def printable(text: str) -> str:
    """The text without control, format and surrogate characters; tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text
    spaced = text.replace("\t", "    ")
    return "".join(sign for sign in spaced if unicodedata.category(sign) not in _UNPRINTABLE)


def stop(text: str) -> typer.Exit:
    """Print why nothing can be done, and make the exit that says so."""
    say(Console(stderr=True), text, "red")
    return typer.Exit(FAULT)


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
