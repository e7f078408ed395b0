"""``--policy`` and ``--set``: the choices between repairs, on files as in Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import chatmend
from chatmend import Policy, SessionStore
from chatmend.cli import app, workers
from chatmend.policy import NAMES
from tests.images.pictures import samples

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

CLAUDE = "anthropic/claude-sonnet-4-5"
ORPHAN = [
    {"role": "user", "content": "go"},
    {"role": "tool", "tool_call_id": "gone", "content": "42"},
]
TWICE = [
    {"role": "user", "content": "a"},
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
]
OTHER = [
    {"role": "user", "content": "a"},
    {"role": "user", "content": "c"},
    {"role": "assistant", "content": "b"},
]
COMMANDS = ("check", "repair", "image", "explain")


def messy() -> list[Any]:
    """An orphan, a message twice, a late result, a system message in the middle: each policy makes something else."""
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        *ORPHAN,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "hurry"},
        {"role": "user", "content": "hurry"},
        {"role": "assistant", "content": "soon"},
        {"role": "tool", "tool_call_id": "call_1", "content": "late"},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "and now?"},
    ]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def stored(path: Path, *values: object) -> Path:
    path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_named_policy_repairs_a_file_as_it_repairs_in_python(tmp_path: Path, name: str) -> None:
    file = stored(tmp_path / "chat.json", {"messages": messy()})
    done = run("repair", file, "--target", CLAUDE, "--policy", name)
    wanted = chatmend.repair(messy(), CLAUDE, policy=name)
    assert wanted.messages != chatmend.repair(messy(), CLAUDE).messages
    written = json.loads(done.stdout)
    assert written["messages"] == wanted.messages
    assert written.get("system") == wanted.system


def test_fields_are_set_on_top_of_the_named_policy(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", {"messages": messy()})
    done = run(
        "repair",
        file,
        "-t",
        CLAUDE,
        "--policy",
        "offline",
        "--set",
        "orphans=drop",
        "--set",
        "duplicates=results",
    )
    policy = Policy(late_results="move", orphans="drop")
    assert (
        json.loads(done.stdout)["messages"]
        == chatmend.repair(messy(), CLAUDE, policy=policy).messages
    )


def test_what_the_policy_does_not_permit_is_left_and_the_status_says_so(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    done = run("repair", file, "-t", CLAUDE, "--write", "--set", "allow=reshapes")
    assert done.exit_code == 1
    assert "TOOL005 orphan-tool-result (degrades)" in done.stdout
    assert "left unchanged: the policy does not allow this change" in done.stdout
    assert json.loads(file.read_text()) == ORPHAN


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--policy", "ofline"], ["'ofline'", *NAMES]),
        (["--policy", ""], ["''", *NAMES]),
        (["--set", "orphan=drop"], ["'orphan'", "orphans", "late_results", "allow"]),
        (["--set", "orphans=delete"], ["orphans='delete'", "'note'", "'drop'"]),
        (["--set", "orphans="], ["orphans=''", "'note'", "'drop'"]),
        (["--set", "allow=all"], ["allow='all'", "reshapes", "adds", "degrades", "drops"]),
        (["--set", "image_notes=maybe"], ["image_notes='maybe'", "False", "True"]),
        (["--set", "orphans"], ["'orphans' is not FIELD=VALUE", "FIELD=VALUE", "late_results"]),
        (["--policy", "offline", "--set", "rules=none"], ["rules='none'", "'hygiene'"]),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_does_not_exist_is_an_error_that_lists_what_does(
    tmp_path: Path, command: str, words: list[str], told: list[str]
) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    subject = ["TOOL005", "--file", file] if command == "explain" else [file]
    done = run(command, *subject, "--target", CLAUDE, *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert [word for word in told if word not in done.stderr] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_the_policies_and_the_fields(command: str) -> None:
    told = " ".join(run(command, "--help").stdout.split())
    assert ", ".join(NAMES) in told
    assert "--set FIELD=VALUE" in told
    assert "allow=reshapes|adds|degrades|drops" in told


def test_chats_that_differ_only_in_words_are_judged_apart_where_the_policy_compares_words(
    tmp_path: Path,
) -> None:
    file = stored(tmp_path / "many.jsonl", OTHER, TWICE, OTHER)
    assert "no findings in 3 conversations" in run("check", file, "-t", "openai/gpt-4o").stdout
    done = run("check", file, "-t", "openai/gpt-4o", "--policy", "offline")
    assert done.exit_code == 1
    assert f"{file}: line 2\n" in done.stdout
    assert "1 finding in 1 of 3 conversations" in done.stdout


@pytest.mark.parametrize("shape", ["one big file", "many small files"])
def test_every_process_judges_by_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    monkeypatch.setattr(workers, "MIN_PARALLEL_BYTES", 1)
    where = tmp_path / "chats"
    where.mkdir()
    if shape == "one big file":
        stored(where / "many.jsonl", *[TWICE, OTHER] * 20)
    for number in range(0 if shape == "one big file" else 20):
        stored(where / f"{number:02}.json", TWICE)
        stored(where / f"{number:02} other.json", OTHER)
    told = [
        run("check", where, "-t", "openai/gpt-4o", "--set", "duplicates=messages", "-j", jobs)
        for jobs in (1, 2)
    ]
    assert told[0].stdout == told[1].stdout
    assert "20 findings in 20 of 40 conversations" in told[1].stdout


def test_a_session_is_judged_by_the_policy(tmp_path: Path) -> None:
    SessionStore(tmp_path).start(target=CLAUDE, dialect="openai_chat").record(ORPHAN)
    (file,) = tmp_path.rglob("*.md")
    told = run("repair", file, "-t", CLAUDE, "--diff").stdout
    dropped = run("repair", file, "-t", CLAUDE, "--diff", "--set", "orphans=drop").stdout
    assert "quoted as data" in told
    assert "quoted as data" not in dropped
    assert "-42" in dropped


def test_explain_shows_what_the_policy_leaves_in_a_file(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    assert (
        "would turn the tool message" in run("explain", "TOOL005", "-f", file, "-t", CLAUDE).stdout
    )
    told = run("explain", "TOOL005", "-f", file, "-t", CLAUDE, "--set", "allow=adds").stdout
    assert "left unchanged: the policy does not allow this change" in told


@pytest.mark.parametrize("words", [["--policy", "offline"], ["--set", "orphans=drop"]])
def test_a_policy_without_a_file_to_judge_is_an_error(words: list[str]) -> None:
    done = run("explain", "TOOL005", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--policy and --set require --file" in done.stderr


def test_images_are_repaired_as_far_as_the_policy_permits(tmp_path: Path) -> None:
    photo = tmp_path / "photo.png"
    photo.write_bytes(samples()["photo as png"].data)
    said = {
        words: run("image", photo, "-t", CLAUDE, "--out", tmp_path / "out", *words)
        for words in (
            (),
            ("--set", "images=off"),
            ("--set", "allow=adds"),
            ("--policy", "offline", "--native"),
        )
    }
    for words in ((), ("--policy", "offline", "--native")):
        assert said[words].exit_code == 0
        assert "; becomes WebP" in said[words].stdout
    assert said[()].stdout != said["--policy", "offline", "--native"].stdout
    assert "; unchanged" in said["--set", "images=off"].stdout
    assert said["--set", "images=off"].exit_code == 0
    assert (
        "left unchanged: the policy does not allow this change"
        in said["--set", "allow=adds"].stdout
    )
    assert said["--set", "allow=adds"].exit_code == 1
    assert (tmp_path / "out" / "photo.png").read_bytes() == photo.read_bytes()
    native = run("image", photo, "-t", CLAUDE, "--set", "images=native").stdout
    assert native == said["--policy", "offline", "--native"].stdout.partition("written")[0]
