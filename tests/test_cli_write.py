"""``chatmend repair``: a file is always the complete old or new one, and keeps everything that a repair does not change."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from chatmend.cli import app, leftovers
from chatmend.cli import rewrite as rewriting
from tests.scale import examples

if TYPE_CHECKING:
    from types import FrameType

    from typer.testing import Result

SOUND = [{"role": "user", "content": "Where is order 1042?"}]
ORPHAN = [*SOUND, {"role": "tool", "tool_call_id": "call_gone", "content": "Secret 123"}]
MENDED_ROLES = ["user", "user"]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words), "--target", "openai/gpt-4o"])


def stored(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def roles(path: Path) -> list[str]:
    return [message["role"] for message in json.loads(path.read_text(encoding="utf-8-sig"))]


def test_a_file_that_needs_no_change_is_not_touched(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", SOUND)
    os.utime(file, ns=(1, 1))
    before = file.stat()
    done = run("repair", file, "--write", "--backup")
    assert done.exit_code == 0
    assert "0 files written" in done.stdout
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, 1)
    assert list(tmp_path.iterdir()) == [file]


def test_write_replaces_the_file_and_keeps_its_permissions(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    file.chmod(0o640)
    done = run("repair", file, "--write")
    assert done.exit_code == 0
    assert "1 file written" in done.stdout
    assert roles(file) == MENDED_ROLES
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_backup_is_the_old_file_itself(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    before, number = file.read_bytes(), file.stat().st_ino
    run("repair", file, "--write", "--backup")
    backup = tmp_path / "chat.json.bak"
    assert (backup.read_bytes(), backup.stat().st_ino) == (before, number)
    assert roles(file) == MENDED_ROLES


def test_an_older_backup_is_not_overwritten_and_the_file_stays(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    (tmp_path / "chat.json.bak").write_text("precious", encoding="utf-8")
    done = run("repair", file, "--write", "--backup")
    assert done.exit_code == 2
    assert "not written: the backup chat.json.bak exists already; move it away" in done.stderr
    assert (tmp_path / "chat.json.bak").read_text(encoding="utf-8") == "precious"
    assert json.loads(file.read_text(encoding="utf-8")) == ORPHAN
    assert len(list(tmp_path.iterdir())) == 2


def test_a_backup_is_copied_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    file = stored(tmp_path / "chat.json", ORPHAN)
    before = file.read_bytes()
    run("repair", file, "--write", "--backup")
    assert (tmp_path / "chat.json.bak").read_bytes() == before
    assert roles(file) == MENDED_ROLES


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    file = stored(tmp_path / "elsewhere" / "chat.json", ORPHAN)
    (tmp_path / "in").mkdir()
    link = tmp_path / "in" / "link.json"
    link.symlink_to(file)
    named, found = run("repair", link, "--write"), run("repair", tmp_path / "in", "--write")
    assert named.exit_code == 2
    assert f"{link}: not written: symbolic links are not followed" in named.stderr
    assert found.exit_code == 0
    assert "1 symbolic link not followed" in found.stdout
    assert link.is_symlink()
    assert json.loads(file.read_text(encoding="utf-8")) == ORPHAN


def test_a_link_where_a_repaired_file_goes_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    secret = stored(tmp_path / "secret.json", SOUND)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "chat.json").symlink_to(secret)
    run("repair", stored(tmp_path / "chat.json", ORPHAN), "--out", tmp_path / "out")
    assert json.loads(secret.read_text(encoding="utf-8")) == SOUND
    assert roles(tmp_path / "out" / "chat.json") == MENDED_ROLES
    assert not (tmp_path / "out" / "chat.json").is_symlink()


def test_a_read_only_file_is_named_and_left_also_for_root(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    file.chmod(0o444)
    done = run("repair", file, "--write")
    assert done.exit_code == 2
    assert f"{file}: not written: the file is read-only" in done.stderr
    assert json.loads(file.read_text(encoding="utf-8")) == ORPHAN
    assert list(tmp_path.iterdir()) == [file]


def test_a_read_only_file_that_needs_no_change_is_no_fault(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", SOUND)
    file.chmod(0o444)
    assert run("repair", file, "--write").exit_code == 0


@pytest.mark.parametrize(
    "raw",
    [
        b'\xef\xbb\xbf[\r\n  {"role": "user", "content": "K\xc3\xb6ln", "cost": 1.10},\r\n  {"role": "tool"}\r\n]\r\n',
        b'[{"role":"user","content":"K\\u00f6ln","cost":1.10},{"role":"tool"}]',
        b'\n\n{"zebra":1.10,\t"messages":[{"role":"user","content":"caf\\u00e9"},{"role":"tool"}],"alpha":2}\n',
    ],
)
def test_the_mark_line_ends_escapes_spaces_and_key_order_are_kept(
    tmp_path: Path, raw: bytes
) -> None:
    file = tmp_path / "chat.json"
    file.write_bytes(raw)
    assert run("repair", file, "--write").exit_code == 0
    written = file.read_bytes()
    front, back = (
        raw.split(b'{"role": "tool"}')
        if b'{"role": "tool"}' in raw
        else raw.split(b'{"role":"tool"}')
    )
    assert written.startswith(front)
    assert written.endswith(back)
    assert written != raw


def test_a_file_that_another_program_changes_in_the_meantime_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    monkeypatch.setattr(rewriting.os, "fsync", lambda _: stored(file, [*ORPHAN, *SOUND]))
    done = run("repair", file, "--write")
    assert done.exit_code == 2
    assert "not written: another program changed the file" in done.stderr
    assert json.loads(file.read_text(encoding="utf-8")) == [*ORPHAN, *SOUND]
    assert list(tmp_path.iterdir()) == [file]


def test_only_the_changed_lines_of_jsonl_are_new(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    sound = b'[{"role":  "user", "content": "a"}]\r\n\n'
    file.write_bytes(sound + json.dumps(ORPHAN).encode() + b"\r\n" + sound)
    done = run("repair", file, "--write")
    assert done.exit_code == 0
    written = file.read_bytes()
    assert written.startswith(sound)
    assert written.endswith(b"\r\n" + sound)
    assert [message["role"] for message in json.loads(written.splitlines()[2])] == MENDED_ROLES


def test_a_stored_conversation_does_not_say_which_tools_were_declared(tmp_path: Path) -> None:
    call = {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [*SOUND, {"role": "assistant", "content": None, "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "call_a", "content": "done"})
    files = [
        stored(tmp_path / "list.json", messages),
        stored(tmp_path / "stored.json", {"id": 7, "messages": messages}),
        stored(tmp_path / "body.json", {"model": "claude-sonnet-4-5", "messages": messages}),
    ]
    words = ["check", *map(str, files), "--target", "anthropic"]
    told = CliRunner().invoke(app, words).stdout
    assert "1 finding in 1 of 3 conversations" in told
    assert f"{files[2]}\n  tools: TOOL014 undeclared-tools" in told


def test_a_system_prompt_for_which_a_list_has_no_place_is_not_lost(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
    ]
    bare, whole = (
        stored(tmp_path / "bare.json", messages),
        stored(tmp_path / "whole.json", {"messages": messages}),
    )
    done = CliRunner().invoke(
        app, ["repair", str(bare), str(whole), "--write", "--target", "anthropic"]
    )
    assert "Be brief." in bare.read_text(encoding="utf-8")
    assert "Be brief." in whole.read_text(encoding="utf-8")
    assert (
        f"{bare}: line 1, column 1: cannot be repaired: this target requires the system prompt"
        in done.stderr
    )
    assert json.loads(bare.read_text(encoding="utf-8")) == messages
    assert json.loads(whole.read_text(encoding="utf-8")) == {
        "messages": messages[1:],
        "system": "Be brief.",
    }
    told = CliRunner().invoke(app, ["check", str(bare), "--target", "anthropic"])
    assert (told.exit_code, "SYS001 misplaced-system" in told.stdout) == (1, True)
    shown = CliRunner().invoke(app, ["repair", str(bare), "--diff", "--target", "anthropic"])
    assert '@@ system @@\n+"Be brief."\n' in shown.stdout


def test_what_only_the_slower_parser_reads_is_read_and_every_digit_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    odd = '{"role": "user", "content": "a\\ud800", "n": 123456789012345678901234567890, "x": NaN}'
    file.write_text(
        f'[{odd}, {{"role": "tool", "tool_call_id": "gone", "content": "b"}}]', encoding="utf-8"
    )
    found = CliRunner().invoke(app, ["check", str(file), "--target", "openai/gpt-4o"])
    assert (found.exit_code, "TEXT001" in found.stdout, "TOOL005" in found.stdout) == (
        1,
        True,
        True,
    )
    CliRunner().invoke(app, ["repair", str(file), "--write", "--target", "openai/gpt-4o"])
    assert '"n": 123456789012345678901234567890, "x": NaN' in file.read_text(encoding="utf-8")


@cache
def is_of_the_command_line(file: str) -> bool:
    return Path(file).parent.name == "cli"


class Killer:
    """Counts the executed lines of ``chatmend.cli``, and kills the process at one of them."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.steps = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> Killer | None:
        if not is_of_the_command_line(frame.f_code.co_filename):
            return None
        self.steps += event == "line"
        if self.steps == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return self


