"""Standard input and output, compressed files, closed pipes and Ctrl-C."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from typer.testing import CliRunner

from chatmend import SessionStore
from chatmend.cli import app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

TARGET = "openai/gpt-4o"
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BROKEN = {
    "messages": [
        {"role": "user", "content": "Grüße"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "user", "content": "on"},
    ]
}
CLEAN = {"messages": [{"role": "user", "content": "hi"}]}
PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (gzip.compress, gzip.decompress),
    ".zst": (zstandard.compress, lambda raw: zstandard.ZstdDecompressor().decompressobj().decompress(raw)),
}  # fmt: skip


def run(*words: object, stdin: bytes | str = "") -> Result:
    return CliRunner().invoke(app, [*map(str, words), "--target", TARGET], input=stdin)


def repaired(text: str, tmp_path: Path, name: str) -> bytes:
    """Return what the command prints for a plain file."""
    (tmp_path / name).write_text(text, "utf-8")
    return run("repair", tmp_path / name).stdout_bytes


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps(BROKEN), "a.json"),
        (json.dumps(BROKEN, indent=2, ensure_ascii=False) + "\n", "a.json"),
        (json.dumps(CLEAN), "a.json"),
        (json.dumps(CLEAN) + "\n" + json.dumps(BROKEN), "a.jsonl"),
        ("\n" + json.dumps(BROKEN) + "\r\n\n" + json.dumps(CLEAN) + "\n", "a.jsonl"),
    ],
)
def test_standard_input_is_repaired_to_standard_output(
    text: str, name: str, tmp_path: Path
) -> None:
    done = run("repair", "-", stdin=text.encode())
    assert done.stdout_bytes == repaired(text, tmp_path, name)
    assert done.exit_code == 0
    checked = run("check", "-", stdin=text.encode())
    assert checked.exit_code == int("tool_calls" in text)


@pytest.mark.parametrize(("text", "fault"), [("", "the file is empty"), ("{", "could not be read")])
def test_malformed_standard_input_is_an_error(text: str, fault: str) -> None:
    done = run("repair", "-", stdin=text)
    assert (done.exit_code, done.stdout) == (2, "")
    assert fault in done.stderr


@pytest.mark.parametrize("suffix", sorted(PACKERS))
def test_compressed_files_are_read_and_written(suffix: str, tmp_path: Path) -> None:
    pack, unpack = PACKERS[suffix]
    text = json.dumps(CLEAN) + "\n" + json.dumps(BROKEN) + "\n"
    expected = repaired(text, tmp_path, "plain.jsonl")
    (tmp_path / "plain.jsonl").unlink()
    file, clean = tmp_path / f"a.jsonl{suffix}", tmp_path / f"b.json{suffix}"
    file.write_bytes(pack(text.encode()))
    clean.write_bytes(pack(json.dumps(CLEAN).encode()))
    before = clean.stat().st_mtime_ns, clean.stat().st_ino
    assert run("repair", file).stdout_bytes == expected
    checked = run("check", tmp_path)
    assert f"{file}: line 2" in checked.stdout
    assert "1 finding in 1 of 3 conversations" in checked.stdout
    assert run("repair", tmp_path, "--out", tmp_path / "out").exit_code == 0
    assert unpack((tmp_path / "out" / file.name).read_bytes()) == expected
    file.chmod(0o640)
    assert run("repair", tmp_path, "--write", "--backup").exit_code == 0
    assert unpack(file.read_bytes()) == expected
    assert unpack(file.with_name(f"{file.name}.bak").read_bytes()) == text.encode()
    assert file.stat().st_mode & 0o777 == 0o640
    assert (clean.stat().st_mtime_ns, clean.stat().st_ino) == before
    assert not list(tmp_path.rglob(".chatmend-*"))


@pytest.mark.parametrize("suffix", sorted(PACKERS))
def test_a_damaged_compressed_file_is_reported_and_kept(suffix: str, tmp_path: Path) -> None:
    packed = PACKERS[suffix][0](json.dumps([BROKEN] * 50).encode())
    for name, raw in (("cut", packed[: len(packed) // 2]), ("other", b"no archive")):
        file = tmp_path / f"{name}.json{suffix}"
        file.write_bytes(raw)
        done = run("repair", file, "--write")
        assert done.exit_code == 2
        assert str(file) in done.stderr
        assert file.read_bytes() == raw


def test_the_cause_is_found_in_a_compressed_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json.gz"
    file.write_bytes(gzip.compress(json.dumps(BROKEN).encode()))
    done = run("explain", "TOOL007", "--file", file)
    assert "messages[1]: TOOL007" in done.stdout


def big_file(folder: Path, conversations: int) -> Path:
    path = folder / "big.jsonl"
    path.write_text((json.dumps(BROKEN) + "\n") * conversations, "utf-8")
    return path


def started(*words: object, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "chatmend", *map(str, words), "--target", TARGET]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **options)  # noqa: S603


def catch_interrupts() -> None:
    """Undo that a job in the background of a shell ignores them, also when the tests are one."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.showpiece
