"""Directories of conversations: all of them are judged, and one that cannot be read or written stops no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from chatmend.cli import app, processing, sources, workers
from chatmend.cli.conversation import RunSettings
from chatmend.cli.sources import InputFile, discover
from chatmend.sessions import stored as stored_conversations
from chatmend.targets import resolve
from tests.every_rule import forget

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

SOUND = [{"role": "user", "content": "Where is order 1042?"}]
ORPHAN = [
    *SOUND,
    {"role": "tool", "tool_call_id": "call_gone", "content": "Secret [bold]123\x1b[31m"},
]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words), "--target", "openai/gpt-4o"])


def stored(path: Path, *values: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    return path


def test_a_directory_without_findings_is_found_sound(tmp_path: Path) -> None:
    stored(tmp_path / "a.json", SOUND)
    stored(tmp_path / "deep" / "er" / "b.jsonl", SOUND, SOUND)
    done = run("check", tmp_path)
    assert done.exit_code == 0
    assert done.stdout == "no findings in 3 conversations\n"


def test_hidden_files_other_files_and_links_in_a_directory_are_passed_over(tmp_path: Path) -> None:
    stored(tmp_path / "a.json", SOUND)
    for name in (".hidden.json", ".git/c.json", "notes.txt", ".chatmend-x.tmp"):
        stored(tmp_path / name, ORPHAN)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "link.json").symlink_to(tmp_path / ".hidden.json")
    stored(tmp_path / "package.json", {"name": "no conversation"})
    done = run("check", tmp_path)
    assert done.exit_code == 0
    assert done.stdout == (
        "no findings in 1 conversation; 1 text without a conversation skipped; 1 symbolic link not followed\n"
    )


def test_what_holds_no_conversation_is_a_fault_when_it_is_named(tmp_path: Path) -> None:
    done = run("check", stored(tmp_path / "package.json", {"name": "no conversation"}))
    assert done.exit_code == 2
    assert "neither a list of messages nor an object with one under 'messages'" in done.stderr


def test_a_directory_is_repaired_although_one_file_is_broken_and_one_is_read_only(
    tmp_path: Path,
) -> None:
    for number in range(20):
        stored(tmp_path / f"{number % 3}" / f"{number}.json", ORPHAN if number % 2 else SOUND)
    (tmp_path / "0" / "broken.json").write_text(
        '[{"role": "user",\n "content": }]', encoding="utf-8"
    )
    locked = stored(tmp_path / "1" / "locked.json", ORPHAN)
    locked.chmod(0o444)
    done = run("repair", tmp_path, "--write")
    assert done.exit_code == 2
    assert (
        f"{tmp_path}/0/broken.json: line 2, column 13: could not be read: Expecting value"
        in done.stderr
    )
    assert f"{locked}: not written: the file is read-only" in done.stderr
    assert (
        "11 findings in 11 of 21 conversations; 10 files written; 2 errors, see above"
        in done.stdout
    )
    left = run("check", tmp_path, "--quiet")
    assert (
        left.stdout
        == "\n     1  TOOL005 orphan-tool-result\n1 finding in 1 of 21 conversations; 1 error, see above\n"
    )


def test_out_keeps_the_tree_and_what_is_sound_goes_along(tmp_path: Path) -> None:
    source = tmp_path / "in"
    sound, broken = stored(source / "x" / "a.json", SOUND), stored(source / "y" / "a.json", ORPHAN)
    stored(source / "package.json", {"name": "no conversation"})
    done = run("repair", source, "--out", tmp_path / "out")
    assert done.exit_code == 0
    assert "2 files written" in done.stdout
    assert (tmp_path / "out" / "x" / "a.json").read_bytes() == sound.read_bytes()
    assert (
        "user"
        in (tmp_path / "out" / "y" / "a.json").read_text(encoding="utf-8").partition("Where")[2]
    )
    assert json.loads(broken.read_text(encoding="utf-8")) == ORPHAN
    assert not (tmp_path / "out" / "package.json").exists()


def test_the_directory_for_repaired_files_is_not_read_again(tmp_path: Path) -> None:
    stored(tmp_path / "a.json", ORPHAN)
    for _ in range(2):
        assert run("repair", tmp_path, "--out", tmp_path / "repaired").exit_code == 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.json", "a.json", "repaired"]


def test_a_directory_without_write_out_or_diff_is_told_the_next_step(tmp_path: Path) -> None:
    stored(tmp_path / "a.json", ORPHAN)
    done = run("repair", tmp_path)
    assert done.exit_code == 2
    assert "--write" in done.stderr
    assert "--out repaired/" in done.stderr
    assert "--diff" in done.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--write", "--diff"], "--write, --out and --diff exclude each other; choose one"),
        (["--write", "--out", "x"], "--write, --out and --diff exclude each other; choose one"),
        (["--backup"], "--backup requires --write"),
    ],
)
def test_options_that_contradict_each_other_are_named(
    tmp_path: Path, words: list[str], text: str
) -> None:
    done = run("repair", stored(tmp_path / "a.json", ORPHAN), *words)
    assert (done.exit_code, done.stderr) == (2, f"{text}\n")


def test_diff_shows_the_messages_that_change_and_writes_nothing(tmp_path: Path) -> None:
    file = stored(tmp_path / "many.jsonl", SOUND, ORPHAN)
    before = file.read_bytes()
    done = run("repair", file, "--diff")
    assert done.exit_code == 0
    assert done.stdout.startswith(
        f"--- {file}: line 2\n+++ {file}: line 2 (repaired)\n@@ messages[1] @@\n"
        ' {\n-  "role": "tool",\n-  "tool_call_id": "call_gone",\n'
    )
    assert '+  "role": "user",' in done.stdout
    assert "would turn the tool message into a user message" in done.stderr
    assert file.read_bytes() == before


def test_control_sequences_and_markup_of_the_content_reach_the_terminal_as_plain_text(
    tmp_path: Path,
) -> None:
    told = run("repair", stored(tmp_path / "a.json", ORPHAN), "--diff").stdout
    assert "[bold]123" in told, "markup is shown, not obeyed"
    assert "\x1b" not in told
    raw = '[{"role": "user", "content": "a"}, {"role": "\x9b31m\u202e", "content": "\u2028[red]b"}]'
    (tmp_path / "raw.json").write_text(raw, encoding="utf-8")
    told = run("repair", tmp_path / "raw.json", "--diff").stdout
    assert not {"\x9b", "\u202e", "\u2028"} & set(told)
    assert "[red]b" in told


def test_an_unknown_provider_is_said_to_be_one(tmp_path: Path) -> None:
    file = stored(tmp_path / "a.json", ORPHAN)
    unknown = CliRunner().invoke(app, ["check", str(file), "--target", "acme/large"])
    assert unknown.exit_code == 1
    assert "TOOL005" in unknown.stdout
    assert "no table for 'acme'. Using the limits of an unknown server" in unknown.stderr
    other = CliRunner().invoke(app, ["check", str(file), "--target", "other"])
    assert (other.exit_code, other.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "meant"), [("antropic/claude", "anthropic"), ("gemeni/x", "gemini"), ("azur", "azure")]
)
@pytest.mark.parametrize("words", [["check"], ["repair"], ["explain", "TOOL005", "--file"]])
def test_a_misspelt_provider_ends_every_command_with_the_right_name(
    tmp_path: Path, words: list[str], name: str, meant: str
) -> None:
    done = CliRunner().invoke(
        app, [*words, str(stored(tmp_path / "a.json", ORPHAN)), "--target", name]
    )
    assert done.exit_code == 2
    assert f"did you mean {meant!r}?" in done.stderr


def test_faults_that_scrolled_away_are_named_again_at_the_end(tmp_path: Path) -> None:
    stored(tmp_path / "b.json", ORPHAN)
    for number in range(12):
        (tmp_path / f"a{number:02}.json").write_text("[", encoding="utf-8")
    done = run("check", tmp_path)
    assert done.exit_code == 2
    told = done.stderr.splitlines()
    assert told[12:22] == told[:10]
    assert told[22:] == ["and 2 more errors, see above"]
    assert "1 finding in 1 of 1 conversation; 12 errors, see above" in done.stdout


def test_a_big_file_is_read_by_several_processes_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [ORPHAN if number % 7 == 0 else SOUND for number in range(6_000)]
    values[2_346] = "oops"
    file = stored(tmp_path / "big.jsonl", *values)
    settings = RunSettings(resolve("openai/gpt-4o"), wants_repair=True, jobs=2)
    source = InputFile(file, file, found=False, size=file.stat().st_size)

    def seen() -> list[Any]:
        with file.open("rb") as lines, workers.worker_pool([source], settings) as pool:
            assert (pool is not None) == (workers.MIN_PARALLEL_BYTES == 1)
            return list(processing.process_file(source, lines, settings, pool))

    monkeypatch.setattr(sources, "_BLOCK_BYTES", 1 << 14)
    alone = seen()
    assert len(alone) > 20
    monkeypatch.setattr(workers, "MIN_PARALLEL_BYTES", 1)
    assert seen() == alone
    assert sum(len(one.outcomes) for _, one in alone) == 858
    assert sum(len(one.errors) for _, one in alone) == 1


def test_a_directory_that_cannot_be_opened_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[str] = []

    def refuse(path: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.scandir", refuse)
    assert discover([tmp_path], faults.append).sources == []
    assert faults == [f"{tmp_path}: could not be read: Permission denied"]


def test_a_fault_of_our_own_is_named_without_content_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(messages: list[object], *words: object, **names: object) -> object:
        if messages == SOUND:
            raise ZeroDivisionError("Where is order 1042?")
        return mend(messages, *words, **names)

    forget()  # a conversation whose structure is known to be clean is not repaired
    mend: Any = stored_conversations.repair
    monkeypatch.setattr(stored_conversations, "repair", fail)
    file = stored(tmp_path / "many.jsonl", ORPHAN, SOUND, ORPHAN)
    done = run("check", file)
    assert done.exit_code == 2
    assert (
        f"{file}: line 2, column 1: internal error of chatmend (ZeroDivisionError); please report it"
        in done.stderr
    )
    assert "1042" not in done.output
    assert "2 findings in 2 of 2 conversations" in done.stdout


def test_what_is_no_regular_file_is_named() -> None:
    done = run("check", "/dev/null")
    assert (done.exit_code, done.stderr.count("not a regular file")) == (2, 1)


def test_a_file_that_is_named_twice_is_one(tmp_path: Path) -> None:
    file = stored(tmp_path / "in" / "a.json", ORPHAN)
    stored(tmp_path / "in" / "b.json", SOUND)
    done = run("check", file, tmp_path / "in", file)
    assert done.stdout.count(f"{file}\n") == 1
    assert "1 finding in 1 of 2 conversations" in done.stdout


@pytest.mark.parametrize(
    "words", [["check", ""], ["repair", "", "--write"], ["repair", "a.json", "--out", ""]]
)
def test_an_empty_name_is_not_taken_for_this_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = stored(tmp_path / "a.json", ORPHAN).read_bytes()
    done = run(*words)
    assert done.exit_code == 2
    assert "the name is empty; use '.' for the current directory" in done.stderr
    assert (tmp_path / "a.json").read_bytes() == before


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (
            "",
            "for example --target anthropic/claude-sonnet-4-5 ('chatmend targets' lists the providers)",
        ),
        ("/claude-sonnet-4-5", "the provider is missing before '/' in '/claude-sonnet-4-5'"),
        ("x" * 100_000, "no table for 'xxxxxxxx"),
        ("xanthropic/" + "x" * 100_000, "no table for 'xanthropic'; did you mean 'anthropic'?"),
        ("x" * 100_000 + "/model", "no table for 'xxxxxxxx"),
    ],
)
def test_a_target_that_means_nothing_is_told_in_short(
    tmp_path: Path, target: str, told: str
) -> None:
    file = stored(tmp_path / "a.json", SOUND)
    done = CliRunner().invoke(app, ["check", str(file), "--target", target])
    assert told in done.stderr
    assert len(done.stderr) < 400
    missing = CliRunner().invoke(app, ["check", str(file)])
    assert (
        missing.exit_code,
        missing.stderr.startswith("--target is missing, for example --target"),
    ) == (2, True)


def test_a_place_that_cannot_be_meant_is_told_with_the_next_step(tmp_path: Path) -> None:
    file = stored(tmp_path / "a.json", SOUND)
    assert "--out requires a directory, but" in run("repair", file, "--out", file).stderr
    for options in (("--write",), ("--out", tmp_path / "out")):
        done = run("repair", "-", *options)
        assert "standard input is repaired to standard output; use '> FILE'" in done.stderr
        assert done.exit_code == 2
