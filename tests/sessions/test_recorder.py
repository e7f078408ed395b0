"""Recording never slows or breaks a request, and counts lost records."""

from __future__ import annotations

import logging
import subprocess
import sys
from threading import Event
from typing import TYPE_CHECKING

import pytest

from chatmend.sessions import LocalStorage, SessionStore
from chatmend.sessions.recorder import Origin, Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HELLO, HI = {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}
MORE = {"role": "user", "content": "More"}
ANN = Origin(("team-1", "session-7"), "openai/gpt-4o", "litellm")


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(SessionStore(tmp_path))
    yield recorder
    recorder.close()


class SlowDisk(LocalStorage):
    """Storage that writes only when the test allows it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reached, self.go_on = Event(), Event()

    def replace(self, path: str, data: bytes, version: str) -> str:
        self.reached.set()
        self.go_on.wait(10)
        return super().replace(path, data, version)


def test_a_conversation_is_one_session_and_two_keys_are_two(recorder: Recorder) -> None:
    recorder.submit(
        ANN,
        [HELLO],
        reply=HI,
        usage={"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
    )
    recorder.submit(ANN, [HELLO, HI, MORE], request_parameters={"tools": []})
    recorder.submit(Origin(("team-2", "session-7")), [HELLO])
    assert recorder.flush(10)
    store = recorder.store
    session = store.latest("team-1/session-7@openai/gpt-4o")
    assert session is not None
    assert (session.messages, session.request_parameters) == ([HELLO, HI, MORE], {"tools": []})
    assert (session.usage.usage.input_tokens, session.header.dispatcher, session.target) == (
        3,
        "litellm",
        "openai/gpt-4o",
    )
    assert len(list(store.paths())) == 2
    assert recorder.lost == 0


def test_a_key_cannot_be_made_to_look_like_another() -> None:
    assert Origin(("a/b", "c")).agent != Origin(("a", "b/c")).agent != Origin(("a", "b", "c")).agent


def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    for sent in ([HELLO], [HELLO, HI, MORE]):
        recorder = Recorder(SessionStore(tmp_path))
        recorder.submit(ANN, sent)
        recorder.close()
    store = SessionStore(tmp_path)
    assert [store.load(path).messages for path in store.paths()] == [[HELLO, HI, MORE]]


def test_a_history_that_was_cut_goes_on_in_a_session_that_says_so(recorder: Recorder) -> None:
    recorder.submit(ANN, [HELLO, HI, MORE])
    recorder.submit(ANN, [MORE])
    recorder.flush(10)
    first, second = (recorder.store.load(path) for path in recorder.store.paths())
    assert (first.messages, second.messages) == ([HELLO, HI, MORE], [MORE])
    assert second.header.continues == first.path


def test_another_writer_costs_nothing(recorder: Recorder) -> None:
    recorder.submit(ANN, [HELLO])
    recorder.flush(10)
    other = recorder.store.latest(ANN.agent)
    assert other is not None
    other.record([HELLO, HI, MORE])
    recorder.submit(ANN, [HELLO, HI, MORE, HI, MORE])
    recorder.flush(10)
    assert recorder.store.load(other.path).messages == [HELLO, HI, MORE, HI, MORE]
    assert recorder.lost == 0


def test_a_caller_may_change_his_messages_at_once(recorder: Recorder) -> None:
    sent = [{"role": "user", "content": "as sent"}]
    recorder.submit(ANN, sent)
    sent[0]["content"] = "changed"
    recorder.flush(10)
    session = recorder.store.latest(ANN.agent)
    assert session is not None
    assert session.messages == [{"role": "user", "content": "as sent"}]


def test_a_slow_disk_holds_up_nobody_and_what_does_not_fit_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = SlowDisk(tmp_path)
    recorder = Recorder(SessionStore(disk), max_requests=2)
    assert recorder.submit(ANN, [HELLO])
    assert disk.reached.wait(10)
    with caplog.at_level(logging.WARNING):
        taken = [recorder.submit(Origin((str(at),)), [HELLO]) for at in range(10)]
    assert taken == [True, True, *[False] * 8]
    assert (recorder.lost, recorder.faults) == (8, {"queue full": 8})
    assert len(caplog.records) == 1
    disk.go_on.set()
    assert recorder.flush(10)
    assert len(list(recorder.store.paths())) == 3
    recorder.close()
    assert not recorder.submit(ANN, [HELLO])
    assert recorder.faults["closed"] == 1


def test_too_many_bytes_do_not_fit_either(tmp_path: Path) -> None:
    recorder = Recorder(SessionStore(tmp_path), max_bytes=1000)
    assert not recorder.submit(ANN, [{"role": "user", "content": "x" * 1000}])
    assert recorder.faults == {"queue full": 1}
    recorder.close()


def test_what_cannot_be_stored_is_counted_and_raises_nothing(recorder: Recorder) -> None:
    assert not recorder.submit(ANN, [{"role": "user", "content": object()}])
    assert recorder.submit(ANN, [HELLO])
    recorder.flush(10)
    assert (recorder.lost, recorder.faults) == (1, {"TypeError": 1})
    assert len(list(recorder.store.paths())) == 1


def test_a_full_disk_is_counted_and_requests_go_on(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(SessionStore(small_disk))
    recorder.submit(ANN, [HELLO])
    big = {"role": "user", "content": "x" * 300_000}
    with caplog.at_level(logging.WARNING):
        assert recorder.submit(ANN, [HELLO, HI, big])
        recorder.flush(10)
    assert recorder.faults == {"SessionWriteError": 1}
    assert "xxx" not in caplog.text
    recorder.submit(ANN, [HELLO, HI, MORE])
    recorder.close()
    session = recorder.store.latest(ANN.agent)
    assert session is not None
    assert session.messages == [HELLO, HI, MORE]


def test_what_was_submitted_is_written_when_python_ends(tmp_path: Path) -> None:
    script = (
        "import sys; from chatmend.sessions import SessionStore; from chatmend.sessions.recorder import *;"
        "r = Recorder(SessionStore(sys.argv[1]));"
        "[r.submit(Origin((str(i),)), [{'role': 'user', 'content': 'x'}]) for i in range(20)]"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)  # noqa: S603
    assert (
        len([SessionStore(tmp_path).load(path).messages for path in SessionStore(tmp_path).paths()])
        == 20
    )
