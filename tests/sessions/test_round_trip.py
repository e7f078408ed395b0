"""Stored messages equal the sent messages byte for byte, for any content."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from enum import Enum
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chatmend.dialects import DIALECTS
from chatmend.errors import TranscriptError
from chatmend.sessions import batch
from chatmend.sessions.block_reader import _read_block
from chatmend.sessions.blocks import render_block
from chatmend.sessions.document import Document, parameters_block, parse
from chatmend.sessions.escaping import escape, escape_surrogates, unescape
from chatmend.sessions.header import Header
from chatmend.sessions.markers import with_markers
from chatmend.sessions.rendering import render_messages
from tests.broken.generate import broken, broken_request
from tests.corpus import rows
from tests.scale import examples
from tests.sessions.hostile import PIECES, as_sent, hostile_everywhere, texts, transcripts, values

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SEEDS = int(os.environ.get("CHATMEND_SEEDS", examples(100, 10_000)))


def written(messages: list[Any], parameters: dict[str, Any] | None = None) -> bytes:
    blocks, markers = render_messages(messages)
    header = Header(NOW, NOW, "main", messages=len(blocks), markers=tuple(markers))
    return Document(header, tuple(blocks), parameters_block(parameters or {})).render()


def read(data: bytes) -> tuple[list[Any], dict[str, Any]]:
    document, messages = parse(data, "main_1.md")
    assert repr(document.messages()) == repr(messages)
    assert document.render() == data
    return with_markers(messages, document.header.markers), document.request_parameters()


@pytest.mark.parametrize("year", [1, 99, 2026, 9999])
def test_a_time_of_any_year_is_read_as_it_was_written(year: int) -> None:
    header = Header(NOW.replace(year=year), NOW, "main")
    document, _ = parse(Document(header).render(), "main_1.md")
    assert document.header.created == header.created


def test_a_text_is_readable_as_it_is() -> None:
    data = written([{"role": "user", "content": "Hello\n\n  world\r\n"}])
    assert b'<!--MSG role="user"-->\nHello\n\n  world\r\n\n<!--/MSG-->\n' in data


def test_the_texts_of_parts_are_readable_and_the_rest_is_json() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    data = written(
        [
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "I look."}],
                "tool_calls": [call],
            }
        ]
    )
    assert b"\nI look.\n<!--/MSG-->" in data
    assert (
        b'<!--JSON {"role": "assistant", "content": [{"type": "text", "text": <1>}], "tool_calls": '
        in data
    )


@pytest.mark.parametrize("piece", PIECES)
def test_what_looks_like_a_delimiter_comes_back_as_text(piece: str) -> None:
    messages = [
        {"role": "user", "content": piece},
        {"role": "user", "content": [{"type": "text", "text": piece * 2}]},
    ]
    assert as_sent(read(written(messages))[0]) == as_sent(messages)


@given(texts, texts)
@example("<!--", "<!\\--")
@example("\ud83d", "<!\\ud83d>")
@settings(max_examples=examples(70, 5_000))
def test_each_text_has_one_escaped_form_and_each_escaped_form_one_text(
    one: str, other: str
) -> None:
    escaped = [escape_surrogates(escape(text)) for text in (one, other)]
    assert [unescape(text) for text in escaped] == [one, other]
    assert (escaped[0] == escaped[1]) == (one == other)
    assert "<!--" not in escaped[0]
    escaped[0].encode()


@given(transcripts)
@settings(
    max_examples=examples(35, 2_000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_json_comes_back_byte_for_byte(messages: list[Any]) -> None:
    assert as_sent(read(written(messages))[0]) == as_sent(messages)


class _Role(str, Enum):  # noqa: UP042 - a StrEnum is formatted as its value; this one as its name
    USER = "user"


@pytest.mark.parametrize("content", ["Hello", [{"type": "text", "text": "Hello"}]])
def test_a_role_of_an_enum_is_stored_as_what_it_says(content: Any) -> None:
    messages = [{"role": role, "content": content} for role in (_Role.USER, "user", _Role.USER)]
    assert as_sent(read(written(messages))[0]) == as_sent(
        [{"role": "user", "content": content}] * 3
    )


@given(transcripts)
@settings(
    max_examples=examples(30, 2_000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_many_blocks_at_once_are_the_same_as_one_by_one(messages: list[Any]) -> None:
    blocks = [render_block(message) for message in messages]
    at_once = batch.try_write(messages)
    assert at_once is None or at_once[0] == blocks
    texts = [made.decode() for made in blocks]
    found = batch.try_read(texts)
    assert found is None or as_sent(found) == as_sent([_read_block(text, 0) for text in texts])


def test_ordinary_messages_are_written_and_read_at_once() -> None:
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": '{"x": "<NaN> Infinity"}'},
    }
    messages = [
        {"role": "user", "content": "Compare <!-- this --> with NaN, please."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "c",
            "content": [{"type": "text", "text": "one"}, {"type": "text", "text": ""}],
        },
        {"type": "human", "data": {"content": "as LangChain says it"}},
    ]
    blocks, marked = batch.try_write(messages) or ([], True)
    assert (blocks, marked) == ([render_block(message) for message in messages], False)
    assert batch.try_read([made.decode() for made in blocks]) == messages


@given(values)
@settings(max_examples=examples(30, 2_000), suppress_health_check=[HealthCheck.too_slow])
def test_request_parameters_come_back_byte_for_byte(value: Any) -> None:
    parameters = {"system": value, "tools": [value], "other": "<!--/BESIDE-->"}
    messages, found = read(written([{"role": "user", "content": "x"}], parameters))
    assert (as_sent(found), len(messages)) == (as_sent(parameters), 1)


def test_generated_transcripts_of_all_dialects_come_back_byte_for_byte() -> None:
    for seed in range(SEEDS // len(DIALECTS)):
        rng = Random(seed)
        for dialect in DIALECTS:
            messages = [m for m in broken(seed, dialect) if _fits(m)]
            messages = hostile_everywhere(messages, rng)
            assert as_sent(read(written(messages))[0]) == as_sent(messages), (seed, dialect)


def test_whole_requests_come_back_byte_for_byte() -> None:
    for seed in range(SEEDS // 10):
        body = broken_request(seed, "anthropic_messages")
        if not _fits(body):
            continue
        messages = body.pop("messages")
        assert tuple(map(as_sent, read(written(messages, body)))) == (
            as_sent(messages),
            as_sent(body),
        )


def _fits(value: Any) -> bool:
    """Return whether the value can be sent at all: JSON nested thousands of levels deep cannot."""
    try:
        render_block(value)
    except TranscriptError:
        return False
    return True


def test_recorded_requests_come_back_byte_for_byte() -> None:
    recorded = rows("requests_accepted")
    if not recorded:
        pytest.skip("no recorded requests at hand")
    for row in recorded:
        body = dict(row["body"])
        listed = body.pop(
            next(
                (
                    key
                    for key in ("messages", "contents", "input")
                    if isinstance(body.get(key), list)
                ),
                "",
            ),
            [],
        )
        assert tuple(map(as_sent, read(written(listed, body)))) == (as_sent(listed), as_sent(body))


def test_cache_markers_are_stored_beside_the_messages_and_come_back_in_their_places() -> None:
    marker = {"type": "ephemeral"}
    plain = {"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}]}
    marked = {
        "role": "user",
        "content": [
            {"cachePoint": {"type": "default"}},
            {"type": "text", "cache_control": marker, "text": "a"},
            {"text": "b"},
            {"cachePoint": {"type": "default"}},
        ],
    }
    assert render_messages([marked])[0] == render_messages([plain])[0]
    assert as_sent(read(written([plain, marked]))[0]) == as_sent([plain, marked])


def test_an_argument_that_is_named_like_a_marker_is_none() -> None:
    call = {
        "type": "tool_use",
        "id": "1",
        "name": "f",
        "input": {"type": "x", "cache_control": "no-store"},
    }
    blocks, markers = render_messages([{"role": "assistant", "content": [call]}])
    assert markers == []
    assert b"no-store" in blocks[0]


@pytest.mark.parametrize("value", [{1, 2}, object(), [b"x", object()]])
def test_what_json_cannot_say_is_refused_by_its_type_and_not_by_its_content(value: object) -> None:
    with pytest.raises(TranscriptError, match="Object of type") as refused:
        render_block({"role": "user", "content": value})
    assert "0x" not in str(refused.value)


@pytest.mark.parametrize("levels", [600, 10_000])
def test_what_is_nested_too_deep_is_refused(levels: int) -> None:
    deep: list[Any] = []
    for _ in range(levels):
        deep = [deep]
    with pytest.raises(TranscriptError, match="nested too deep"):
        render_block({"role": "user", "content": deep})


@settings(max_examples=examples(50, 1_000))
@given(texts, st.lists(st.binary(max_size=40), min_size=1, max_size=3), texts)
@example("<bytes:AAAA>", [b"<bytes:"], "<1>")
@example("", [b""], "\\u00001")
@example("", [b"a", b"b"], '"\\u0000b1"')
@example("", [b""], "\\\\\0")
@example("", [b""], "\ud83d\ude00")
def test_bytes_are_stored_as_base64_and_come_back_as_bytes(
    before: str, blobs: list[bytes], after: str
) -> None:
    # In JSON, two surrogates that form a pair are one character.
    before, after = json.loads(json.dumps([before, after]))
    document = [{"document": {"name": after, "source": {"bytes": blob}}} for blob in blobs]
    messages: list[Any] = [
        {"role": "user", "content": [{"text": before}, *document]},
        {"role": "user", "parts": [{"inlineData": {"data": blobs[0]}}, {"text": after}]},
    ]
    if "\0" in after:
        with pytest.raises(TranscriptError, match=r"bytes and U\+0000"):
            written(messages)
        return
    assert read(written(messages))[0] == messages


def test_bytes_next_to_nan_are_refused() -> None:
    with pytest.raises(TranscriptError, match="it contains bytes and NaN"):
        written([{"role": "user", "x": float("nan"), "content": [{"data": b"a"}]}])