def killed_at(step: int, words: list[str]) -> bool:
    """Run the command in a child that is killed after ``step`` lines. Return whether it was still running."""
    child = os.fork()
    if child == 0:
        sys.settrace(Killer(step))
        CliRunner().invoke(app, words)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def steps_of(words: list[str]) -> int:
    """Return how many lines the command executes."""
    killer, before = Killer(), sys.gettrace()
    sys.settrace(killer)
    try:
        CliRunner().invoke(app, words)
    finally:
        sys.settrace(before)
    return killer.steps


@needs_fork
def test_a_kill_at_any_step_leaves_each_file_old_or_new_and_whole(tmp_path: Path) -> None:
    old = {
        "a.json": json.dumps(ORPHAN),
        "b.json": json.dumps({"messages": ORPHAN, "städte": ["Köln"]}, indent=2),
        "many.jsonl": "".join(f"{json.dumps(value)}\n" for value in (SOUND, ORPHAN, SOUND)),
    }
    folder = tmp_path / "work"
    words = ["repair", str(folder), "--write", "--target", "openai/gpt-4o"]

    def lay_out() -> None:
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        for name, text in old.items():
            (folder / name).write_text(text, encoding="utf-8")

    def texts() -> dict[str, str]:
        return {name: (folder / name).read_text(encoding="utf-8") for name in old}

    lay_out()
    steps = steps_of(words)
    new, seen, lots = texts(), set[tuple[bool, ...]](), random.Random(4)
    assert all(new[name] != old[name] for name in old)
    count = examples(24, 200)
    for part in range(count):  # one kill in each part of the run
        lay_out()
        assert killed_at(
            lots.randrange(part * steps // count, (part + 1) * steps // count) or 1, words
        )
        now = texts()
        assert all(now[name] in (old[name], new[name]) for name in old)
        seen.add(tuple(now[name] == new[name] for name in old))
    assert len(seen) == 4, "expected kills before, between and after the three files"


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(".chatmend-"))


