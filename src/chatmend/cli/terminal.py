"""Prints text to a terminal without markup and control characters."""

from __future__ import annotations

import unicodedata

import typer
from rich.console import Console
from rich.text import Text

EXIT_FINDINGS, EXIT_ERROR = 1, 2
"""Exit statuses: 1 for findings; 2 for an unreadable file or an invalid argument."""
EFFECT_COLOURS = {"reshapes": "blue", "adds": "green", "degrades": "yellow", "drops": "red"}
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that a terminal may interpret."""


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print one line literally: no markup, no control characters, no wrapping."""
    console.print(Text(printable(text), style), soft_wrap=True)


def printable(text: str) -> str:
    """Return the text without control, format and surrogate characters; tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text
    spaced = text.replace("\t", "    ")
    return "".join(letter for letter in spaced if unicodedata.category(letter) not in _UNPRINTABLE)


def error_exit(text: str) -> typer.Exit:
    """Print an error and return the exception that ends the command with status 2."""
    print_line(Console(stderr=True), text, "red")
    return typer.Exit(EXIT_ERROR)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
