"""The transcript of a failing test as shell commands that repair it again."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chatmend
from chatmend.dialects import DIALECTS, format_of_body
from chatmend.dialects.recognition import format_of

if TYPE_CHECKING:
    from types import TracebackType

TESTS = str(Path(__file__).parent)
LONGEST = 20_000
"""Characters of a transcript that are printed; a longer one is written to a file."""


def from_traceback(traceback: TracebackType | None) -> str | None:
    """The commands for the innermost function of the tests that had ``messages`` and a ``target``."""
    found = None
    while traceback is not None:
        names = traceback.tb_frame.f_locals
        messages, target = names.get("messages"), names.get("target")
        is_ours = traceback.tb_frame.f_code.co_filename.startswith(TESTS)
        if is_ours and isinstance(messages, list) and isinstance(target, str):
            found = (messages, target, names.get("dialect"))
        traceback = traceback.tb_next
    return commands(*found) if found else None


def commands(messages: list[Any], target: str, dialect: object = None) -> str:
    """Lines for a shell: they write the transcript to a file and repair that.

    What the command line cannot read (a value that is not JSON, a wire format that it would take for another) becomes
    a line of Python.
    """
    conversation = _conversation(messages, dialect)
    try:
        text = json.dumps(conversation)
    except (TypeError, ValueError, RecursionError) as error:
        return f"# not JSON ({error}); in Python:\n{_python(messages, target, dialect)}"
    if isinstance(dialect, str) and dialect in DIALECTS and _read_as(conversation) != dialect:
        return (
            f"# the command line would read it as {_read_as(conversation)}; in Python:\n"
            + _python(messages, target, dialect)
        )
    if len(text) > LONGEST:
        with tempfile.NamedTemporaryFile(
            "w", prefix="chatmend-failing-", suffix=".json", delete=False
        ) as file:
            file.write(text)
        return f"chatmend repair {file.name} --target '{target}'"
    return (
        f"cat > failing.json <<'EOF'\n{text}\nEOF\nchatmend repair failing.json --target '{target}'"
    )


def _conversation(messages: list[Any], dialect: object) -> list[Any] | dict[str, Any]:
    """The messages in a body that has the keys of their wire format."""
    if dialect == "anthropic_messages":
        return {"system": None, "messages": messages}
    spoken = DIALECTS.get(str(dialect))
    key = spoken.TRAITS.messages_key if spoken else "messages"
    return messages if key == "messages" else {key: messages}


def _read_as(conversation: list[Any] | dict[str, Any]) -> str:
    try:
        told = (
            format_of(conversation)
            if isinstance(conversation, list)
            else format_of_body(conversation)
        )
    except chatmend.TranscriptError:
        return "another layout"
    return told if isinstance(told, str) else "no known format"


def _python(messages: list[Any], target: str, dialect: object) -> str:
    try:
        shown = repr(messages)
    except RecursionError:
        shown = "[...]  # nested too deep to be printed"
    except Exception as error:  # noqa: BLE001 - objects whose methods raise
        shown = f"[...]  # cannot be printed: {type(error).__name__}"
    chosen = f", dialect={dialect!r}" if isinstance(dialect, str) else ""
    return f"chatmend.repair({shown}, {target!r}{chosen})"
