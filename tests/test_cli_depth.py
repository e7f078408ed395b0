"""All commands accept and refuse the same nesting depths of JSON."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from chatmend.cli import app
from chatmend.cli.depth import MAX_DEPTH
from tests.scale import sampled

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

ORPHAN = '{"role": "tool", "tool_call_id": "gone", "content": "42"}'
DEPTHS = [90, 500, 980, 990, 1_000, 1_010, MAX_DEPTH - 2, MAX_DEPTH - 1]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words), "--target", "openai/gpt-4o"])


def nested(levels: int, kind: str) -> str:
    opening, closing = ("[", "]") if kind == "lists" else ('{"a":', "}")
    return opening * levels + "1" + closing * levels


def text(inner: str, where: str, *, broken: bool) -> str:
    said = '{"role": "user", "content": "hi", "metadata": 1}'
    messages = "[" + said + (", " + ORPHAN if broken else "") + "]"
    if where == "beside the messages":
        return f'{{"messages": {messages}, "metadata": {inner}}}'
    if where == "in a message":
        return messages.replace('"metadata": 1', f'"metadata": {inner}')
    return messages.replace('"hi"', inner)


def levels_around(where: str) -> int:
    return {"beside the messages": 1, "in a message": 2, "as content": 2}[where]


def faults(done: Result) -> list[str]:
    return [line.rpartition(": line ")[2] for line in done.stderr.splitlines() if ": line " in line]


def found(done: Result) -> list[str]:
    return [line.partition(";")[0] for line in done.stdout.splitlines() if line.startswith("  ")]


NESTED = list(
    product(DEPTHS, ["lists", "objects"], ["beside the messages", "in a message", "as content"])
)


@pytest.mark.parametrize(("depth", "kind", "where"), sampled(NESTED, NESTED[::5]))
def test_what_check_reads_repair_mends(tmp_path: Path, depth: int, kind: str, where: str) -> None:
    file = tmp_path / "deep.json"
    inner = nested(depth + 1 - levels_around(where), kind)
    file.write_text(text(inner, where, broken=True), encoding="utf-8")
    checked, shown = run("check", file), run("repair", file, "--diff")
    assert faults(checked) == faults(shown) == []
    repaired = run("repair", file, "--write")
    assert repaired.exit_code == 0, repaired.output
    assert "1 file written" in repaired.stdout
    assert found(checked) == found(repaired)
    assert run("check", file).exit_code == 0
    if where != "as content":
        assert inner in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["lists", "objects"])
@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, 3_000, 100_000])
def test_what_check_cannot_read_repair_cannot_either(tmp_path: Path, depth: int, kind: str) -> None:
    file = tmp_path / "deep.json"
    file.write_text(text(nested(depth, kind), "beside the messages", broken=True), encoding="utf-8")
    before = file.read_bytes()
    for words in (("check",), ("repair", "--diff"), ("repair", "--write")):
        done = run(words[0], file, *words[1:])
        assert (done.exit_code, faults(done)) == (
            2,
            ["1, column 1: could not be read: nested too deeply"],
        )
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["[" * 50_000, '[{"role": "user", "content": "hi"}]' + "]" * 5_000]
)
def test_what_is_no_json_is_told_from_what_is_deep(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text, encoding="utf-8")
    assert faults(run("check", file)) == faults(run("repair", file, "--diff"))
    assert run("check", file).exit_code == 2


@pytest.mark.parametrize(
    "number", ["1" * 30, "-" + "9" * 19, "1e999", "NaN", "-Infinity", "123456789012345678901.5"]
)
def test_numbers_that_parsers_read_differently_are_judged_alike(
    tmp_path: Path, number: str
) -> None:
    said = f'[{{"role": "user", "content": "hi", "seed": {number}}}, {{"role": "assistant", "content": {number}}}]'
    file = tmp_path / "numbers.json"
    file.write_text(said, encoding="utf-8")
    checked, shown = run("check", file), run("repair", file, "--write")
    assert found(checked) == found(shown)
    assert faults(checked) == faults(shown) == []
    assert number in file.read_text(encoding="utf-8")


def test_a_key_that_stands_twice_is_judged_alike(tmp_path: Path) -> None:
    file = tmp_path / "twice.json"
    file.write_text(
        '[{"role": "user", "role": "tool", "tool_call_id": "gone", "content": "1", "content": "42"}]'
    )
    checked, shown = run("check", file), run("repair", file, "--write")
    assert found(checked) == found(shown) != []
    assert "42" in json.dumps(json.loads(file.read_text(encoding="utf-8")))
