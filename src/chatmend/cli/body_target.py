"""Finds the target of a stored request body from its ``model``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from chatmend import TargetError
from chatmend.cli.conversation import UnreadableConversationError, conversation_in
from chatmend.cli.depth import deep_values
from chatmend.cli.options import parse_target
from chatmend.cli.run_report import in_file_lines
from chatmend.cli.sources import InputFile, blocks
from chatmend.cli.terminal import error_exit, print_line
from chatmend.cli.unpacking import STANDARD_INPUT, plain
from chatmend.sessions.repairs import is_session
from chatmend.targets.resolve import find_table, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend import Target


def target_for(name: str, files: Sequence[Path]) -> Target:
    """Return the target that ``--target`` names, or else that of the bodies in the one file.

    All lines of a JSONL file must have the same model. Standard error names a target that was
    found in the file.

    Raises:
        typer.Exit: the option is missing and the file does not tell the target or cannot be read,
            or the target is unknown or looks misspelt.
    """
    if name.strip() or len(files) != 1:
        return parse_target(name)
    models, fault = _read_models(files[0])
    if fault and not models:
        raise error_exit(f"{files[0]}: {fault}")
    if len(models) > 1:
        listed = " and ".join(repr(shorten(model)) if model else "none" for model in models)
        raise error_exit(
            f"--target is missing, and lines of {files[0]} have different models ({listed}); pass "
            "the target of all lines, for example --target anthropic/claude-sonnet-4-5"
        )
    model = models[0] if models else ""
    if not model:
        return parse_target(name)
    if chosen := _target_of_model(model):
        text = f"--target {chosen} (from the model of {files[0]})"
        print_line(Console(stderr=True), text)
        return parse_target(chosen)
    example = model if _host_of(model) and "/" in model else f"PROVIDER/{model}"
    raise error_exit(
        f"--target is missing, and the model {shorten(model)!r} of {files[0]} does not tell the "
        f"provider; pass it, for example --target {shorten(example)} ('chatmend targets' lists "
        "the providers)"
    )


def target_of_body(file: Path) -> str:
    """Return the target that the model of a body means; empty if no host or several have it."""
    models, _ = _read_models(file)
    return _target_of_model(models[0]) if len(models) == 1 else ""


def _target_of_model(model: str) -> str:
    """Return the target of a bare model name, such as ``gpt-4o``.

    The word before a slash may be the provider (LiteLLM), the maker (OpenRouter) or an
    organisation (Hugging Face), so such a name does not tell the provider.
    """
    host = "" if "/" in model else _host_of(model)
    return f"{host}/{model}" if host and host != model.lower() else ""


def _host_of(model: str) -> str:
    try:
        host, _ = find_table(model)
    except TargetError:
        return ""
    return str(host["host"]) if host else ""


def _read_models(path: Path) -> tuple[list[str], str]:
    """Return the first ``model`` of the conversations in a file, and the first other one.

    It is empty for a conversation without a model. Text that is not a conversation has none; the
    second value is the error of the first such text, with its position.
    """
    if path == Path(STANDARD_INPUT) or not path.is_file():
        return [], ""
    found: dict[str, None] = {}
    fault, number = "", 0
    try:
        with (
            plain(InputFile(path, path, found=False)) as source,
            source.plain_path.open("rb") as file,
            deep_values(),
        ):
            for block in blocks(source, file):
                for raw in block.pieces(file, lines=source.has_lines):
                    number += 1
                    try:
                        found[_model_of(conversation_in(raw))] = None
                    except UnreadableConversationError as error:
                        if not (fault or raw.isspace() or is_session(raw)):
                            fault = in_file_lines(str(error), number)
                    if len(found) > 1:
                        return [*found], fault
    except OSError:
        return [], ""  # the command reports it
    return [*found], fault


def _model_of(body: object) -> str:
    model = body.get("model") if isinstance(body, dict) else None
    return model.strip() if isinstance(model, str) else ""