needs_locks = pytest.mark.skipif(
    not leftovers.HAS_LOCKS, reason="this system has no file locks to recognise leftovers"
)


@needs_locks
@pytest.mark.parametrize("named", ["file", "directory"])
def test_what_a_killed_run_left_is_removed_by_the_next_one_and_nothing_else_is(
    tmp_path: Path, named: str
) -> None:
    file = stored(tmp_path / "chat.json", SOUND)
    others = [".chatmend-abcdefgh.tmp.bak", ".chatmend-ABC.tmp", ".chatmend-notes.md", ".env"]
    for name in (".chatmend-abcdefgh.tmp", *others):
        stored(tmp_path / name, ORPHAN)
    (tmp_path / ".chatmend-linklink.tmp").symlink_to(file)
    done = run("repair", file if named == "file" else tmp_path, "--write")
    assert done.exit_code == 0
    assert done.stdout.endswith("0 files written; 1 temporary file of a killed run removed\n")
    assert {path.name for path in tmp_path.iterdir()} == {
        "chat.json",
        ".chatmend-linklink.tmp",
        *others,
    }


@needs_locks
def test_the_temporary_file_of_a_run_that_lives_stays(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", SOUND)
    with file.open("rb") as old, rewriting.rewriting(old, file, in_place=True) as new:
        new.put(b"[]")
        (name,) = left_behind(tmp_path)
        done = run("repair", tmp_path, "--write")
        assert "removed" not in done.stdout
        assert left_behind(tmp_path) == [name]
        assert new.finish()
    assert file.read_bytes() == b"[]"
    assert left_behind(tmp_path) == []


@needs_locks
def test_leftovers_where_repaired_files_are_put_are_removed_and_checking_removes_none(
    tmp_path: Path,
) -> None:
    stored(tmp_path / "in" / "chat.json", SOUND)
    for folder in ("in", "out"):
        stored(tmp_path / folder / ".chatmend-abcdefgh.tmp", ORPHAN)
    assert "no findings in 1 conversation\n" in run("check", tmp_path / "in").stdout
    run("repair", tmp_path / "in", "--out", tmp_path / "out")
    assert left_behind(tmp_path / "out") == []
    assert left_behind(tmp_path / "in") == [".chatmend-abcdefgh.tmp"]


@pytest.mark.parametrize("step", ["_open_private", "_try_lock"])
def test_an_interrupt_while_a_temporary_file_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The step is done, and then the interrupt comes."""
    if step == "_try_lock" and not leftovers.HAS_LOCKS:
        pytest.skip("this system has no file locks")
    do: Any = getattr(leftovers, step)

    def interrupted(*args: object) -> None:
        do(*args)
        assert left_behind(tmp_path)
        raise KeyboardInterrupt

    monkeypatch.setattr(leftovers, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        leftovers.open_temporary(tmp_path)
    assert left_behind(tmp_path) == []


@needs_locks
def test_a_temporary_file_that_was_taken_for_a_leftover_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    create: Any = leftovers._open_private

    def create_and_lose_the_first(path: str, flags: int) -> Any:
        new = create(path, flags)
        made.append(path)
        if len(made) == 1:
            assert leftovers.remove_leftovers([tmp_path]) == 1
        return new

    monkeypatch.setattr(leftovers, "_open_private", create_and_lose_the_first)
    file = stored(tmp_path / "chat.json", ORPHAN)
    assert run("repair", file, "--write").exit_code == 0
    assert roles(file) == MENDED_ROLES
    assert len(made) == 2
    assert list(tmp_path.iterdir()) == [file]
