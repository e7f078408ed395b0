"""``check`` and ``repair`` without ``--target``: the model of a request body selects it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from chatmend.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

SOUND = [{"role": "user", "content": "Where is order 1042?"}]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)))


def stored(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ("claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"),
        ("gpt-4o", "openai/gpt-4o"),
        ("gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        ("mistral-large-latest", "mistral/mistral-large-latest"),
    ],
)
def test_the_model_of_a_body_is_the_target_where_none_is_given(
    tmp_path: Path, model: str, target: str
) -> None:
    file = stored(tmp_path / "a.json", {"model": model, "messages": SOUND})
    for command in ("check", "repair"):
        inferred, given = run(command, file), run(command, file, "--target", target)
        assert f"--target {target} (from the model of {file})" in inferred.stderr
        assert (inferred.stdout, inferred.exit_code) == (given.stdout, given.exit_code)
    other = run("repair", file, "--target", "cohere/command-a-03-2025", "--diff")
    assert "from the model" not in other.stderr


@pytest.mark.parametrize(
    ("model", "example"),
    [
        ("our-model", "PROVIDER/our-model"),
        ("openai", "PROVIDER/openai"),
        ("antropic/claude", "PROVIDER/antropic/claude"),
        ("meta-llama/Llama-3.1-8B", "PROVIDER/meta-llama/Llama-3.1-8B"),
        ("anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"),
    ],
)
def test_a_model_that_does_not_tell_the_provider_is_named_with_what_to_pass(
    tmp_path: Path, model: str, example: str
) -> None:
    file = stored(tmp_path / "a.json", {"model": model, "messages": SOUND})
    done = run("repair", file)
    assert done.exit_code == 2
    assert f"the model {model!r} of {file} does not tell the provider" in done.stderr
    assert f"for example --target {example} (" in done.stderr


def lines(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def test_the_one_model_of_all_lines_is_the_target(tmp_path: Path) -> None:
    body = {"model": "gpt-4o", "messages": SOUND}
    file = lines(tmp_path / "a.jsonl", body, {"body": body}, body)
    inferred, given = run("check", file), run("check", file, "--target", "openai/gpt-4o")
    assert f"--target openai/gpt-4o (from the model of {file})" in inferred.stderr
    assert (inferred.stdout, inferred.exit_code) == (given.stdout, given.exit_code) != ("", 2)


@pytest.mark.parametrize(
    ("other", "listed"),
    [
        ({"model": "claude-sonnet-4-6", "messages": SOUND}, "'gpt-4o' and 'claude-sonnet-4-6'"),
        ({"messages": SOUND}, "'gpt-4o' and none"),
        (SOUND, "'gpt-4o' and none"),
    ],
)
def test_lines_with_different_models_need_a_target(
    tmp_path: Path, other: object, listed: str
) -> None:
    file = lines(tmp_path / "a.jsonl", {"model": "gpt-4o", "messages": SOUND}, other)
    for command in ("check", "repair"):
        done = run(command, file)
        assert done.exit_code == 2
        assert f"--target is missing, and lines of {file} have different models ({listed})" in (
            done.stderr
        )


def test_a_line_that_cannot_be_read_does_not_hide_the_model(tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", {"model": "gpt-4o", "messages": SOUND})
    file.write_text(file.read_text() + "{broken\n")
    done = run("check", file)
    assert "--target openai/gpt-4o (from the model" in done.stderr
    assert f"{file}: line 2, column 2: could not be read" in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "position"),
    [
        ("a.json", '{"model": "gpt-4o",\n "messages": [],]}', "line 2, column"),
        ("a.json", '{"model": "gpt-4o", "messages": "x"}', "line 1, column 1"),
        ("a.jsonl", "\n{broken\n{broken again\n", "line 2, column 2"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_with_the_position(
    tmp_path: Path, name: str, text: str, position: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    for command in ("check", "repair"):
        done, given = run(command, file), run(command, file, "--target", "openai")
        assert done.exit_code == given.exit_code == 2
        assert f"{file}: {position}" in done.stderr
        assert done.stderr.splitlines()[0] == given.stderr.splitlines()[0]
        assert "--target is missing" not in done.stderr


def test_several_files_and_standard_input_need_a_target(tmp_path: Path) -> None:
    body = {"model": "gpt-4o", "messages": SOUND}
    files = [stored(tmp_path / name, body) for name in ("a.json", "b.json")]
    for named in (files, [tmp_path], ["-"], [tmp_path / "none.json"]):
        done = run("check", *named)
        assert (done.exit_code, done.stderr.startswith("--target is missing")) == (2, True)
