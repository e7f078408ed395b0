"""``chatmend sessions``: what is stored in a workspace, for people."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from chatmend import SessionError, SessionStore
from chatmend.cli.terminal import EFFECTS, FAULT, FOUND, count, printable, say, stop
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
    typer.Option("--root", "-r", metavar="DIR", help="The workspace: the directory that 'sessions' lies in."),
]
Agent = Annotated[str | None, typer.Option("--agent", "-a", metavar="NAME", help="Only the sessions of this agent.")]
Name = Annotated[
    str,
    typer.Argument(
        metavar="[SESSION]",
        help="A session's path below the workspace, as 'ls' prints it; the agent's newest one if not given.",
        show_default=False,
    ),
]


@app.command()
def ls(*, root: Root = Path(), agent: Agent = None) -> None:
    """List sessions: whose, how long, what they used.

    Exit status: 0, or 2 if a file could not be read.
    """
    console = Console()
    faults: list[str] = []
    table = Table("session", "agent", "model", box=None, pad_edge=False)
    for heading in ("messages", "turns", "input", "output", "cached", "charged"):
        table.add_column(heading, justify="right")
    table.add_column("updated")
    for session in _sessions(root, agent, faults):
        header, row = session.header, session.usage
        cells = (session.path, header.agent, session.target, str(header.messages), str(header.turns), *_used(row))
        table.add_row(*map(_cell, (*cells, f"{header.updated:%Y-%m-%d %H:%M}Z")))
    console.print(table if table.row_count else Text("no sessions"))
    _tell(faults)


@app.command()
def usage(*, root: Root = Path(), agent: Agent = None) -> None:
    """Sum up what the sessions used, by agent and model.

    Exit status: 0, or 2 if a file could not be read.
    """
    faults: list[str] = []
    sums: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for session in _sessions(root, agent, faults):
        if session.usage.calls:
            sums[session.agent, session.target].append(session.usage)
    table = Table("agent", "model", box=None, pad_edge=False)
    for heading in ("sessions", "calls", "input", "output", "cached", "charged"):
        table.add_column(heading, justify="right")
    for (name, target), rows in sorted(sums.items()):
        table.add_row(*map(_cell, (name, target, str(len(rows)), *_summed(rows))))
    if len(sums) > 1:
        rows = [row for rows in sums.values() for row in rows]
        table.add_row(*map(_cell, ("total", "", str(len(rows)), *_summed(rows))), style="bold")
    Console().print(table if table.row_count else Text("no calls"))
    _tell(faults)


@app.command()
def show(name: Name = "", *, root: Root = Path(), agent: str = "main") -> None:
    """Show a session as a conversation.

    Exit status: 0, or 2 if it could not be read.
    """
    console, session = Console(), _named(root, name, agent)
    header = session.header
    say(console, f"{session.path}  {session.target}  {count(header.messages, 'message')}", "bold")
    for at, message in enumerate(session.messages):
        console.print(Rule(Text(printable(f"{at} {_role(message)}")), align="left", style="dim"))
        for text in _texts(message):
            for part in text.split("\n"):
                say(console, part)
        if at + 1 == header.cache_boundary and at + 1 < header.messages:
            console.print(Rule(Text("up to here in the provider's cache"), style="dim"))


@app.command("resume-check")
def resume_check(name: Name = "", *, root: Root = Path(), agent: str = "main") -> None:
    """Say whether a session can go on: whether it loads, and what its target would refuse in it.

    Exit status: 0 it can, 1 the target would refuse something, 2 it could not be read.
    """
    console, session = Console(), _named(root, name, agent)
    findings = session.findings
    for change in findings:
        say(console, f"  {line(change)}", EFFECTS[change.effect.name.lower()])
    sent = session.header.cache_boundary
    done = session.extend([]).messages[:sent]
    same = json.dumps(done) == json.dumps(session.messages[:sent])
    kept = "begins with" if same else "does not begin with"
    say(console, f"{session.path}: {count(len(findings), 'finding')} for {session.target}", "bold")
    say(console, f"what would be sent next {kept} the {count(sent, 'message')} that were sent", "" if same else "red")
    raise typer.Exit(FOUND if findings or not same else 0)


def _sessions(root: Path, agent: str | None, faults: list[str]) -> Iterator[Session]:
    store = SessionStore(root)
    for path in store.paths():
        try:
            session = store.load(path)
        except SessionError as error:
            faults.append(str(error))
            continue
        if agent is None or session.agent == agent:
            yield session


def _named(root: Path, name: str, agent: str) -> Session:
    """The session that was asked for.

    Raises:
        typer.Exit: there is none, or it could not be read.
    """
    store = SessionStore(root)
    try:
        session = store.load(name.replace("\\", "/")) if name else store.latest(agent)
    except SessionError as error:
        raise stop(str(error)) from error
    if session is None:
        raise stop(f"no session of {agent!r} of today or yesterday; 'chatmend sessions ls' lists all")
    return session


def _tell(faults: list[str]) -> None:
    for fault in faults:
        say(Console(stderr=True), fault, "red")
    raise typer.Exit(FAULT if faults else 0)


def _summed(rows: list[Row]) -> tuple[str, ...]:
    row = sum(rows[1:], rows[0])
    return (f"{row.calls:,}", *_used(row))


def _used(row: Row) -> tuple[str, ...]:
    usage = row.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    told = ["-" if value is None else f"{value:,}" for value in counts]
    if usage.cache_hit_ratio is not None:
        told[2] += f" ({usage.cache_hit_ratio:.0%})"
    return (*told, "-" if row.cost_usd is None else f"{row.cost_usd:.4f} USD")


def _cell(text: str) -> Text:
    return Text(printable(text))


def _role(message: Any) -> str:  # noqa: ANN401 - whatever was stored
    role = message.get("role", message.get("type", "?")) if isinstance(message, dict) else "?"
    return str(role)


def _texts(message: Any) -> Iterator[str]:  # noqa: ANN401 - whatever was stored
    """What a person reads of a message: its texts, its calls and results in short, and what else is there by name."""
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
    shown = json.dumps(part, ensure_ascii=False)
    return f"[{part.get('type', 'part')}] {shown if len(shown) <= _LONG else shown[:_LONG] + '…'}"


_LONG = 400
"""Characters of JSON after which a part, such as an image, is cut for display."""
