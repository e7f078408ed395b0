"""``chatmend explain``: prints the manual of a rule, or finds the rule for an error message."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import Annotated

import typer
from rich.console import Console

from chatmend.cli.conversation import RunSettings
from chatmend.cli.locate import Located, locate
from chatmend.cli.options import PolicyName, PolicySettings, parse_policy, parse_target
from chatmend.cli.terminal import EFFECT_COLOURS, error_exit, print_line
from chatmend.manuals import Manual, find, manuals
from chatmend.refusals import Topic, search, topics

_MAX_POSITIONS = 8
"""How many messages are listed for an id."""


def explain(
    *,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE|TEXT",
            help="A rule code or name (TOOL005, orphan-tool-result), or the error message of a "
            "provider. Use single quotes, because shells execute text in backticks. '-' reads the "
            "message from standard input.",
            show_default=False,
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="Also show the positions in this file.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="TARGET",
            help="With --file: the target that refused the request. Optional if the error message "
            "belongs to one provider.",
            show_default=False,
        ),
    ] = None,
    policy: PolicyName = None,
    settings: PolicySettings = None,
) -> None:
    """Explain a rule or the error message of a provider.

    Prints the cause, the repair and, with --file, the positions in a file.

    Exit status: 0 explained, 2 no match or the file could not be read.
    """
    if (policy is not None or settings) and file is None:
        raise error_exit("--policy and --set require --file")
    chosen = parse_policy(policy, settings)
    text = sys.stdin.read() if what == ["-"] else " ".join(what)
    console = Console()
    pages, by = _pages(text)
    name = target or (by[0] if by else "")
    if file and not name:
        raise error_exit(
            "--file requires the target that refused the request, for example "
            "--target anthropic/claude-sonnet-4-5"
        )
    located = _locate(file, RunSettings(parse_target(name), chosen), text) if file else []
    # Several rules may match the text: print first those that the file violates.
    found = {finding.code for one in located for finding in one.findings}
    first, *others = sorted(
        pages, key=lambda page: isinstance(page, Topic) or page.code not in found
    )
    _print_page(console, first)
    for other in others:
        title = (
            other.title
            if isinstance(other, Topic)
            else f"{other.code} {other.name}: {other.summary}"
        )
        print_line(console, "")
        print_line(console, f"Or: {title}")
    if file:
        codes = {page.code for page in pages if isinstance(page, Manual)}
        _print_positions(console, located, codes, name)


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
        raise error_exit(
            "this error message is not known. If it is about the messages, run "
            "'chatmend check FILE --target PROVIDER/MODEL'; please report the message"
        )
    names = {word.lower(): m.code for m in manuals().values() for word in (m.code, m.name)}
    near = get_close_matches(text.lower(), names, 1)
    hint = f"did you mean {names[near[0]]}?" if near else "'chatmend rules' lists all rules"
    raise error_exit(f"no rule {text!r}; {hint}")


def _print_page(console: Console, page: Manual | Topic) -> None:
    if isinstance(page, Topic):
        title, rows = page.title, ["", f"Why: {page.cause}", "", f"Repair: {page.does}"]
    else:
        title, rows = f"{page.code} {page.name}", ["", *page.text.splitlines()]
    print_line(console, title, "bold")
    for row in rows:
        print_line(console, row)


def _locate(file: Path, settings: RunSettings, text: str) -> list[Located]:
    try:
        return [
            located
            for located in locate(file, settings, text)
            if located.findings or located.ids or located.error
        ]
    except OSError as error:
        raise error_exit(f"{file}: could not be read: {error.strerror}") from error


def _print_positions(
    console: Console, located: list[Located], codes: set[str], target: str
) -> None:
    """Print the positions of the findings with one of the codes, or else of all findings.

    Raises:
        typer.Exit: a part of the file could not be read.
    """
    wanted = any(finding.code in codes for one in located for finding in one.findings)
    print_line(console, "")
    if not wanted:
        others = any(one.findings for one in located)
        found = "There are other findings:" if others else "There are no other findings."
        hint = "" if others else " The request that was sent may differ from this file."
        print_line(
            console,
            f"No matching problem found in this file for {target}. {found}{hint}",
            "bold",
        )
    for one in located:
        lines = [
            (f.text, EFFECT_COLOURS[f.effect])
            for f in one.findings
            if f.code in codes or not wanted
        ]
        lines += [(_describe_id(name, indices), "") for name, indices in one.ids.items()]
        if lines or one.error:
            print_line(console, one.title, "bold")
        for line, style in lines:
            print_line(console, f"  {line}", style)
        if one.error:
            print_line(Console(stderr=True), f"  {one.error}", "red")
    if any(one.error for one in located):
        raise typer.Exit(2)


def _describe_id(name: str, indices: list[int]) -> str:
    listed = ", ".join(f"messages[{index}]" for index in indices[:_MAX_POSITIONS])
    more = f" and {len(indices) - _MAX_POSITIONS} more" if len(indices) > _MAX_POSITIONS else ""
    return f"the id {name} from the error message is in {listed}{more}"
