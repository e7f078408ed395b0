"""Finds the target of a stored request body from its ``model``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from chatmend import TargetError
from chatmend.cli.conversation import UnreadableConversationError, conversation_in
from chatmend.cli.depth import deep_values
from chatmend.cli.options import parse_target
from chatmend.cli.sources import InputFile
from chatmend.cli.terminal import error_exit, print_line
from chatmend.cli.unpacking import STANDARD_INPUT, plain
from chatmend.targets.resolve import find_table, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend import Target


def target_for(name: str, files: Sequence[Path]) -> Target:
    """Return the target that ``--target`` names, or else that of the one body in ``files``.

    Standard error names a target that was found in the file.

    Raises:
        typer.Exit: the option is missing and the file does not tell the target, or the target is
            unknown or looks misspelt.
    """
    if name.strip() or len(files) != 1:
        return parse_target(name)
    model = _model_in(files[0])
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
    return _target_of_model(_model_in(file))


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


def _model_in(path: Path) -> str:
    """Return the ``model`` of the one request body in a file; empty if there is none."""
    if path == Path(STANDARD_INPUT) or not path.is_file():
        return ""
    try:
        with plain(InputFile(path, path, found=False)) as source, deep_values():
            if source.has_lines:
                return ""
            body = conversation_in(source.plain_path.read_bytes())
    except (OSError, UnreadableConversationError):
        return ""  # the command reports it
    model = body.get("model") if isinstance(body, dict) else None
    return model.strip() if isinstance(model, str) else ""
