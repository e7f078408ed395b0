"""Checks every row of a repaired corpus: unchanged, or accepted by the template of a model.

    python -m benchmarks.scale.accepted build/scale-data rows 0
    python -m benchmarks.scale.accepted build/scale-data gemma3 1

``rows`` compares the output of ``chatmend data`` with the corpus. The name of a template repairs
the corpus for its model and renders every repaired row. The last argument selects a half.
"""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from benchmarks.scale.templates import MODELS, load_template, render

from chatmend.data import repair_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Message = dict[str, Any]


_WITHOUT_TOOLS = ("gemma3",)
"""Templates without tool calls, for which all rows with calls are repaired."""
_SAMPLE = 10
"""Of the rows for these templates that are not broken, every tenth is checked."""


def compare(source: Path, good: Path, bad: Path) -> None:
    """Check that each row is there once, and that rows which were not broken keep their bytes."""
    with source.open("rb") as given, good.open("rb") as usable, bad.open("rb") as quarantined:
        usable_lines, next_bad = iter(usable), next(quarantined, b"")
        line = next(usable_lines, b"")
        for raw in given:
            row = orjson.loads(raw)
            number, is_broken = row["id"], row["is_broken"]
            if next_bad and orjson.loads(next_bad)["row"] == row:
                assert is_broken, f"{source}: row {number} was quarantined"
                next_bad = next(quarantined, b"")
                continue
            assert line, f"{source}: row {number} is lost"
            if line != raw:
                assert is_broken, f"{source}: row {number} was valid, but changed"
                assert orjson.loads(line)["id"] == number, f"{source}: row {number} is lost"
            line = next(usable_lines, b"")
        assert line == next_bad == b"", f"{source}: rows were added"


def conversations(row: dict[str, Any]) -> Iterator[list[Message]]:
    """Yield the conversations of a row as messages of chat templates."""
    if "messages" in row:
        yield row["messages"]
    elif "conversations" in row:
        yield [*_messages(row["conversations"])]
    else:
        yield [*row["prompt"], *row["chosen"]]
        yield [*row["prompt"], *row["rejected"]]


def _messages(turns: list[dict[str, str]]) -> Iterator[Message]:
    roles = {"human": "user", "gpt": "assistant", "observation": "tool", "system": "system"}
    pending: list[str] = []
    for at, turn in enumerate(turns):
        if turn["from"] == "function_call":
            called = json.loads(turn["value"])
            functions = called if isinstance(called, list) else [called]
            pending = [f"call{at:04d}{number}" for number in range(len(functions))]
            calls = [*map(_call, functions, pending)]
            yield {"role": "assistant", "content": "", "tool_calls": calls}
            continue
        message = {"role": roles[turn["from"]], "content": turn["value"]}
        yield {**message, "tool_call_id": pending.pop(0)} if message["role"] == "tool" else message


def _call(function: dict[str, Any], name: str) -> dict[str, Any]:
    arguments = json.dumps(function["arguments"])
    called = {"name": function["name"], "arguments": arguments}
    return {"id": name, "type": "function", "function": called}


def accept(source: Path, name: str) -> None:
    """Check that the template of a model renders every row that was repaired for this model."""
    template = load_template(name)
    with source.open("rb") as lines:
        rows: Iterable[dict[str, Any]] = map(orjson.loads, lines)
        # Rows that are not broken are valid, except where a template has no tool calls.
        step = _SAMPLE if name in _WITHOUT_TOOLS else 0
        rows = (row for row in rows if row["is_broken"] or (step and row["id"] % step == 0))
        for result in repair_rows(rows, target=f"hosted_vllm/{MODELS[name]}"):
            if result.status != "repaired":
                continue
            for messages in conversations(result.row):
                text = render(template, messages)
                assert (messages[-1]["content"] or "") in text, f"{source}: {result.row['id']}"


def main(folder: Path, name: str, half: int) -> None:
    """Check every second file of the corpus."""
    lines = folder / "jsonl"
    for source in sorted(lines.rglob("*.jsonl"))[half::2]:
        relative = source.relative_to(lines)
        if name == "rows":
            compare(source, folder / "one" / relative, folder / "one/quarantine" / relative)
        else:
            accept(source, name)
    if name == "rows" and half == 0:
        for other in ("two", "recorded", "replayed"):
            _same_files(folder / "one", folder / other, lines)


def _same_files(one: Path, other: Path, lines: Path) -> None:
    relative = [path.relative_to(lines) for path in lines.rglob("*.jsonl")]
    for path in chain(relative, (Path("quarantine") / path for path in relative)):
        assert (one / path).read_bytes() == (other / path).read_bytes(), f"{other / path} differs"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
