"""Starting, recording, finding and resuming sessions."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatmend.errors import (
    SessionConflictError,
    SessionDivergedError,
    SessionError,
    SessionFormatError,
    TranscriptError,
)
from chatmend.sessions import SessionStore
from chatmend.usage import UsageLedger
from tests.broken.generate import broken
from tests.scale import examples
from tests.sessions.hostile import as_sent

if TYPE_CHECKING:
    from pathlib import Path

    from chatmend.sessions import Session

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HELLO = {"role": "user", "content": "Hello"}
HI = {"role": "assistant", "content": "Hi"}
MORE = {"role": "user", "content": "More"}
TARGET = "anthropic/claude-sonnet-4-5"
USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_read_input_tokens": 30,
    "cache_creation_input_tokens": 0,
}


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path, clock=lambda: NOON)


def text(store: SessionStore, session: Session) -> str:
    return store.storage.read(session.path)[0].decode()


def test_a_session_has_a_file_of_its_own_at_once(store: SessionStore) -> None:
    assert [store.start().path, store.start().path, store.start("planner").path] == [
        "sessions/21112026/main_1.md",
        "sessions/21112026/main_2.md",
        "sessions/21112026/planner_1.md",
    ]
    assert [store.load(path).messages for path in store.paths()] == [[], [], []]


def test_what_is_recorded_is_what_another_process_loads(
    store: SessionStore, tmp_path: Path
) -> None:
    session = store.start(
        target=TARGET,
        dispatcher="litellm",
        request_parameters={"system": "Be brief.", "tools": [{"name": "f"}]},
    )
    session.record([HELLO], reply=HI, usage=USAGE)
    again = SessionStore(tmp_path).load(session.path)
    assert again.messages == session.messages == [HELLO, HI]
    assert (
        again.request_parameters
        == session.request_parameters
        == {"system": "Be brief.", "tools": [{"name": "f"}]}
    )
    assert again.header == session.header
    assert (again.agent, again.target, again.header.dispatcher) == ("main", TARGET, "litellm")


def test_the_header_tells_people_what_was_used(store: SessionStore) -> None:
    session = store.start(target=TARGET)
    session.record([HELLO], reply=HI, usage={**USAGE, "cost": "0.25"})
    session.record([HELLO, HI, MORE], usage=USAGE)
    lines = text(store, session).split("-->")[0].splitlines()
    assert {
        "agent: main",
        "provider: anthropic",
        "model: claude-sonnet-4-5",
        "created: 2026-11-21T12:00:00.000000Z",
        "updated: 2026-11-21T12:00:00.000000Z",
        "messages: 3",
        "cache_boundary: 3",
        "turns: 2",
        "input_tokens: 80",
        "output_tokens: 10",
        "cached_tokens: 60",
        "cache_hit: 75.0%",
    } <= set(lines)


def test_what_was_charged_and_what_is_estimated_stand_apart(
    store: SessionStore, tmp_path: Path
) -> None:
    store = SessionStore(tmp_path, ledger=UsageLedger(price=lambda _: Decimal("0.5")))
    session = store.start(target="openrouter/x")
    session.record(
        [HELLO], usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.25}
    )
    session.record([HELLO], usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
    assert "\ncharged: 0.25 USD\nestimated: 0.5 USD\n" in text(store, session)


def test_usage_goes_on_where_it_was_when_a_session_is_loaded_again(
    store: SessionStore, tmp_path: Path
) -> None:
    session = store.start(target=TARGET)
    session.record([HELLO], usage=USAGE)
    again = SessionStore(tmp_path).load(session.path)
    again.record([HELLO], usage=USAGE)
    assert (again.usage.calls, again.usage.usage.input_tokens) == (2, 80)
    assert SessionStore(tmp_path).load(session.path).usage == again.usage


def test_the_ledger_of_a_store_knows_every_agent_and_session(tmp_path: Path) -> None:
    ledger = UsageLedger()
    store = SessionStore(tmp_path, ledger=ledger)
    session = store.start(target=TARGET)
    session.record([HELLO], usage=USAGE)
    child = session.child("search")
    child.record([HELLO], usage=USAGE)
    assert {row.keys["agent"]: row.calls for row in ledger.snapshot(by=["agent"])} == {
        "main": 1,
        "search": 1,
    }
    assert (session.usage.calls, child.usage.calls) == (1, 1)


def test_the_bytes_of_earlier_messages_never_change(store: SessionStore) -> None:
    session = store.start()
    sent: list[Any] = []
    before = ""
    for turn in range(5):
        sent.append({"role": "user", "content": f"<!--{turn}"})
        session.record(sent)
        body = text(store, session).partition("\n-->\n")[2]
        assert body.startswith(before)
        before = body
        sent.append({"role": "assistant", "content": [{"type": "text", "text": str(turn)}]})


def test_a_reply_counts_as_it_is_sent_later(store: SessionStore) -> None:
    session = store.start()
    session.record([HELLO], reply={**HI, "refusal": None})
    assert (session.header.messages, session.header.cache_boundary) == (2, 1)
    session.record([HELLO, HI, MORE])
    assert session.messages == [HELLO, HI, MORE]
    assert session.header.cache_boundary == 3


@pytest.mark.parametrize(
    ("sent", "index"),
    [
        ([{"role": "user", "content": "hello"}], 0),
        ([{"content": "Hello", "role": "user"}], 0),
        ([HELLO, MORE, MORE], 1),
        ([HELLO], 1),
        ([], 0),
    ],
)
def test_what_was_sent_never_changes(store: SessionStore, sent: list[Any], index: int) -> None:
    session = store.start()
    session.record([HELLO, HI, MORE])
    before = text(store, session)
    with pytest.raises(SessionDivergedError) as caught:
        session.record(sent, usage=USAGE)
    assert caught.value.index == index
    assert (text(store, session), session.messages, session.usage.calls) == (
        before,
        [HELLO, HI, MORE],
        0,
    )


def test_cache_markers_may_move(store: SessionStore, tmp_path: Path) -> None:
    def marked(content: str) -> dict[str, Any]:
        return {
            "role": "user",
            "content": [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}],
        }

    def plain(content: str) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": "text", "text": content}]}

    session = store.start()
    session.record([marked("a")], reply=HI)
    session.record([plain("a"), HI, marked("b")])
    assert SessionStore(tmp_path).load(session.path).messages == [plain("a"), HI, marked("b")]


def test_a_caller_who_changes_what_he_was_given_changes_nothing(store: SessionStore) -> None:
    session = store.start(request_parameters={"tools": []})
    sent = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    session.record(sent)
    sent[0]["content"] = "b"
    session.messages[0]["content"] = "c"
    session.request_parameters["tools"].append("d")
    assert session.messages == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    assert session.request_parameters == {"tools": []}


def test_the_latest_session_is_the_one_with_the_highest_index_of_the_newest_day(
    tmp_path: Path,
) -> None:
    clock = [NOON]
    store = SessionStore(tmp_path, clock=lambda: clock[0])
    assert store.latest() is None
    ten = [store.start() for _ in range(10)]
    store.start("other")
    os.utime(tmp_path / ten[0].path, (2e9, 2e9))
    assert (store.latest() or ten[0]).path == "sessions/21112026/main_10.md"
    clock[0] = NOON + timedelta(days=1)
    assert (store.latest() or ten[0]).path == "sessions/21112026/main_10.md"
    assert store.latest(days=1) is None
    clock[0] = NOON + timedelta(days=2)
    assert store.latest() is None
    assert (store.latest(days=3) or ten[0]).path == "sessions/21112026/main_10.md"
    assert (store.latest(days=None) or ten[0]).path == "sessions/21112026/main_10.md"
    assert store.latest("nobody", days=None) is None
    new = store.start()
    assert (store.latest() or ten[0]).path == new.path == "sessions/23112026/main_1.md"
    assert list(store.paths())[8:10] == [
        "sessions/21112026/main_9.md",
        "sessions/21112026/main_10.md",
    ]
    assert list(store.paths())[-2:] == [
        "sessions/21112026/other_1.md",
        "sessions/23112026/main_1.md",
    ]


def test_days_are_those_of_utc(tmp_path: Path) -> None:
    late = datetime.fromisoformat("2026-11-21T23:30:00-05:00")
    session = SessionStore(tmp_path, clock=lambda: late).start()
    assert session.path == "sessions/22112026/main_1.md"
    assert session.header.created == late


def test_a_malformed_newest_file_is_an_error_and_not_skipped(
    store: SessionStore, tmp_path: Path
) -> None:
    store.start()
    (tmp_path / "sessions/21112026/main_2.md").write_bytes(b"")
    with pytest.raises(
        SessionFormatError, match=r"main_2\.md: line 1: expected '<!-- session_transcript'"
    ):
        store.latest()


def test_a_child_starts_empty_and_a_fork_with_the_exact_prefix(store: SessionStore) -> None:
    session = store.start(target=TARGET, request_parameters={"system": "s"})
    session.record([HELLO], reply=HI, usage=USAGE)
    child, fork = session.child("search"), session.fork("draft")
    assert (child.messages, child.request_parameters, child.target, child.usage.calls) == (
        [],
        {},
        TARGET,
        0,
    )
    assert (fork.messages, fork.request_parameters, fork.target, fork.usage.calls) == (
        [HELLO, HI],
        {"system": "s"},
        TARGET,
        0,
    )
    assert {child.header.parent, fork.header.parent} == {session.path}
    fork.record([HELLO, HI, MORE])
    assert session.messages == [HELLO, HI]
    with pytest.raises(SessionDivergedError):
        session.fork().record([MORE])


def test_appended_messages_count_as_not_sent(store: SessionStore) -> None:
    session = store.start()
    session.append(HELLO, HI)
    assert (session.messages, session.header.cache_boundary, session.header.turns) == (
        [HELLO, HI],
        0,
        0,
    )
    session.record([MORE])
    assert session.messages == [MORE]


def test_findings_are_at_hand_and_the_stored_bytes_untouched(store: SessionStore) -> None:
    session = store.start(target=TARGET)
    session.record(
        [
            HELLO,
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}],
            },
        ]
    )
    before = text(store, session)
    assert [finding.rule for finding in session.findings] == ["orphan-tool-result"]
    assert text(store, session) == before
    done = session.extend([])
    session.rewrite(done.messages)
    assert session.findings == ()
    assert session.messages == done.messages


@settings(max_examples=examples(50, 1_000))
@given(st.integers(0, 100_000), st.sampled_from(["openai_chat", "anthropic_messages"]))
def test_a_repaired_continuation_begins_with_what_was_sent(
    tmp_path_factory: pytest.TempPathFactory, seed: int, dialect: Any
) -> None:
    target = {"openai_chat": "mistral/mistral-large-latest", "anthropic_messages": TARGET}[dialect]
    store = SessionStore(tmp_path_factory.mktemp("s"), durable=False)
    session, transcript, done = (
        store.start(target=target, dialect=dialect),
        broken(seed, dialect),
        0,
    )
    for at in _requests(transcript):
        repaired = session.extend(transcript[done:at])
        try:
            # Raises if the messages do not begin with those already sent.
            session.record(
                repaired.messages,
                request_parameters={"system": repaired.system} if repaired.system else None,
            )
        except TranscriptError:
            return  # the transcript cannot be represented as JSON
        assert as_sent(store.load(session.path).messages) == as_sent(repaired.messages)
        done = at


def _requests(transcript: list[Any]) -> list[int]:
    """Return the lengths at which a transcript was sent: a reply is next, and a user message comes before it."""

    def role(message: Any) -> object:
        return message.get("role") if isinstance(message, dict) else None

    replies = [at for at in range(1, len(transcript)) if role(transcript[at]) == "assistant"]
    return [
        at
        for at in replies
        if role(transcript[at - 1]) in ("user", "tool")
        and any(role(m) == "user" for m in transcript[:at])
    ]


def test_a_second_writer_is_told_and_overwrites_nothing(
    store: SessionStore, tmp_path: Path
) -> None:
    mine = store.start()
    theirs = SessionStore(tmp_path).load(mine.path)
    theirs.record([HELLO])
    with pytest.raises(SessionConflictError):
        mine.record([MORE])
    assert store.load(mine.path).messages == [HELLO]


def test_a_file_that_is_gone_is_an_error_that_names_it(store: SessionStore, tmp_path: Path) -> None:
    session = store.start()
    (tmp_path / session.path).unlink()
    with pytest.raises(SessionError, match="main_1"):
        session.record([HELLO])
    with pytest.raises(SessionError, match="main_1"):
        store.load(session.path)


def test_what_cannot_be_stored_leaves_the_session_as_it_was(store: SessionStore) -> None:
    session = store.start()
    session.record([HELLO])
    with pytest.raises(TranscriptError):
        session.record([HELLO, {"role": "user", "content": object()}])
    assert store.load(session.path).messages == session.messages == [HELLO]


def test_files_are_for_their_owner_only(store: SessionStore, tmp_path: Path) -> None:
    session = store.start()
    session.record([HELLO])
    path = tmp_path / session.path
    assert [
        stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)
    ] == [
        0o600,
        0o700,
        0o700,
    ]
    assert [found.name for found in path.parent.iterdir()] == ["main_1.md"]


@pytest.mark.parametrize("place", ["sessions", "sessions/21112026"])
def test_a_link_in_the_place_of_a_folder_is_not_followed(
    store: SessionStore, tmp_path: Path, place: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).symlink_to(elsewhere)
    with pytest.raises(SessionError, match="not followed"):
        store.start()
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_the_place_of_a_file_is_not_followed(store: SessionStore, tmp_path: Path) -> None:
    session = store.start()
    secret = tmp_path / "secret.md"
    (tmp_path / session.path).rename(secret)
    (tmp_path / session.path).symlink_to(secret)
    with pytest.raises(SessionError):
        store.load(session.path)
    with pytest.raises(SessionError):
        session.record([HELLO])
    assert b"Hello" not in secret.read_bytes()
    assert store.start().path == "sessions/21112026/main_2.md"


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/passwd", "sessions/../../x.md", "sessions//x.md", "", "a\0b"]
)
def test_a_path_cannot_leave_the_root(store: SessionStore, path: str) -> None:
    with pytest.raises(SessionError, match="below the root"):
        store.load(path)


def test_what_an_object_shows_of_itself_holds_no_word_of_what_was_said(store: SessionStore) -> None:
    session = store.start()
    session.record([HELLO])
    assert "Hello" not in repr(session)
    assert "Hello" not in repr(store)
