"""Command line options that several commands share."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend import PolicyError, TargetError, resolve
from chatmend.cli.terminal import error_exit, print_line
from chatmend.options import POLICY_FIELDS, policy_with
from chatmend.policy import NAMES
from chatmend.targets import known_providers
from chatmend.targets.resolve import UNKNOWN, shorten, suggest_provider

if TYPE_CHECKING:
    from chatmend import Policy, Target

_PROVIDERS_HINT = " ('chatmend targets' lists the providers)"


def parse_path(name: str) -> Path:
    """Return the path that an argument names.

    Raises:
        typer.BadParameter: the argument is empty, for example an unset shell variable. ``Path("")``
            would be the current directory.
    """
    if not name:
        raise typer.BadParameter("the name is empty; use '.' for the current directory")
    return Path(name)


Files = Annotated[
    list[Path],
    typer.Argument(
        parser=parse_path,
        metavar="FILE",
        help="JSON: a list of messages, or an object with 'messages' (a request body). JSONL "
        "(.jsonl, .ndjson): one conversation per line. Both also compressed (.gz, .zst). A "
        "directory: every such file in it. -: standard input.",
        show_default=False,
    ),
]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="The model that receives the messages: provider/model as in LiteLLM, or only a "
        "provider. 'chatmend targets' lists the providers. Required; 'check' and 'repair' also "
        "read it from the 'model' of a request body, or of all lines of one JSONL file.",
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
        help="Number of processes for a large JSONL file or many small files; 0 means one per "
        "processor.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only the summary and the errors.")
]
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help=f"The choice between possible repairs: {', '.join(NAMES)}.",
        show_default=False,
    ),
]
PolicySettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change one field of the policy (of --policy or the default); can be repeated. "
        + "; ".join(f"{name}={'|'.join(values)}" for name, values in POLICY_FIELDS.items())
        + ".",
        show_default=False,
    ),
]


def parse_policy(name: str | None, settings: list[str] | None) -> Policy | None:
    """Return the policy that ``--policy`` and ``--set`` select; None means the default.

    Raises:
        typer.Exit: a name, field or value is unknown.
    """
    try:
        return policy_with(name, settings or ())
    except PolicyError as error:
        raise error_exit(str(error)) from error


def parse_target(name: str) -> Target:
    """Return the target that ``--target`` names; warn on standard error if it has no table.

    Raises:
        typer.Exit: the option is missing, or the target is unknown or looks misspelt.
    """
    if not name.strip():
        raise error_exit(
            "--target is missing, for example --target anthropic/claude-sonnet-4-5"
            f"{_PROVIDERS_HINT}"
        )
    provider = shorten(name.strip().partition("/")[0].lower())
    if "/" in name and (meant := suggest_provider(name)):
        text = f"no table for {provider!r}; did you mean {meant!r}?"
        raise error_exit(f"{text} ('--target other' changes only images that are too large)")
    try:
        target = resolve(name)
    except TargetError as error:
        raise error_exit(f"{error}{_PROVIDERS_HINT}") from error
    if not provider:
        raise error_exit(
            f"the provider is missing before '/' in {shorten(name)!r}{_PROVIDERS_HINT}"
        )
    if target.provider == UNKNOWN and provider not in known_providers():
        near = get_close_matches(provider, known_providers(), 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        text = (
            f"no table for {provider!r}{hint} "
            "Using the limits of an unknown server (openai_compatible)."
        )
        print_line(Console(stderr=True), text, "yellow")
    return target
