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


def test_several_files_lines_and_standard_input_need_a_target(tmp_path: Path) -> None:
    body = {"model": "gpt-4o", "messages": SOUND}
    files = [stored(tmp_path / name, body) for name in ("a.json", "b.json", "c.jsonl")]
    for named in (files[:2], files[2:], [tmp_path], ["-"], [tmp_path / "none.json"]):
        done = run("check", *named)
        assert (done.exit_code, done.stderr.startswith("--target is missing")) == (2, True)
