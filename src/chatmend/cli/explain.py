"""``chatmend explain``: prints the manual of a rule, or finds the rule for an error message."""

from __future__ import annotations

import re
import shlex
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from chatmend.cli.body_target import target_of_body
from chatmend.cli.conversation import RunSettings
from chatmend.cli.file_findings import FileSearch
from chatmend.cli.options import PolicyName, PolicySettings, parse_policy, parse_target
from chatmend.cli.terminal import EXIT_ERROR, error_exit, print_line
from chatmend.manuals import Manual, find, manuals
from chatmend.refusals import Topic, search, topics
from chatmend.targets import resolve

_GAP = re.compile(r"\s{2,}|\s[.,:;]|\(\s*\)|^\s|\s$|(\.\.\.|…)$")
"""A trace of words that are missing in a text: a shell replaces text in backticks."""

_What = Annotated[
    list[str],
    typer.Argument(
        metavar="CODE|TEXT",
        help="A rule code or name (TOOL005, orphan-tool-result), or the error message of a "
        "provider in single quotes: in double quotes, shells execute text in backticks. '-' "
        "reads the message from standard input, with quotes of any kind: "
        "chatmend explain - < error.txt",
        show_default=False,
    ),
]
_File = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Also show the positions in this file.",
        show_default=False,
    ),
]
_Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="With --file: the target that refused the request. Optional if the error message "
        "belongs to one provider, or the file has a 'model' that does.",
        show_default=False,
    ),
]


def explain(
    *,
    what: _What,
    file: _File = None,
    target: _Target = None,
    policy: PolicyName = None,
    settings: PolicySettings = None,
) -> None:
    """Explain a rule or the error message of a provider.

    Prints the cause and the repair; with --file first the positions in the file, and at the end the
    command that repairs it.

    Exit status: 0 explained, 2 no match or the file could not be read.
    """
    if (policy is not None or settings) and file is None:
        raise error_exit("--policy and --set require --file")
    chosen = parse_policy(policy, settings)
    text = sys.stdin.read() if what == ["-"] else " ".join(what)
    console = Console()
    pages, by = _pages(text)
    if file is None:
        _print_pages(console, pages)
        return
    name = target or _target_of(file, by)
    found = FileSearch(file, RunSettings(parse_target(name), chosen), text)
    found.print_findings(console, {page.code for page in pages if isinstance(page, Manual)}, name)
    # Several rules may match the text: print first those that the file violates.
    pages.sort(key=lambda page: isinstance(page, Topic) or page.code not in found.codes)
    print_line(console, "")
    _print_pages(console, pages, examples=False)
    if found.is_repairable:
        options = ["--target", name, *(["--policy", policy] if policy else [])]
        options += [word for setting in settings or () for word in ("--set", setting)]
        command = shlex.join(["chatmend", "repair", str(file), *options])
        print_line(console, "")
        print_line(console, f"To repair the file: {command}", "bold")
        print_line(console, "With --diff it only shows the changes.")
    if found.has_errors:
        raise typer.Exit(EXIT_ERROR)


def _target_of(file: Path, by: tuple[str, ...]) -> str:
    """Return the target that refused a request: who sends the message, or the model of the file.

    Raises:
        typer.Exit: neither tells it.
    """
    body = target_of_body(file)
    if body and (not by or resolve(body).provider in {resolve(name).provider for name in by}):
        return body
    if by:
        return by[0]
    raise error_exit(
        "--file requires the target that refused the request, for example "
        "--target anthropic/claude-sonnet-4-5"
    )


def _pages(text: str) -> tuple[list[Manual | Topic], tuple[str, ...]]:
    """Return the pages for a rule's code or name or an error message, and who sends the message.

    Raises:
        typer.Exit: nothing matches.
    """
    if manual := find(text):
        return [manual], ()
    if refusal := search(text):
        known: dict[str, Manual | Topic] = {**manuals(), **topics()}
        return [known[page] for page in refusal.pages], refusal.by
    if len(text.split()) > 1:
        gap = (
            "Parts of it seem to be missing: shells execute text in backticks within double "
            "quotes. Use single quotes, or save the message: chatmend explain - < error.txt. "
            if _GAP.search(text)
            else ""
        )
        raise error_exit(
            f"this error message is not known. {gap}If it is about the messages, run "
            "'chatmend check FILE --target PROVIDER/MODEL'; please report the message"
        )
    names = {word.lower(): m.code for m in manuals().values() for word in (m.code, m.name)}
    near = get_close_matches(text.lower(), names, 1)
    hint = f"did you mean {names[near[0]]}?" if near else "'chatmend rules' lists all rules"
    raise error_exit(f"no rule {text!r}; {hint}")


def _print_pages(console: Console, pages: list[Manual | Topic], *, examples: bool = True) -> None:
    """Print the first page, and the titles of the others."""
    first, *others = pages
    _print_page(console, first, examples=examples)
    for other in others:
        title = (
            other.title
            if isinstance(other, Topic)
            else f"{other.code} {other.name}: {other.summary}"
        )
        print_line(console, "")
        print_line(console, f"Or: {title}")


def _print_page(console: Console, page: Manual | Topic, *, examples: bool) -> None:
    if isinstance(page, Topic):
        title, rows = page.title, ["", f"Why: {page.cause}", "", f"Repair: {page.does}"]
    else:
        text = page.text if examples else page.prose
        title, rows = f"{page.code} {page.name}", ["", *text.splitlines()]
    print_line(console, title, "bold")
    for row in rows:
        print_line(console, row)
