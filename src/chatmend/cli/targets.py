"""``chatmend targets``: lists hosts and makers, or shows where a target's limits come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from chatmend.cli.options import parse_target
from chatmend.cli.terminal import error_exit, print_line
from chatmend.dialects import DIALECTS
from chatmend.targets.explain import Origin, how_known, origins
from chatmend.targets.tables import host_tables, maker_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECTIONS = {
    "limits": "Messages",
    "images": "Images",
    "rules": "Limits of single rules",
    "hygiene": "Conventions of agent gateways (policy provider_hygiene)",
}
_MAX_VALUE = 60
"""Maximum number of characters of a value that is printed; ``--full`` prints all."""


def targets(
    *,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="TARGET",
            help="Print each limit of a target: its value, the table that sets it, how it is "
            "known, and when that was checked.",
            show_default=False,
        ),
    ] = None,
    wire_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"The limits for requests in one wire format: {', '.join(DIALECTS)}.",
            show_default=False,
        ),
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="Do not shorten long values.")] = False,
) -> None:
    """List the hosts and makers that chatmend knows, or explain the limits of one target."""
    console = Console()
    if wire_format and wire_format not in DIALECTS:
        raise error_exit(f"--format {wire_format!r}: choose one of {', '.join(DIALECTS)}")
    lines = _listing() if explain is None else _explanation(explain, wire_format, full=full)
    for line in lines:
        print_line(console, line)


def _listing() -> Iterator[str]:
    yield "Hosts, with the names that targets may begin with:"
    for host in host_tables():
        yield f"  {', '.join(host['names'])}"
    yield "Makers, with the names of their models:"
    for maker in maker_tables():
        yield f"  {maker['maker']:<10} {', '.join(maker['models'])}"
    yield (
        "Any other HOST/MODEL gets only what no server refuses, and what the maker demands. "
        "'chatmend targets --explain HOST/MODEL' shows each limit and its source."
    )


def _explanation(name: str, dialect: str, *, full: bool) -> Iterator[str]:
    target = parse_target(name)
    found = origins(target.name, dialect)
    host = "no table: an unknown server" if target.is_floor else target.provider
    yield f"{target.name}"
    yield f"host: {host}; model: {target.model or 'any'}; maker: {target.maker or 'not known'}"
    if dialect:
        yield f"wire format: {dialect}"
    if not found:
        yield "No limits: only a format that no table describes, or nothing to enforce."
    for section, title in _SECTIONS.items():
        own = [origin for origin in found if origin.section == section]
        if own:
            yield ""
            yield f"{title}:"
        for origin in own:
            yield from _lines_of(origin, full=full)


def _lines_of(origin: Origin, *, full: bool) -> Iterator[str]:
    checked = f", checked {origin.checked}" if origin.checked else ""
    yield f"  {origin.name} = {_shown(origin.value, full=full)}"
    yield f"      {origin.place}"
    if origin.source:
        known = how_known(origin.source)
        label = "" if origin.source.lower().startswith(known) else f"{known}: "
        yield f"      {label}{origin.source}{checked}"


def _shown(value: Any, *, full: bool) -> str:  # noqa: ANN401 - any TOML value
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = {"True": "yes", "False": "no", "none": "no limit", "": "none"}.get(text, text)
    return text if full or len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…"
