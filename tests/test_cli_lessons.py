"""``chatmend lessons``: what refusals have shown, as lines for the tables."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from chatmend.cli import app
from chatmend.lesson_store import LessonStore
from chatmend.lessons import Lesson

if TYPE_CHECKING:
    from pathlib import Path

RUNNER = CliRunner()
OPENING = [{"role": "user", "content": "q"}]


def printed(file: Path) -> str:
    result = RUNNER.invoke(app, ["lessons", str(file)])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_lines_are_those_of_a_table(tmp_path: Path) -> None:
    file = tmp_path / "new" / "lessons.jsonl"
    store = LessonStore(file)
    for limit, value in (
        ("alternation", True),
        ("refused_keys", ("x", "y")),
        ("images.max_side", 2000),
        ("refused_blocks", ("0a",)),
        ("video", False),
    ):
        lesson = Lesson("my-server/m", limit, value, f'says "{limit}"\n is refused')
        store.add("", OPENING, lesson)
        store.add("", OPENING, lesson)
    table = tomllib.loads(printed(file).replace("# my-server/m", ""))
    assert {name: row["value"] for name, row in table["limits"].items()} == {
        "alternation": True,
        "refused_keys": ["x", "y"],
    }
    assert table["images"]["max_side"]["value"] == 2000
    assert table["rules"]["video"]["value"] is False
    assert table["limits"]["alternation"]["source"] == 'seen: says "alternation" is refused'
    assert len(file.read_text("utf-8").splitlines()) == 5, "each lesson once"


def test_limits_that_a_table_already_has_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    known = Lesson("openai/gpt-4o", "pairing", value=True)
    file.write_text(json.dumps(known.to_dict()) + "\n\n", "utf-8")
    assert "no limit that the tables do not have" in printed(file)


def test_limits_that_are_milder_than_the_table_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    LessonStore(file).add("", OPENING, Lesson("mistral/mistral-large", "max_call_id_length", 64))
    LessonStore(file).add("", OPENING, Lesson("anthropic/claude-opus-4-8", "thinking", "unsigned"))
    assert "thinking" not in printed(file)


def test_an_invalid_file_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    for text in ("not json", "{}", '{"target": "a/b", "limit": "none", "value": 1}'):
        file.write_text(f"\n{text}\n", "utf-8")
        result = RUNNER.invoke(app, ["lessons", str(file)])
        assert result.exit_code == 2
        assert "line 2" in " ".join(result.output.split())
    missing = RUNNER.invoke(app, ["lessons", str(tmp_path / "missing.jsonl")])
    assert missing.exit_code == 2
