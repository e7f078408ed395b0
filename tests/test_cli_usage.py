"""``chatmend usage``: a table of the usage in recorded responses; unreadable files are named, and the others are counted."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from chatmend.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["usage", *map(str, words)])


def chat(model: str, prompt: int, completion: int) -> dict[str, Any]:
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return {"object": "chat.completion", "model": model, "choices": [], "usage": usage}


def anthropic(fresh: int, cached: int, out: int) -> dict[str, Any]:
    usage = {"input_tokens": fresh, "cache_read_input_tokens": cached, "output_tokens": out}
    return {"type": "message", "model": "claude-sonnet-4-5", "content": [], "usage": usage}


def stored(path: Path, *bodies: object) -> Path:
    path.write_text("".join(f"{json.dumps(body)}\n" for body in bodies), encoding="utf-8")
    return path


def test_the_files_are_not_changed(tmp_path: Path) -> None:
    file = stored(tmp_path / "log.jsonl", chat("gpt-4o", 10, 5))
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    assert run(file).exit_code == 0
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


def test_calls_are_added_up_a_row_per_model_with_a_total(tmp_path: Path) -> None:
    one = stored(tmp_path / "one.jsonl", chat("gpt-4o", 10, 5), chat("gpt-4o", 20, 6))
    two = stored(tmp_path / "two.jsonl", anthropic(3, 97, 7))
    done = run(one, two)
    assert (done.exit_code, done.stderr) == (0, "")
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
    assert {"30", "11"} <= set(rows["gpt-4o"])
    assert {"100", "7"} <= set(rows["claude-sonnet-4-5"]), "cached tokens must count as input"
    assert {"130", "18"} <= set(rows["total"])


def test_the_rows_as_json_have_the_same_numbers(tmp_path: Path) -> None:
    file = stored(tmp_path / "log.jsonl", chat("gpt-4o", 10, 5), anthropic(3, 97, 7))
    rows = json.loads(run(file, "--by", "provider,model", "--json").stdout)
    told = {
        row["model"]: (row["input_tokens"], row["output_tokens"])
        for row in map(flat, rows)
        if row.get("model")
    }
    assert told == {"gpt-4o": (10, 5), "claude-sonnet-4-5": (100, 7)}


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the values of its nested objects merged into the top level."""
    inner = [value for value in row.values() if isinstance(value, dict)]
    return {**row, **{key: value for part in inner for key, value in part.items()}}


def test_what_cannot_be_read_or_holds_no_usage_is_named_and_the_others_count(
    tmp_path: Path,
) -> None:
    good = stored(tmp_path / "good.jsonl", chat("gpt-4o", 10, 5))
    empty = stored(tmp_path / "empty.jsonl", {"no": "usage"})
    (tmp_path / "latin.jsonl").write_bytes(b'{"model": "caf\xe9"}')
    done = run(good, empty, tmp_path / "latin.jsonl", tmp_path / "gone.jsonl")
    assert done.exit_code == 2
    assert "gpt-4o" in done.stdout
    assert f"{empty}: contains no usage of a known provider" in done.stderr
    assert f"{tmp_path / 'latin.jsonl'}: " in done.stderr
    assert f"{tmp_path / 'gone.jsonl'}: could not be read: No such file or directory" in done.stderr


def test_a_row_by_something_that_no_usage_has_is_told_the_next_step(tmp_path: Path) -> None:
    for by in ("colour", "", "model,"):
        done = run(stored(tmp_path / "log.jsonl", chat("gpt-4o", 10, 5)), "--by", by)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "choose 'model', 'provider' or 'provider,model'" in done.stderr


def test_the_picture_is_drawn_and_one_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = stored(tmp_path / "log.jsonl", chat("gpt-4o", 10, 5))
    assert run(file, "--plot", tmp_path / "out.png").exit_code == 0
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    done = run(file, "--plot", tmp_path / "gone" / "out.png")
    assert (done.exit_code, "could not be written" in done.stderr) == (2, True)


def test_without_matplotlib_the_table_is_printed_and_the_extra_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run(
        stored(tmp_path / "log.jsonl", chat("gpt-4o", 10, 5)), "--plot", tmp_path / "out.png"
    )
    assert done.exit_code == 2
    assert "gpt-4o" in done.stdout
    assert "pip install 'chatmend[plot]'" in done.stderr


def test_a_name_out_of_a_file_does_not_steer_the_terminal(tmp_path: Path) -> None:
    done = run(stored(tmp_path / "log.jsonl", chat("evil\x1b[2J[bold]x", 1, 1)))
    assert "\x1b" not in done.stdout
    assert "[bold]x" in done.stdout
