"""A failing test about a transcript prints commands that repair the transcript again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import chatmend
from tests.broken import broken
from tests.pasteable import LONGEST, commands, from_traceback
from tests.scale import sampled

CLAUDE, GPT, GEMINI = "anthropic/claude-sonnet-4-5", "openai/gpt-5", "gemini/gemini-2.5-flash"
ORPHAN = [
    {"role": "user", "content": "it's \ud83d"},
    {"role": "tool", "tool_call_id": "gone", "content": "42"},
]
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def pasted(text: str, folder: Path) -> Any:
    """What ``chatmend repair`` prints when the commands are pasted into a shell."""
    done = subprocess.run(
        ["bash"],  # noqa: S607 - the user's own
        input=text,
        cwd=folder,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_a_failure_without_a_transcript_prints_nothing() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018 - it fails
    assert from_traceback(caught.tb) is None


def test_the_transcript_of_the_innermost_test_function_is_printed() -> None:
    def fails(messages: list[Any], target: str) -> None:
        assert not messages, target

    messages, target = [{"role": "user", "content": "outer"}], GPT
    with pytest.raises(AssertionError) as caught:
        fails(ORPHAN, CLAUDE)
    assert from_traceback(caught.tb) == commands(ORPHAN, CLAUDE)
    assert messages[0]["content"] not in commands(ORPHAN, target)


FORMATS = [
    ("openai_chat", CLAUDE, None),
    ("anthropic_messages", CLAUDE, "messages"),
    ("openai_responses", GPT, "input"),
    ("gemini_contents", GEMINI, "contents"),
]


@pytest.mark.parametrize(
    ("dialect", "target", "key"),
    sampled(FORMATS, FORMATS[::3]),
)
def test_pasted_into_a_shell_it_is_repaired_as_in_the_test(
    dialect: str, target: str, key: str | None, tmp_path: Path
) -> None:
    messages = broken(4, dialect)
    done = chatmend.repair(messages, target, dialect=dialect)
    printed = pasted(commands(messages, target, dialect), tmp_path)
    assert (printed[key] if key else printed) == done.messages


def test_a_long_transcript_is_written_to_a_file(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "x" * LONGEST}, ORPHAN[1]]
    text = commands(messages, CLAUDE)
    file = Path(text.split()[2])
    assert "x" * 99 not in text
    assert pasted(text, tmp_path) == chatmend.repair(messages, CLAUDE).messages
    file.unlink()


def test_what_the_command_line_cannot_read_is_a_line_of_python() -> None:
    messages: list[Any] = [{"role": "user", "content": b"bytes"}]
    text = commands(messages, CLAUDE, "openai_chat")
    expected = f"chatmend.repair({messages!r}, {CLAUDE!r}, dialect='openai_chat')"
    assert text.splitlines() == [
        "# not JSON (Object of type bytes is not JSON serializable); in Python:",
        expected,
    ]


def test_a_transcript_that_would_be_read_as_another_wire_format_is_a_line_of_python() -> None:
    block = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    text = commands([{"role": "user", "content": [block]}], CLAUDE, "openai_chat")
    assert text.startswith(
        "# the command line would read it as anthropic_messages; in Python:\nchatmend.repair(["
    )


def test_a_transcript_that_holds_itself_is_no_exception() -> None:
    messages: list[Any] = [{"role": "user"}]
    messages[0]["content"] = messages
    assert "chatmend.repair([" in commands(messages, CLAUDE)
