"""``chatmend lessons``: prints what refusals have shown, as proposals for the tables."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from chatmend.cli.terminal import count, error_exit, print_line
from chatmend.errors import ChatmendError
from chatmend.lessons import Lesson, is_known
from chatmend.targets import resolve
from chatmend.targets.strictness import IMAGES, OWN_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCKS = "refused_blocks"
_LONGEST = 160


def lessons(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A file with one lesson as JSON in each line, as the option lessons_file of "
            "ChatMend writes it.",
            show_default=False,
        ),
    ],
) -> None:
    """Print the limits that refusals have shown, as lines for the tables of targets.

    Limits that the tables already have are left out, and so are lessons about single blocks.

    Exit status: 0 printed, 2 the file could not be read.
    """
    console = Console()
    known = _read(file)
    blocks = sum(lesson.limit == _BLOCKS for lesson in known)
    proposals: dict[str, list[Lesson]] = {}
    for lesson in dict.fromkeys(known):
        if lesson.limit != _BLOCKS and not is_known(lesson, resolve(lesson.target).limits):
            proposals.setdefault(lesson.target, []).append(lesson)
    for target, learnt in sorted(proposals.items()):
        print_line(console, f"# {target}")
        for section in ("limits", "images", "rules"):
            lines = [one for one in learnt if _section_of(one) == section]
            if lines:
                print_line(console, f"[{section}]")
            for line in _rows(lines):
                print_line(console, line)
        print_line(console, "")
    if not proposals:
        print_line(console, "no limit that the tables do not have")
    if blocks:
        print_line(console, f"# {count(blocks, 'lesson')} about single blocks left out")


def _read(file: Path) -> list[Lesson]:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise error_exit(f"{file}: {error}") from error
    found: list[Lesson] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(Lesson.from_dict(json.loads(line)))
        except (ValueError, TypeError, ChatmendError) as error:
            raise error_exit(f"{file}, line {number}: {error}") from error
    return found


def _section_of(lesson: Lesson) -> str:
    """Return the table of a target's file that holds a limit."""
    if lesson.limit in OWN_LIMITS:
        return "rules"
    return "images" if lesson.limit.startswith(IMAGES) else "limits"


def _rows(learnt: Iterable[Lesson]) -> list[str]:
    """Return one line for each limit: its value, with the newest error message as the source."""
    rows: dict[str, str] = {}
    for lesson in learnt:
        evidence = " ".join(lesson.evidence.split())[:_LONGEST]
        source = json.dumps(f"seen: {evidence}", ensure_ascii=False)
        name = lesson.limit.removeprefix(IMAGES)
        rows[name] = f"{name} = {{ value = {_toml(lesson.value)}, source = {source} }}"
    return list(rows.values())


def _toml(value: Any) -> str:  # noqa: ANN401 - any limit
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
