"""Many processes, killed processes, full disks. CHATMEND_KILLS and CHATMEND_RESERVATIONS raise the counts."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from chatmend.errors import SessionWriteError
from chatmend.sessions import SessionStore
from tests.scale import examples

if TYPE_CHECKING:
    from pathlib import Path

KILLS = int(os.environ.get("CHATMEND_KILLS", examples(20, 1_000)))
RESERVATIONS = int(os.environ.get("CHATMEND_RESERVATIONS", examples(320, 10_000)))
PROCESSES = int(os.environ.get("CHATMEND_PROCESSES", examples(16, 64)))
FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None
HELLO = {"role": "user", "content": "Hello"}

pytestmark = [
    pytest.mark.skipif(FORK is None, reason="needs fork and kill"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


def _write_for_ever(root: Path, path: str, acknowledged: int) -> None:
    """Write turns until killed, and report through a pipe how many messages are stored."""
    session = SessionStore(root).load(path)
    messages = session.messages
    while True:
        turn = len(messages)
        messages += [
            {"role": "user", "content": f"turn {turn} " * 200},
            {"role": "assistant", "content": "<!--/MSG-->"},
        ]
        session.record(
            messages[:-1], reply=messages[-1], usage={"input_tokens": 1, "output_tokens": 1}
        )
        os.write(acknowledged, f"{len(messages)}\n".encode())


def test_a_process_killed_at_any_moment_breaks_no_file_and_loses_nothing_it_acknowledged(
    tmp_path: Path,
) -> None:
    rng = Random(9)
    store = SessionStore(tmp_path)
    path = store.start().path
    for _ in range(KILLS):
        receiving, sending = os.pipe()
        process = FORK.Process(target=_write_for_ever, args=(tmp_path, path, sending))
        process.start()
        os.close(sending)
        deadline = time.monotonic() + rng.uniform(0, 0.06)
        while time.monotonic() < deadline:
            store.load(path)  # a reader never sees a partial file
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with os.fdopen(receiving) as lines:
            acknowledged = [int(line) for line in lines]
        messages = store.load(path).messages
        assert len(messages) >= max(acknowledged, default=0)
        assert [m["content"] for m in messages[::2]] == [
            f"turn {at} " * 200 for at in range(0, len(messages), 2)
        ]
        if len(messages) > 100:
            path = store.start().path
    assert {found.name for found in (tmp_path / path).parent.iterdir()} - {
        name
        for listed in store.paths()
        for name in (listed.rpartition("/")[2], f".{listed.rpartition('/')[2]}.tmp")
    } == set()


def _reserve(root: Path, number: int, results: Any) -> None:
    store = SessionStore(root, durable=False)
    results.put([store.start(agent).path for _ in range(number) for agent in ("main",)])


def test_no_two_processes_ever_share_a_file(tmp_path: Path) -> None:
    results = FORK.Queue()
    each = RESERVATIONS // PROCESSES
    processes = [
        FORK.Process(target=_reserve, args=(tmp_path, each, results)) for _ in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    paths = [path for _ in processes for path in results.get(timeout=500)]
    for process in processes:
        process.join()
    assert len(paths) == len(set(paths)) == each * PROCESSES
    stored = list(SessionStore(tmp_path).paths())
    assert sorted(stored) == sorted(paths)
    assert {path.rpartition("_")[2] for path in stored} == {
        f"{index}.md" for index in range(1, len(paths) + 1)
    }


def _fight(root: Path, path: str, name: str, results: Any) -> None:
    won = 0
    for at in range(20):
        session = SessionStore(root).load(path)
        try:
            session.append({"role": "user", "content": f"{name}{at}"})
        except Exception as error:  # noqa: BLE001 - passed to the test
            results.put((name, type(error).__name__, None))
        else:
            won += 1
            results.put((name, "stored", f"{name}{at}"))
    results.put((name, "done", won))


def test_of_two_processes_that_go_on_with_one_session_none_overwrites_the_other(
    tmp_path: Path,
) -> None:
    path = SessionStore(tmp_path).start().path
    results = FORK.Queue()
    processes = [FORK.Process(target=_fight, args=(tmp_path, path, name, results)) for name in "ab"]
    for process in processes:
        process.start()
    told = []
    while sum(kind == "done" for _, kind, _ in told) < 2:
        told.append(results.get(timeout=60))
    for process in processes:
        process.join()
    assert {kind for _, kind, _ in told} <= {"stored", "SessionConflictError", "done"}
    stored = {content for _, kind, content in told if kind == "stored"}
    assert {message["content"] for message in SessionStore(tmp_path).load(path).messages} == stored
    assert stored


def test_a_full_disk_is_a_clear_error_and_leaves_what_was_stored(small_disk: Path) -> None:
    store = SessionStore(small_disk)
    session = store.start()
    session.record([HELLO])
    with pytest.raises(
        SessionWriteError, match=r"main_1\.md: not written \(No space left on device\)"
    ) as caught:
        session.record([HELLO, {"role": "assistant", "content": "x" * 300_000}])
    assert caught.value.errno == errno.ENOSPC
    assert session.messages == store.load(session.path).messages == [HELLO]
    session.record([HELLO, {"role": "assistant", "content": "short"}])
    assert len(store.load(session.path).messages) == 2


def test_a_disk_that_is_full_from_the_start_is_a_clear_error(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * 200_000)
    with pytest.raises(SessionWriteError):
        SessionStore(small_disk).start(request_parameters={"system": "x" * 100_000})


def test_a_session_started_in_one_process_goes_on_in_another(tmp_path: Path) -> None:
    session = SessionStore(tmp_path).start("main", request_parameters={"system": "s"})
    session.record([HELLO], reply={"role": "assistant", "content": "Hi"})
    script = (
        "import sys, json; from chatmend.sessions import SessionStore; s = SessionStore(sys.argv[1]).latest();"
        "m = s.messages; s.record([*m, {'role': 'user', 'content': 'More'}]); print(json.dumps([m, s.request_parameters]))"
    )
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, str(tmp_path)], check=True, capture_output=True
    )
    assert json.loads(run.stdout) == [
        [HELLO, {"role": "assistant", "content": "Hi"}],
        {"system": "s"},
    ]
    assert SessionStore(tmp_path).load(session.path).messages[-1] == {
        "role": "user",
        "content": "More",
    }
