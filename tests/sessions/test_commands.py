"""``chatmend sessions``, and ``chatmend repair`` on files that other programs stored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from chatmend.sessions import SessionStore

pytest.importorskip("typer")

from typer.testing import CliRunner

from chatmend import resolve
from chatmend.cli import app
from chatmend.cli.conversation import RunSettings
from chatmend.cli.prefetch import prefetch
from chatmend.cli.processing import process_file
from chatmend.cli.sources import discover
from chatmend.cli.workers import worker_pool

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

TARGET = "anthropic/claude-sonnet-4-5"
HELLO, HI = {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi \x1b[31mred"}
CALL = {"id": "c.1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BROKEN = [HELLO, {"role": "assistant", "content": None, "tool_calls": [CALL]}, HELLO]
USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_read_input_tokens": 30,
    "cache_creation_input_tokens": 0,
}


def run(*words: object) -> Result:
    # Other tests in the process may import libraries that set these variables.
    env = {"COLUMNS": "200", "TERM": "xterm", "FORCE_COLOR": None, "TTY_COMPATIBLE": None}
    return CliRunner().invoke(app, [str(word) for word in words], env=env)


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    store = SessionStore(tmp_path)
    session = store.start(target=TARGET, dialect="openai_chat")
    session.record([HELLO], reply=HI, usage=USAGE)
    session.child("search").record(BROKEN, usage=USAGE)
    return store


@pytest.mark.usefixtures("store")
def test_ls_lists_every_session_with_what_it_used(tmp_path: Path) -> None:
    # A process of its own: libraries that other tests import change how rich prints.
    done = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-m", "chatmend", "sessions", "ls", "--root", str(tmp_path)],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    first, second = done.stdout.splitlines()[-2:]
    assert first.split()[1:7] == ["main", TARGET, "2", "1", "40", "5"]
    assert "30 (75%)" in first
    assert second.split()[1] == "search"
    assert "search" not in run("sessions", "ls", "--root", tmp_path, "--agent", "main").stdout


def test_a_damaged_session_is_named_and_the_others_are_listed(
    store: SessionStore, tmp_path: Path
) -> None:
    path = next(store.paths())
    (tmp_path / path).write_bytes((tmp_path / path).read_bytes()[:-5])
    done = run("sessions", "ls", "--root", tmp_path)
    assert done.exit_code == 2
    assert f"{path}: line " in done.output
    assert "search" in done.output


@pytest.mark.usefixtures("store")
def test_usage_sums_by_agent_and_model(tmp_path: Path) -> None:
    lines = run("sessions", "usage", "--root", tmp_path).stdout.splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["main", "search", "total"]
    assert lines[-1].split()[1:5] == ["2", "2", "80", "10"]


@pytest.mark.usefixtures("store")
def test_show_prints_what_was_said_and_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    done = run("sessions", "show", "--root", tmp_path)
    assert done.exit_code == 0
    assert "Hello" in done.stdout
    assert "red" in done.stdout
    assert "\x1b" not in done.stdout
    assert "end of the prefix in the provider's cache" in done.stdout


def test_resume_check_says_whether_a_session_can_go_on(store: SessionStore, tmp_path: Path) -> None:
    good, bad = store.paths()
    done = run("sessions", "resume-check", good, "--root", tmp_path)
    assert (done.exit_code, "begins with the 1 message already sent" in done.stdout) == (0, True)
    before = (tmp_path / bad).read_bytes()
    done = run("sessions", "resume-check", bad, "--root", tmp_path)
    assert (
        done.exit_code,
        "missing-tool-result" in done.stdout or "does not begin" in done.stdout,
    ) == (1, True)
    assert (tmp_path / bad).read_bytes() == before


@pytest.mark.parametrize("name", ["sessions/21112026/none_1.md", "../x", ""])
def test_a_session_that_is_not_there_is_a_fault(tmp_path: Path, name: str) -> None:
    assert run("sessions", "show", name, "--root", tmp_path).exit_code == 2


def dump(messages: list[Any]) -> list[Any]:
    langchain = pytest.importorskip("langchain_core.messages")
    return json.loads(
        json.dumps(langchain.messages_to_dict(langchain.convert_to_messages(messages)))
    )


def test_a_directory_of_all_that_teams_have_on_disk_is_repaired(
    store: SessionStore, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("# not a session\n")
    dumped = tmp_path / "dump.json"
    dumped.write_text(json.dumps(dump(BROKEN)))
    logs = [
        {"custom_id": str(at), "body": {"model": "x", "messages": BROKEN, "tools": []}}
        for at in range(3)
    ]
    log = tmp_path / "batch.jsonl"
    log.write_text("".join(f"{json.dumps(row)}\n" for row in logs))

    found = run("check", tmp_path, "--target", TARGET)
    assert found.exit_code == 1
    assert "README" not in found.output
    done = run("repair", tmp_path, "--target", TARGET, "--write", "--backup", "--jobs", "2")
    assert done.exit_code == 0, done.output
    assert run("check", tmp_path, "--target", TARGET).exit_code == 0

    langchain = pytest.importorskip("langchain_core.messages")
    assert [
        type(m).__name__ for m in langchain.messages_from_dict(json.loads(dumped.read_text()))
    ] == [
        "HumanMessage",
        "AIMessage",
        "ToolMessage",
        "HumanMessage",
    ]
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row["custom_id"] for row in rows] == ["0", "1", "2"]
    assert all(row["body"]["messages"][2]["role"] == "tool" for row in rows)
    session = store.latest("search")
    assert session is not None
    assert [message["role"] for message in session.messages] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert store.latest().messages == [HELLO, HI]  # type: ignore[union-attr]


def test_the_difference_of_a_session_is_shown_as_text(store: SessionStore, tmp_path: Path) -> None:
    path = list(store.paths())[1]
    done = run("repair", tmp_path / path, "--target", TARGET, "--diff")
    assert '+<!--MSG role="tool"-->' in done.stdout


def test_a_damaged_session_is_a_fault_that_names_the_line(
    store: SessionStore, tmp_path: Path
) -> None:
    path = tmp_path / next(store.paths())
    path.write_bytes(path.read_bytes()[:-5])
    done = run("check", path, "--target", TARGET)
    assert done.exit_code == 2
    assert f"{path}: line " in done.output.replace("\n", "")


def many(root: Path) -> None:
    """Write small files in folders: two with JSON lines, one that is not JSON, and one without a conversation."""
    for at in range(40):
        (root / f"{at % 4}").mkdir(parents=True, exist_ok=True)
        (root / f"{at % 4}" / f"{at}.json").write_text(json.dumps(BROKEN if at % 3 else [HELLO]))
    for at in (1, 2):
        (root / f"{at}.jsonl").write_text("".join(f"{json.dumps(BROKEN)}\n" for _ in range(50)))
    (root / "2" / "cut.json").write_text("[{")
    (root / "3" / "other.json").write_text('{"a": 1}')


def test_many_small_files_are_repaired_the_same_by_two_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatmend.cli.workers.MIN_PARALLEL_BYTES", 1000)
    monkeypatch.setattr("chatmend.cli.prefetch._GROUP_BYTES", 1000)
    told = []
    for jobs in (1, 2):
        many(tmp_path / str(jobs))
        done = run(
            "repair",
            tmp_path / str(jobs),
            "--target",
            TARGET,
            "--write",
            "--backup",
            "--jobs",
            jobs,
        )
        assert done.exit_code == 2
        told.append(done.output.replace(str(tmp_path / str(jobs)), ""))
    one, two = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*.*")}
        for root in (tmp_path / "1", tmp_path / "2")
    )
    assert one == two
    assert told[0] == told[1]
    assert len([path for path in one if path.suffix == ".bak"]) == 28


def test_a_file_that_changed_after_it_was_seen_ahead_is_seen_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatmend.cli.workers.MIN_PARALLEL_BYTES", 1)
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps(BROKEN))
    settings = RunSettings(resolve(TARGET), wants_repair=True, jobs=2)
    sources = discover([tmp_path], print).sources
    with worker_pool(sources, settings) as pool:
        first, second = prefetch(sources, settings, pool)
        (tmp_path / "b.json").write_text(json.dumps([HELLO]))
        seen = []
        for source in (first, second):
            with source.path.open("rb") as file:
                assert source.prefetched is not None
                seen += [bool(found.outcomes) for _, found in process_file(source, file, settings)]
    assert seen == [True, False]
