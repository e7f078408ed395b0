"""``chatmend probe``: asks a provider whether the limits in the tables are still true."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from chatmend.cli.options import parse_path
from chatmend.cli.terminal import EXIT_FINDINGS, count, error_exit, print_line
from chatmend.errors import ProbeError, TargetError
from chatmend.probe.cases import FORMATS
from chatmend.probe.endpoint import find_endpoint
from chatmend.probe.proposals import proposals
from chatmend.probe.run import (
    CONFIRMED,
    OUT_OF_DATE,
    Report,
    answers,
    by_limit,
    check_controls,
    cost_of,
    plan,
    read_report,
    verdict_on,
)
from chatmend.targets.tables import host_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.probe.endpoint import Endpoint
    from chatmend.probe.run import Cost, Plan

_COLOURS = {CONFIRMED: "green", OUT_OF_DATE: "red"}

_Target = Annotated[
    str | None,
    typer.Argument(
        metavar="HOST[/MODEL]",
        help="The provider to ask, and the model; without a model a cheap one is chosen.",
        show_default=False,
    ),
]
_Url = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="The complete URL of the endpoint, for a server of your own or a host without an "
        "address in the tables. {model} is replaced by the model.",
        show_default=False,
    ),
]
_KeyVariable = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The environment variable with the API key; by default the usual one of the host.",
        show_default=False,
    ),
]
_WireFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"The wire format of the endpoint: {', '.join(FORMATS)}.",
        show_default=False,
    ),
]
_Limits = Annotated[
    str,
    typer.Option(
        metavar="NAME,NAME",
        help="Test only these limits, for example pairing,call_id_pattern.",
        show_default=False,
    ),
]
_Report = Annotated[
    Path | None,
    typer.Option(
        parser=parse_path,
        metavar="FILE",
        help="The report, as JSON; by default chatmend-probe-HOST-MODEL.json. An existing "
        "report is continued.",
        show_default=False,
    ),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the requests and their cost; send nothing.")
]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before sending.")]
_Propose = Annotated[
    Path | None,
    typer.Option(
        parser=parse_path,
        metavar="FILE",
        help="Print the edits of the tables that a report suggests; send nothing.",
        show_default=False,
    ),
]


def probe(  # noqa: PLR0913 - a command's options
    target: _Target = None,
    *,
    url: _Url = "",
    key_variable: _KeyVariable = "",
    wire_format: _WireFormat = "",
    limits: _Limits = "",
    report: _Report = None,
    dry_run: _DryRun = False,
    yes: _Yes = False,
    propose: _Propose = None,
) -> None:
    """Send small requests to a provider and compare its answers with the tables of limits.

    Each limit is tested with conversations that obey all other limits, each for one output token.
    The highest possible cost is printed and confirmed first. The report can be attached to an
    issue; it contains no key. An interrupted run continues when it is started again.

    Exit status: 0 all limits are confirmed, 1 a limit is out of date or unknown, 2 nothing can be
    asked.
    """
    console = Console()
    try:
        if propose is not None:
            for line in proposals(read_report(propose)):
                print_line(console, line)
            return
        if target is None:
            for line in _listing():
                print_line(console, line)
            return
        endpoint = find_endpoint(target, url=url, key_variable=key_variable, dialect=wire_format)
        names = [name.strip() for name in limits.split(",") if name.strip()]
        todo = plan(endpoint, names)
        if dry_run:
            _print_requests(console, todo)
            return
        path = report or Path(_report_name(endpoint))
        entries = _ask(console, todo, path, yes=yes)
    except (ProbeError, TargetError) as error:
        raise error_exit(str(error)) from error
    _print_verdicts(console, todo, entries, path)
    if any(verdict != CONFIRMED for verdict in by_limit(entries).values()):
        raise typer.Exit(EXIT_FINDINGS)


def _listing() -> Iterator[str]:
    yield "Hosts that can be probed, the variable with the API key, and the model:"
    for host in host_tables():
        if known := host.get("probe"):
            key = known.get("key", "no key")
            yield f"  {host['host']:<14} {key:<24} {known.get('model', 'name one')}"
    yield "Any other server: chatmend probe HOST/MODEL --url URL [--key-variable NAME]"


def _report_name(endpoint: Endpoint) -> str:
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", endpoint.target.name)
    return f"chatmend-probe-{name}.json"


def _ask(console: Console, todo: Plan, path: Path, *, yes: bool) -> list[dict[str, Any]]:
    """Confirm the cost, send the requests and return the entries of the report."""
    try:
        # Other commands do not need the extra.
        from chatmend.probe.provider import Provider  # noqa: PLC0415
    except ImportError as error:  # pragma: no cover - httpx is installed with the tests
        raise error_exit(f"{error}: pip install 'chatmend[probe]'") from error
    saved = Report(path, todo.endpoint)
    known = [case.name for case in todo.cases if saved.answer_to(case)]
    for line in _announcement(todo, cost_of(todo, known), len(known)):
        print_line(console, line)
    with _connected(Provider, todo.endpoint) as provider:
        if len(known) < len(todo.cases):
            if not yes:
                typer.confirm("Send them?", abort=True)
            check_controls(todo, provider.ask)
        progress = track(
            answers(todo, saved, provider.ask),
            "Asking",
            total=len(todo.cases),
            console=Console(stderr=True),
            transient=True,
        )
        try:
            return list(progress)
        except KeyboardInterrupt:
            message = f"interrupted; the same command continues from {path}"
            raise error_exit(message) from None


def _connected(provider: Any, endpoint: Endpoint) -> Any:  # noqa: ANN401 - Provider
    try:
        return provider(endpoint)
    except ImportError as error:
        raise error_exit(
            f"the probe requires httpx and tenacity ({error}): pip install 'chatmend[probe]'"
        ) from error


def _announcement(todo: Plan, cost: Cost, known: int) -> Iterator[str]:
    endpoint = todo.endpoint
    key = f"the key in {endpoint.key_variable}" if endpoint.key_variable else "no key"
    yield f"{endpoint.model} at {endpoint.url}, with {key}"
    if known:
        yield f"{count(known, 'answer')} of an earlier run will be kept."
    dollars = "the price of this model is not known"
    if cost.dollars is not None:
        dollars = f"at most {cost.dollars:.4f} USD"
    if known < len(todo.cases):
        tokens = f"{cost.input_tokens:,} input and {cost.output_tokens:,} output tokens"
        yield f"{count(cost.requests, 'request')} with at most {tokens}: {dollars}"


def _print_requests(console: Console, todo: Plan) -> None:
    for case in todo.cases:
        expected = "refused" if case.is_refused else "accepted"
        print_line(console, f"{expected:<9} {case.limit}: {case.form}")
    for line in _announcement(todo, cost_of(todo), 0):
        print_line(console, line)


def _print_verdicts(
    console: Console, todo: Plan, entries: list[dict[str, Any]], path: Path
) -> None:
    verdicts = by_limit(entries)
    for limit, verdict in verdicts.items():
        print_line(console, f"{verdict:<12} {limit}", _COLOURS.get(verdict, "yellow"))
        for entry in entries:
            if entry["limit"] == limit and verdict_on(entry) != CONFIRMED:
                print_line(console, f"    {_difference(entry)}")
    counts = Counter(verdicts.values())
    print_line(console, ", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    if todo.untested:
        print_line(console, f"One request cannot test: {', '.join(todo.untested)}")
    print_line(
        console,
        f"Report: {path}. Attach it to an issue; 'chatmend probe --propose {path}' prints the "
        "edits of the tables.",
    )


def _difference(entry: dict[str, Any]) -> str:
    form, message = entry["form"], " ".join(str(entry["message"]).split())
    if entry["answer"] == "accepted":
        return f"{form}: the table says refused; the provider accepts it"
    if entry["answer"] == "refused":
        return f"{form}: the table says accepted; the provider refuses it: {message}"
    return f"{form}: no answer: {message}"
