"""``chatmend explain``."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import Annotated

import typer
from rich.console import Console

from chatmend.cli.conversation import Order
from chatmend.cli.locate import Located, locate
from chatmend.cli.options import PolicyName, PolicySettings, policy_given, target_named
from chatmend.cli.terminal import EFFECTS, say, stop
from chatmend.manuals import Manual, find, manuals
from chatmend.refusals import Topic, search, topics

_NAMED = 8
"""How many places of an id are told at most."""


def explain(
    *,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE|TEXT",
            help="A code or a name (TOOL005, orphan-tool-result), or what a provider answered: best in single quotes, "
            "because shells run what stands in backticks. '-' reads it from standard input.",
            show_default=False,
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="Show where in this file it is.", show_default=False),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="TARGET",
            help="With --file: who refused it; of a provider's own text its provider is taken.",
            show_default=False,
        ),
    ] = None,
    policy: PolicyName = None,
    settings: PolicySettings = None,
) -> None:
    """Explain a rule or a provider's error.

    Its cause, what a repair does about it, and with --file where it is.

    Exit status: 0 explained, 2 not known, or the file could not be read.
    """
    if (policy is not None or settings) and file is None:
        raise stop("--policy and --set go with --file")
    chosen = policy_given(policy, settings)
    text = sys.stdin.read() if what == ["-"] else " ".join(what)
    console = Console()
    pages, by = _pages(text)
    name = target or (by[0] if by else "")
    if file and not name:
        raise stop("with --file: name who refused it, for example --target anthropic/claude-sonnet-4-5")
    places = _places(file, Order(target_named(name), chosen), text) if file else []
    # Of the rules that such a text may stand for, first the one that the file breaks.
    found = {finding.code for place in places for finding in place.findings}
    first, *others = sorted(pages, key=lambda page: isinstance(page, Topic) or page.code not in found)
    _say_page(console, first)
    for other in others:
        title = other.title if isinstance(other, Topic) else f"{other.code} {other.name}: {other.summary}"
        say(console, "")
        say(console, f"Or: {title}")
    if file:
        codes = {page.code for page in pages if isinstance(page, Manual)}
        _say_where(console, places, codes, name)


def _pages(text: str) -> tuple[list[Manual | Topic], tuple[str, ...]]:
    """What there is to say about a code, a name or a provider's text, and who says such a text.

    Raises:
        typer.Exit: nothing.
    """
    if manual := find(text):
        return [manual], ()
    if refusal := search(text):
        known: dict[str, Manual | Topic] = {**manuals(), **topics()}
        return [known[page] for page in refusal.pages], refusal.by
    if len(text.split()) > 1:
        raise stop(
            "no text like this is known. If it is about the messages, 'chatmend check FILE --target PROVIDER/MODEL' "
            "may tell more; please report the text"
        )
    names = {word.lower(): m.code for m in manuals().values() for word in (m.code, m.name)}
    near = get_close_matches(text.lower(), names, 1)
    hint = f"did you mean {names[near[0]]}?" if near else "'chatmend rules' lists them all"
    raise stop(f"no rule {text!r}; {hint}")


def _say_page(console: Console, page: Manual | Topic) -> None:
    if isinstance(page, Topic):
        title, rows = page.title, ["", f"Why: {page.cause}", "", f"Repair: {page.does}"]
    else:
        title, rows = f"{page.code} {page.name}", ["", *page.text.splitlines()]
    say(console, title, "bold")
    for row in rows:
        say(console, row)


def _places(file: Path, order: Order, text: str) -> list[Located]:
    try:
        return [place for place in locate(file, order, text) if place.findings or place.ids or place.fault]
    except OSError as error:
        raise stop(f"{file}: could not be read: {error.strerror}") from error


def _say_where(console: Console, places: list[Located], codes: set[str], target: str) -> None:
    """Say where the findings are; without one of the codes, which others there are.

    Raises:
        typer.Exit: some of the file could not be read.
    """
    wanted = any(finding.code in codes for place in places for finding in place.findings)
    say(console, "")
    if not wanted:
        others = any(place.findings for place in places)
        found = "but something else is" if others else "nor anything else that is refused there"
        hint = "" if others else "; what was sent may have been put together in another way"
        say(console, f"In this file nothing of the kind is found for {target}, {found}{hint}.", "bold")
    for place in places:
        told = [(f.text, EFFECTS[f.effect]) for f in place.findings if f.code in codes or not wanted]
        told += [(_held(name, held), "") for name, held in place.ids.items()]
        if told or place.fault:
            say(console, place.title, "bold")
        for line, style in told:
            say(console, f"  {line}", style)
        if place.fault:
            say(Console(stderr=True), f"  {place.fault}", "red")
    if any(place.fault for place in places):
        raise typer.Exit(2)


def _held(name: str, held: list[int]) -> str:
    told = ", ".join(f"messages[{place}]" for place in held[:_NAMED])
    more = f" and {len(held) - _NAMED} more" if len(held) > _NAMED else ""
    return f"the id {name}, which the text names, stands in {told}{more}"
