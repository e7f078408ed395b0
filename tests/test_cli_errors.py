"""A file that cannot be read gives an error that says what it is and what to do."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from chatmend.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

CHAT = [{"role": "user", "content": "hi"}]
UNREADABLE = [
    (b"", "the file is empty; chatmend reads JSON"),
    (b" \n\t\n", "the file is empty; chatmend reads JSON"),
    (b"role,content\nuser,hi\n", "it looks like CSV; write each conversation as one line of JSONL"),
    (b'"id","messages"\n1,"[]"\n', "it looks like CSV"),
    (b"- role: user\n  content: hi\n", "it looks like YAML"),
    (b"[{'role': 'user', 'content': 'hi'}]", "write it with json.dumps"),
    (b"curl https://api.openai.com -d '{}'", "paste it into 'chatmend inspect'"),
    (b'data: {"choices": []}\n\n', "it is a stream of events; 'chatmend usage'"),
    (b"hello", "it is not JSON; chatmend reads JSON"),
    (gzip.compress(b"[]", mtime=0), "it is compressed with gzip; let its name end with .gz"),
    (b"\x89PNG\r\n\x1a\n\x00", "it is an image; use 'chatmend image'"),
    (json.dumps(CHAT).encode("utf-16"), "it is text in UTF-16; save it as UTF-8"),
    (b"PAR1\x15\x04", "it is a Parquet file"),
]


def run(command: str, *paths: Path) -> Result:
    return CliRunner().invoke(app, [command, *map(str, paths), "--target", "openai/gpt-4o"])


@pytest.mark.parametrize("command", ["check", "repair"])
@pytest.mark.parametrize(("raw", "text"), UNREADABLE, ids=lambda value: repr(value)[:24])
def test_what_is_not_json_is_named(tmp_path: Path, command: str, raw: bytes, text: str) -> None:
    file = tmp_path / "chat.json"
    file.write_bytes(raw)
    done = run(command, file)
    assert done.exit_code == 2
    assert text in done.stderr


def test_an_empty_file_of_lines_is_an_error_if_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.touch()
    (tmp_path / "chat.json").write_text(json.dumps(CHAT), "utf-8")
    assert "the file is empty" in run("check", file).stderr
    assert run("check", tmp_path).exit_code == 0


def test_a_directory_without_conversations_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# notes", "utf-8")
    done = run("check", tmp_path)
    assert done.exit_code == 2
    assert "holds no .json, .jsonl or .ndjson file" in done.stderr


def test_json_with_a_fault_keeps_its_position(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text('[{"role": ,}]', "utf-8")
    assert "line 1, column 11: could not be read: Expecting value" in run("check", file).stderr


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "No such file" in run("check", tmp_path / "none.json").stderr
