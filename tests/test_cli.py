"""The command line: clean files are written unchanged, and defects are reported without quoting content."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from chatmend.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

SOUND = [{"role": "user", "content": "Where is order 1042?"}]
ORPHAN = [
    *SOUND,
    {"role": "tool", "tool_call_id": "call_gone", "content": "Secret 123 [bold]completed"},
]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def stored(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def lines(path: Path, *values: object) -> Path:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return path


def test_a_sound_file_is_found_sound(tmp_path: Path) -> None:
    done = run("check", stored(tmp_path / "chat.json", SOUND), "--target", "openai/gpt-4o")
    assert done.exit_code == 0
    assert "no findings in 1 conversation" in done.stdout


def test_a_sound_file_is_written_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_bytes(b'[ {"role":"user",\r\n\t"content" : "caf\\u00e9", "cost": 1.10} ]')
    done = run("repair", file, "--target", "openai/gpt-4o", "--out", tmp_path / "out")
    assert done.exit_code == 0
    assert (tmp_path / "out" / "chat.json").read_bytes() == file.read_bytes()


def test_the_sound_and_empty_lines_of_a_jsonl_file_are_written_byte_for_byte(
    tmp_path: Path,
) -> None:
    file = tmp_path / "many.jsonl"
    sound = b'[{"role":  "user", "content": "a"}]\r\n\n'
    file.write_bytes(sound + json.dumps(ORPHAN).encode() + b"\r\n" + sound)
    run("repair", file, "--target", "openai/gpt-4o", "--out", tmp_path / "out")
    written = (tmp_path / "out" / "many.jsonl").read_bytes()
    assert written.startswith(sound)
    assert written.endswith(b"\r\n" + sound)
    assert "tool" not in [message["role"] for message in json.loads(written.splitlines()[2])]


def test_a_finding_names_its_place_and_code_but_nothing_of_the_content(tmp_path: Path) -> None:
    done = run("check", stored(tmp_path / "chat.json", ORPHAN), "--target", "openai/gpt-4o")
    assert done.exit_code == 1
    assert (
        "  messages[1]: TOOL005 orphan-tool-result (degrades): its call is not in the transcript; "
        "would turn the tool message into a user message\n"
    ) in done.stdout
    assert "     1  TOOL005 orphan-tool-result\n1 finding in 1 of 1 conversation\n" in done.stdout
    assert "Secret" not in done.output


def test_requests_of_the_responses_api_and_of_gemini_are_read_and_repaired(tmp_path: Path) -> None:
    item = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    question = {"role": "user", "content": "How warm is it?"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "done"}
    items = stored(tmp_path / "items.json", {"model": "gpt-4.1", "input": [question, item]})
    asked = {"role": "user", "parts": [{"text": "How warm is it?"}]}
    contents = stored(
        tmp_path / "contents.json",
        {"contents": [asked, {"role": "critic", "parts": [{"text": "No."}]}]},
    )
    assert "TOOL007" in run("check", items, "--target", "openai/gpt-4.1").stdout
    assert "ROLE001" in run("check", contents, "--target", "gemini/gemini-2.5-flash").stdout
    run("repair", items, "--target", "openai/gpt-4.1", "--write")
    sent = json.loads(items.read_text())
    assert sent["input"] == [question, item, {**output, "output": sent["input"][2]["output"]}]


def test_a_finding_in_jsonl_names_its_line(tmp_path: Path) -> None:
    done = run(
        "check", lines(tmp_path / "many.jsonl", SOUND, ORPHAN, SOUND), "--target", "openai/gpt-4o"
    )
    assert f"{tmp_path / 'many.jsonl'}: line 2\n  messages[1]: TOOL005" in done.stdout
    assert "1 finding in 1 of 3 conversations" in done.stdout


def test_markup_and_control_characters_in_what_is_printed_do_nothing(tmp_path: Path) -> None:
    name = "[bold]a\x1b[31m\u202e.json"
    done = run("check", stored(tmp_path / name, ORPHAN), "--target", "openai/gpt-4o")
    assert "[bold]a[31m.json\n" in done.stdout
    assert "\x1b" not in done.output


def test_check_changes_no_file(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    before = file.read_bytes()
    run("check", file, "--target", "openai/gpt-4o")
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_the_other_keys_of_a_request_body_are_kept(tmp_path: Path) -> None:
    body = {"model": "gpt-4o", "messages": ORPHAN, "metadata": {"städte": ["Köln"]}}
    done = run(
        "repair",
        stored(tmp_path / "body.json", body),
        "--target",
        "openai/gpt-4o",
        "--out",
        tmp_path / "out",
    )
    assert done.exit_code == 0
    text = (tmp_path / "out" / "body.json").read_text(encoding="utf-8")
    written = json.loads(text)
    assert (written["model"], written["metadata"]) == ("gpt-4o", {"städte": ["Köln"]})
    assert "Köln" in text
    assert "Secret 123" in written["messages"][1]["content"]
    assert written["messages"][1]["role"] == "user"


def test_one_file_without_out_goes_to_standard_output_alone(tmp_path: Path) -> None:
    done = run("repair", stored(tmp_path / "chat.json", ORPHAN), "--target", "openai/gpt-4o")
    assert [message["role"] for message in json.loads(done.stdout)] == ["user", "user"]
    assert "TOOL005" in done.stderr


def test_what_was_repaired_is_found_sound(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(
        "repair",
        stored(tmp_path / "chat.json", ORPHAN),
        "--target",
        "mistral/mistral-large-latest",
        "--out",
        out,
    )
    assert (
        run("check", out / "chat.json", "--target", "mistral/mistral-large-latest").exit_code == 0
    )


def test_several_files_without_out_are_told_the_next_step(tmp_path: Path) -> None:
    files = [stored(tmp_path / name, ORPHAN) for name in ("a.json", "b.json")]
    done = run("repair", *files, "--target", "openai/gpt-4o")
    assert done.exit_code == 2
    assert "--out repaired/" in done.stderr
    assert not done.stdout


def test_two_files_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    files = [stored(tmp_path / "a.json", SOUND), stored(tmp_path / "sub" / "a.json", ORPHAN)]
    done = run("repair", *files, "--target", "openai/gpt-4o", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "two files are named 'a.json'" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (
            b'[{"role": "user",\n "content": }]',
            "line 2, column 13: could not be read: Expecting value",
        ),
        (b'[\n"\xc3\xa9\xff"]', "line 2, column 3: could not be read: not UTF-8"),
        (
            b'{"role": "user"}',
            "line 1, column 1: could not be read: neither a list of messages nor an object",
        ),
        (b"[" * 100_000, "line 1, column 1: could not be read: nested too deeply"),
        (b"[1" + b"0" * 5000 + b"]", "line 1, column 1: could not be read: Exceeds the limit"),
        (
            b"[]\n[]\n",
            "line 2, column 1: could not be read: Extra data; if the file has one conversation per line, name it",
        ),
        (
            b"[] []\n",
            "line 1, column 4: could not be read: Extra data; write each conversation on a line of its own, in a",
        ),
        (
            b'[{"messages": []}]',
            "line 1, column 1: could not be read: a list of conversations; store one per line",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_place_and_the_others_go_on(
    tmp_path: Path, raw: bytes, place: str
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_bytes(raw)
    done = run("check", broken, stored(tmp_path / "chat.json", ORPHAN), "--target", "openai/gpt-4o")
    assert done.exit_code == 2
    assert f"{broken}: {place}" in done.stderr
    assert "TOOL005" in done.stdout


def test_a_file_that_is_not_there_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    done = run(
        "check",
        tmp_path / "none.json",
        stored(tmp_path / "chat.json", ORPHAN),
        "--target",
        "openai/gpt-4o",
    )
    assert done.exit_code == 2
    assert f"{tmp_path / 'none.json'}: could not be read: No such file" in done.stderr
    assert "TOOL005" in done.stdout


def test_a_jsonl_file_with_an_unreadable_line_is_judged_to_its_end_and_not_written(
    tmp_path: Path,
) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text(f"{json.dumps(SOUND)}\n[oops\n{json.dumps(ORPHAN)}\n", encoding="utf-8")
    done = run("repair", file, "--target", "openai/gpt-4o", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert f"{file}: line 2, column 2: could not be read" in done.stderr
    assert f"{file}: line 3\n  messages[1]: TOOL005" in done.stdout
    assert list((tmp_path / "out").iterdir()) == []


def test_an_earlier_repaired_file_stays_when_the_new_one_cannot_be_read(tmp_path: Path) -> None:
    stored(tmp_path / "chat.json", SOUND)
    run("repair", tmp_path / "chat.json", "--target", "openai/gpt-4o", "--out", tmp_path / "out")
    (tmp_path / "chat.json").write_text("[", encoding="utf-8")
    run("repair", tmp_path / "chat.json", "--target", "openai/gpt-4o", "--out", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["chat.json"]
    assert json.loads((tmp_path / "out" / "chat.json").read_text(encoding="utf-8")) == SOUND


def test_a_repaired_file_can_be_read_by_those_who_could_read_the_first(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    file.chmod(0o640)
    run("repair", file, "--target", "openai/gpt-4o", "--out", tmp_path / "out")
    assert (tmp_path / "out" / "chat.json").stat().st_mode & 0o777 == 0o640


def test_a_lone_surrogate_that_no_rule_asks_about_is_written_as_an_escape(tmp_path: Path) -> None:
    body: dict[str, Any] = {"messages": ORPHAN, "note": "half \ud83d"}
    file = tmp_path / "body.json"
    file.write_text(json.dumps(body), encoding="utf-8")
    done = run("repair", file, "--target", "openai/gpt-4o", "--out", tmp_path / "out")
    assert done.exit_code == 0
    text = (tmp_path / "out" / "body.json").read_text(encoding="utf-8")
    assert "half \\ud83d" in text
    assert json.loads(text)["note"] == "half \ud83d"


def test_an_unknown_target_is_told_the_nearest_one(tmp_path: Path) -> None:
    done = run("check", stored(tmp_path / "chat.json", SOUND), "--target", "antropic")
    assert done.exit_code == 2
    assert "no table for 'antropic'; did you mean 'anthropic'?" in done.stderr


def test_every_help_text_shows_an_example() -> None:
    for command in ([], ["check"], ["repair"], ["explain"], ["rules"]):
        assert "Example: chatmend" in run(*command, "--help").stdout


def test_explain_prints_the_manual_for_a_code_and_for_a_name() -> None:
    by_code, by_name = run("explain", "tool005"), run("explain", "orphan-tool-result")
    assert by_code.stdout == by_name.stdout
    assert (
        "TOOL005 orphan-tool-result\n\nA tool result that belongs to no earlier call.\n"
        in by_code.stdout
    )


def test_explain_of_an_unknown_code_names_the_nearest() -> None:
    done = run("explain", "orphan-tool-resul")
    assert done.exit_code == 2
    assert "no rule 'orphan-tool-resul'; did you mean TOOL005?" in done.stderr


def test_rules_lists_what_the_last_pass_finds_too() -> None:
    listed = run("rules").stdout
    assert (
        "TOOL005   orphan-tool-result         A tool result that belongs to no earlier call."
        in listed
    )
    assert "TOOL014   undeclared-tools" in listed


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == f"chatmend {version('chatmend')}\n"


def test_python_m_chatmend_is_the_command_line(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", ORPHAN)
    words = [sys.executable, "-m", "chatmend", "check", str(file), "--target", "openai/gpt-4o"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - our own command line
    assert done.returncode == 1
    assert "TOOL005" in done.stdout


def test_without_its_extra_the_command_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; from chatmend.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert "pip install 'chatmend[cli]'" in done.stderr
    assert "Traceback" not in done.stderr
