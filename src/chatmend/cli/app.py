"""The Typer app, which lists the commands. A new command is one file and one line here."""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import Annotated

import typer

from chatmend.cli import (
    check,
    data,
    explain,
    image,
    inspect,
    lessons,
    probe,
    proxy,
    repair,
    report,
    rules,
    sandbox,
    sessions,
    targets,
    usage,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # local variables contain transcripts
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Repair LLM chat transcripts so that strict providers accept them, and list the changes.",
    epilog="Example: chatmend check chat.json --target anthropic/claude-sonnet-4-5",
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - Typer calls it
    if wanted:
        typer.echo(f"chatmend {version('chatmend')}")
        raise typer.Exit


# The commands print what the library logs, such as an unknown host, in their own words.
logging.getLogger("chatmend").addHandler(logging.NullHandler())


@app.callback()
def main(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Declare the options that come before a command."""


app.command(
    epilog="Example: chatmend check chat.json sessions/ --target mistral/mistral-large-latest"
)(check.check)
app.command(
    epilog="Example: chatmend repair sessions/ --target anthropic/claude-sonnet-4-5 --write"
)(repair.repair)
app.command(
    epilog="Example: chatmend data train.parquet --target hosted_vllm/Qwen/Qwen3-8B --out repaired/"
)(data.data)
app.command(
    epilog="Example: chatmend explain 'messages: text content blocks must be non-empty' "
    "--file chat.json"
)(explain.explain)
app.command(epilog="Example: chatmend inspect chat.json")(inspect.inspect)
app.command(epilog="Example: chatmend rules")(rules.rules)
app.command(epilog="Example: chatmend targets --explain openrouter/deepseek/deepseek-v4-pro")(
    targets.targets
)
app.command(epilog="Example: chatmend lessons lessons.jsonl")(lessons.lessons)
app.command(epilog="Example: chatmend probe mistral")(probe.probe)
app.command(epilog="Example: chatmend image shot.png --target anthropic --out small/")(image.image)
app.command(epilog="Example: chatmend report spend_logs.jsonl --by model,team")(report.report)
app.command(epilog="Example: chatmend usage responses.jsonl --by provider,model")(usage.usage)
app.command(epilog="Example: chatmend proxy --port 4000")(proxy.proxy)
app.command(epilog="Example: chatmend sandbox --port 8090")(sandbox.sandbox)
app.add_typer(
    sessions.app,
    name="sessions",
    epilog="Example: chatmend sessions show sessions/21112026/main_1.md",
)
