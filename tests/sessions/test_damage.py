"""A file that was cut, edited or damaged does not load, and never as a shorter conversation."""

from __future__ import annotations

import pickle
from hashlib import sha256

import pytest

from chatmend.errors import SessionDivergedError, SessionFormatError
from chatmend.sessions.document import parse
from tests.sessions.test_round_trip import written

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGES = [
    {"role": "user", "content": "Grüße\n\n<!--/MSG-->\n"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {
        "role": "tool",
        "tool_call_id": "c",
        "content": [{"type": "text", "text": "one"}, {"type": "text", "text": ""}],
    },
    {"role": "assistant", "content": ""},
]
WHOLE = written(MESSAGES, {"system": "Be brief.", "tools": [{"name": "f"}]})


def signed(data: bytes) -> bytes:
    """The file with a digest that fits: as if someone had written it by hand."""
    head, _, below = data.split(b"\n", 2)
    return b"\n".join([head, b"digest: sha256:" + sha256(below).hexdigest().encode(), below])


def test_the_whole_file_loads() -> None:
    assert parse(WHOLE, "x.md")[1] == MESSAGES


def test_a_file_cut_at_any_byte_is_an_error() -> None:
    for length in range(len(WHOLE)):
        with pytest.raises(SessionFormatError):
            parse(WHOLE[:length], "x.md")


def test_a_file_cut_at_any_byte_is_an_error_even_with_a_digest_that_fits() -> None:
    for length in range(WHOLE.index(b"\n-->\n"), len(WHOLE)):
        with pytest.raises(SessionFormatError):
            parse(signed(WHOLE[:length]), "x.md")


def test_a_byte_changed_anywhere_is_an_error() -> None:
    for at in range(len(WHOLE)):
        changed = bytes([WHOLE[at] ^ 1])
        with pytest.raises(SessionFormatError):
            parse(WHOLE[:at] + changed + WHOLE[at + 1 :], "x.md")


def test_a_byte_added_anywhere_is_an_error() -> None:
    for at in range(len(WHOLE) + 1):
        with pytest.raises(SessionFormatError):
            parse(WHOLE[:at] + b"\n" + WHOLE[at:], "x.md")


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        (b"<!-- session_transcript", b"<!-- something", 1, "session_transcript"),
        (b"created: 2026", b"created: soon", 4, "'created'"),
        (b"messages: 4", b"messages: many", 6, "'messages'"),
        (b"messages: 4", b"messages: 5", 37, "expected 5 messages (see the header), found 4"),
        (b'"c", "content": [', b'"c", "content": {', 27, "JSON"),
        (b'"text": <2>', b'"text": <3>', 27, "2 placeholders"),
        (b'"text": <2>', b'"text": <1>', 27, "2 placeholders"),
        (b'"text": <1>', b'"text": 1', 27, "2 placeholders"),
        (b'<!--MSG role="tool"-->', b'<!--MESSAGE role="tool"-->', 27, '<!--MSG role="...'),
        (b'\n\n<!--MSG role="tool"', b'\n<!--MSG role="tool"', 23, "<!--"),
        (b"Gr\xc3\xbc\xc3\x9fe", b"Gr\xfc\xdfe", 17, "UTF-8"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_and_what_was_expected(
    old: bytes, new: bytes, line: int, expected: str
) -> None:
    assert WHOLE.count(old) >= 1
    with pytest.raises(SessionFormatError) as caught:
        parse(signed(WHOLE.replace(old, new, 1)), "sessions/21112026/main_1.md")
    assert (caught.value.path, caught.value.line) == ("sessions/21112026/main_1.md", line)
    assert expected in str(caught.value)


def test_an_edited_file_names_the_line_of_the_digest() -> None:
    with pytest.raises(SessionFormatError, match="edited") as caught:
        parse(WHOLE.replace(b"one", b"two"), "x.md")
    assert caught.value.line == 2


def test_errors_say_nothing_of_what_was_said() -> None:
    with pytest.raises(SessionFormatError) as caught:
        parse(WHOLE[:-3], "x.md")
    assert "Gr" not in str(caught.value)


@pytest.mark.parametrize(
    "error", [SessionFormatError("a.md", 3, "expected x"), SessionDivergedError("a.md", 2)]
)
def test_errors_travel_between_processes(error: Exception) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own
