"""``chatmend sessions``: lists, shows and checks the stored sessions of a workspace."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from chatmend import SessionError, SessionStore
from chatmend.cli.terminal import (
    EFFECT_COLOURS,
    EXIT_ERROR,
    EXIT_FINDINGS,
    count,
    error_exit,
    print_line,
    printable,
)
from chatmend.report import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend import Session
    from chatmend.usage import Row

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="List, show and check the sessions of a workspace.",
)

Root = Annotated[
    Path,
    typer.Option(
        "--root",
        "-r",
        metavar="DIR",
        help="The workspace: the directory that contains 'sessions'.",
    ),
]
Agent = Annotated[
    str | None,
    typer.Option("--agent", "-a", metavar="NAME", help="Only the sessions of this agent."),
]
Name = Annotated[
    str,
    typer.Argument(
        metavar="[SESSION]",
        help="The path of a session below the workspace, as printed by 'ls', or as seen from the "
        "current directory. The default is the newest session of the agent.",
        show_default=False,
    ),
]


@app.command()
def ls(*, root: Root = Path(), agent: Agent = None) -> None:
    """List sessions with their agent, model, length and usage.

    Exit status: 0, or 2 if a file could not be read.
    """
    console = Console()
    errors: list[str] = []
    table = Table("session", "agent", "model", box=None, pad_edge=False)
    for heading in ("messages", "turns", "input", "output", "cached", "charged"):
        table.add_column(heading, justify="right")
    table.add_column("updated")
    for session in _sessions(root, agent, errors):
        header, row = session.header, session.usage
        cells = (
            session.path,
            header.agent,
            session.target,
            str(header.messages),
            str(header.turns),
            *_usage_cells(row),
        )
        table.add_row(*map(_cell, (*cells, f"{header.updated:%Y-%m-%d %H:%M}Z")))
    console.print(table if table.row_count else Text("no sessions"))
    _exit_with(errors)


@app.command()
def usage(*, root: Root = Path(), agent: Agent = None) -> None:
    """Add up the usage of the sessions by agent and model.

    Exit status: 0, or 2 if a file could not be read.
    """
    errors: list[str] = []
    sums: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for session in _sessions(root, agent, errors):
        if session.usage.calls:
            sums[session.agent, session.target].append(session.usage)
    table = Table("agent", "model", box=None, pad_edge=False)
    for heading in ("sessions", "calls", "input", "output", "cached", "charged"):
        table.add_column(heading, justify="right")
    for (name, target), rows in sorted(sums.items()):
        table.add_row(*map(_cell, (name, target, str(len(rows)), *_total_cells(rows))))
    if len(sums) > 1:
        rows = [row for rows in sums.values() for row in rows]
        table.add_row(*map(_cell, ("total", "", str(len(rows)), *_total_cells(rows))), style="bold")
    Console().print(table if table.row_count else Text("no calls"))
    _exit_with(errors)


@app.command()
def show(name: Name = "", *, root: Root = Path(), agent: str = "main") -> None:
    """Show a session as a conversation.

    Exit status: 0, or 2 if the session could not be read.
    """
    console, session = Console(), _load_session(root, name, agent)
    header = session.header
    print_line(
        console, f"{session.path}  {session.target}  {count(header.messages, 'message')}", "bold"
    )
    for at, message in enumerate(session.messages):
        console.print(Rule(Text(printable(f"{at} {_role(message)}")), align="left", style="dim"))
        for text in _texts(message):
            for part in text.split("\n"):
                print_line(console, part)
        if at + 1 == header.cache_boundary and at + 1 < header.messages:
            console.print(Rule(Text("end of the prefix in the provider's cache"), style="dim"))


@app.command("resume-check")
def resume_check(name: Name = "", *, root: Root = Path(), agent: str = "main") -> None:
    """Check whether a session can continue: whether it loads and what its target would refuse.

    Exit status: 0 it can continue, 1 the target would refuse something or the sent messages would
    change, 2 the session could not be read.
    """
    console, session = Console(), _load_session(root, name, agent)
    findings = session.findings
    for change in findings:
        print_line(console, f"  {line(change)}", EFFECT_COLOURS[change.effect.name.lower()])
    sent = session.header.cache_boundary
    next_messages = session.extend([]).messages[:sent]
    same = json.dumps(next_messages) == json.dumps(session.messages[:sent])
    kept = "begins with" if same else "does not begin with"
    print_line(
        console, f"{session.path}: {count(len(findings), 'finding')} for {session.target}", "bold"
    )
    print_line(
        console,
        f"the next request {kept} the {count(sent, 'message')} already sent",
        "" if same else "red",
    )
    raise typer.Exit(EXIT_FINDINGS if findings or not same else 0)


def _sessions(root: Path, agent: str | None, errors: list[str]) -> Iterator[Session]:
    store = SessionStore(root)
    for path in store.paths():
        try:
            session = store.load(path)
        except SessionError as error:
            errors.append(str(error))
            continue
        if agent is None or session.agent == agent:
            yield session


def _load_session(root: Path, name: str, agent: str) -> Session:
    """Load the named session, or the newest of the agent if ``name`` is empty.

    Raises:
        typer.Exit: there is none, or it could not be read.
    """
    store = SessionStore(root)
    try:
        session = store.load(_path_below(root, name)) if name else store.latest(agent)
    except SessionError as error:
        raise error_exit(str(error)) from error
    if session is None:
        raise error_exit(
            f"agent {agent!r} has no session of today or yesterday; "
            "'chatmend sessions ls' lists all sessions"
        )
    return session


def _path_below(root: Path, name: str) -> str:
    """Return the path below the workspace, from any spelling of it; else the name unchanged.

    The spelling may be relative to the workspace or to the current directory, or absolute.
    """
    bases = (root.absolute(), Path.cwd())
    paths = [Path(os.path.normpath(base / name.replace("\\", "/"))) for base in bases]
    inside = [
        (path, path.relative_to(one).as_posix())
        for path in paths
        for one in (root.absolute(), root.resolve())
        if path.is_relative_to(one)
    ]
    present = (below for path, below in inside if path.is_file())
    return next(present, inside[0][1] if inside else name)


def _exit_with(errors: list[str]) -> None:
    for error in errors:
        print_line(Console(stderr=True), error, "red")
    raise typer.Exit(EXIT_ERROR if errors else 0)


def _total_cells(rows: list[Row]) -> tuple[str, ...]:
    row = sum(rows[1:], rows[0])
    return (f"{row.calls:,}", *_usage_cells(row))


def _usage_cells(row: Row) -> tuple[str, ...]:
    usage = row.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    cells = ["-" if value is None else f"{value:,}" for value in counts]
    if usage.cache_hit_ratio is not None:
        cells[2] += f" ({usage.cache_hit_ratio:.0%})"
    return (*cells, "-" if row.cost_usd is None else f"{row.cost_usd:.4f} USD")


def _cell(text: str) -> Text:
    return Text(printable(text))


def _role(message: Any) -> str:  # noqa: ANN401 - stored messages can be any JSON value
    role = message.get("role", message.get("type", "?")) if isinstance(message, dict) else "?"
    return str(role)


def _texts(message: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    """Yield the parts of a message as texts for people; other parts and calls as short JSON."""
    if not isinstance(message, dict):
        yield json.dumps(message)
        return
    content = message.get("content", message.get("parts", message.get("data")))
    for part in content if isinstance(content, list) else [content]:
        if part is not None:
            yield _part(part)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        yield f"[call] {json.dumps(call, ensure_ascii=False)}"


def _part(part: Any) -> str:  # noqa: ANN401
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return json.dumps(part)
    for name in ("text", "thinking", "refusal"):
        if isinstance(part.get(name), str):
            return part[name] if name == "text" else f"[{name}] {part[name]}"
    text = json.dumps(part, ensure_ascii=False)
    return f"[{part.get('type', 'part')}] {text if len(text) <= _LIMIT else text[:_LIMIT] + '…'}"


_LIMIT = 400
"""Characters of JSON after which a part, such as an image, is truncated for display."""
