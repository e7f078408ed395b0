"""What several commands take: files and a target."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend import PolicyError, TargetError, resolve
from chatmend.cli.terminal import say, stop
from chatmend.options import POLICY_FIELDS, policy_with
from chatmend.policy import NAMES
from chatmend.targets import known_providers
from chatmend.targets.resolve import UNKNOWN, misspelt, shortened

if TYPE_CHECKING:
    from chatmend import Policy, Target

_LISTED = " ('chatmend rules --targets' lists the providers)"


def path_named(name: str) -> Path:
    """The path that a word means.

    Raises:
        typer.BadParameter: the word is empty, as an unset variable is in a shell; it does not mean this directory.
    """
    if not name:
        raise typer.BadParameter("an empty name; '.' is this directory")
    return Path(name)


Files = Annotated[
    list[Path],
    typer.Argument(
        parser=path_named,
        metavar="FILE",
        help="JSON: a list of messages, or an object with 'messages' (a request body). JSONL (.jsonl, .ndjson): one "
        "conversation per line. A directory: every such file in it.",
        show_default=False,
    ),
]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="Where it will be sent: provider/model as LiteLLM writes it, or a provider alone. "
        "'chatmend rules --targets' lists the providers. Required.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=0,
        help="Processes for a big file with one conversation per line, and for many small files; 0: as many as there "
        "are processors.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the summary and faults only.")]
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help=f"How to repair where there is more than one way: {', '.join(NAMES)}.",
        show_default=False,
    ),
]
PolicySettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Set one field of the policy, on top of --policy; may be repeated. "
        + "; ".join(f"{name}={'|'.join(values)}" for name, values in POLICY_FIELDS.items())
        + ".",
        show_default=False,
    ),
]


def policy_given(name: str | None, settings: list[str] | None) -> Policy | None:
    """The policy that ``--policy`` and ``--set`` mean; None for the default.

    Raises:
        typer.Exit: a name, a field or a value does not exist.
    """
    try:
        return policy_with(name, settings or ())
    except PolicyError as error:
        raise stop(str(error)) from error


def target_named(name: str) -> Target:
    """The target that a name means; a name without a table is said to be one, on standard error.

    Raises:
        typer.Exit: none was named, there is no such target, or its provider is misspelt.
    """
    if not name.strip():
        raise stop(f"where will it be sent? For example --target anthropic/claude-sonnet-4-5{_LISTED}")
    provider = shortened(name.strip().partition("/")[0].lower())
    if "/" in name and (meant := misspelt(name)):
        text = f"no table for {provider!r}; did you mean {meant!r}?"
        raise stop(f"{text} ('--target other' judges no more than any provider refuses)")
    try:
        target = resolve(name)
    except TargetError as error:
        raise stop(f"{error}{_LISTED}") from error
    if not provider:
        raise stop(f"no provider stands before the '/' of {shortened(name)!r}{_LISTED}")
    if target.provider == UNKNOWN and provider not in known_providers():
        near = get_close_matches(provider, known_providers(), 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        text = f"no table for {provider!r}{hint} Read as a server of which only the API is known."
        say(Console(stderr=True), text, "yellow")
    return target