@pytest.mark.parametrize("words", [("repair",), ("repair", "--diff"), ("check",)])
def test_a_closed_pipe_ends_a_command_without_a_traceback(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with started(*words, big_file(tmp_path, 2_000), "--jobs", 1, stdout=writing) as process:
        os.close(writing)
        errors = process.stderr.read() if process.stderr else b""
    assert process.returncode not in (0, None)
    assert b"Traceback" not in errors
    assert b"Broken pipe" not in errors


@pytest.mark.showpiece
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups with signals")
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_an_interrupted_command_leaves_no_temporary_file(suffix: str, tmp_path: Path) -> None:
    path = big_file(tmp_path, 30_000)
    if suffix:
        file = path.with_name(path.name + suffix)
        file.write_bytes(gzip.compress(path.read_bytes(), 1))
        path.unlink()
        path = file
    old, temporary = path.read_bytes(), tmp_path / "tmp"
    temporary.mkdir()
    with started(
        "repair", path, "--write", "--quiet", "--jobs", 1,
        stdout=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "TMPDIR": str(temporary)},
        preexec_fn=catch_interrupts,
    ) as process:  # fmt: skip
        while not list(tmp_path.glob(".chatmend-*")):  # until it writes
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        errors = process.stderr.read() if process.stderr else b""
    assert process.returncode not in (0, None)
    assert b"Traceback" not in errors
    assert path.read_bytes() == old
    assert sorted(tmp_path.rglob("*")) == sorted([path, temporary])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse the name")
def test_file_names_that_are_not_text_are_printed(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.json")
    file.write_text(json.dumps(BROKEN))
    words = [sys.executable, "-m", "chatmend", "check", str(tmp_path), "--target", TARGET]
    done = subprocess.run(words, capture_output=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"caf" in done.stdout
    done = run("repair", tmp_path, "--write")
    assert (done.exit_code, b"No result was recorded" in file.read_bytes()) == (0, True)


def test_a_session_is_shown_by_each_spelling_of_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "work"
    agent = "a\udc80 \ud800"  # lone surrogates, as in names from the system
    path = SessionStore(root).start(agent, target=TARGET).path
    monkeypatch.chdir(tmp_path)
    folder, _, name = path.rpartition("/")
    spellings = [
        path,
        f"./{path}",
        f"{folder}//./{name}",
        f"sessions/../{path}",
        path.replace("/", "\\"),
        str(root / path),
        f"work/{path}",
        f"../{tmp_path.name}/work/{path}",
    ]
    for spelling in spellings:
        done = CliRunner().invoke(app, ["sessions", "show", spelling, "--root", "work"])
        assert done.exit_code == 0, (spelling, done.stderr)
        assert path in done.stdout
    monkeypatch.chdir(root / folder)
    done = CliRunner().invoke(app, ["sessions", "show", name, "--root", str(root)])
    assert done.exit_code == 0
    for outside in ("/etc/passwd", "../../../../other.md"):
        done = CliRunner().invoke(app, ["sessions", "show", outside, "--root", str(root)])
        assert done.exit_code == 2
        assert "expected a relative path below the root" in done.stderr
    assert CliRunner().invoke(app, ["sessions", "ls", "--root", str(root)]).exit_code == 0
