"""What was sent in a conversation survives a restart: in the session, and next to it for adapters."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from chatmend import Policy, SessionMemory
from chatmend.errors import SessionDivergedError
from chatmend.memory_store import MemoryStore
from chatmend.sessions import SessionStore
from chatmend.shared_state import SharedState
from chatmend.targets import resolve
from tests.scale import examples
from tests.test_session_memory import (
    BOUND,
    FREE,
    LAST,
    LATE,
    NEXT,
    USER,
    answer,
    repaired,
    thoughts,
)

if TYPE_CHECKING:
    from pathlib import Path

    from chatmend.sessions import Session

FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None
KILLS = int(os.environ.get("CHATMEND_KILLS", examples(20, 1_000)))
SYSTEM = {"system": "Be brief."}
PROCESSES = 4
EACH = 10


def started(root: Path, target: str = BOUND) -> Session:
    store = SessionStore(root)
    return store.start(target=target, dialect="anthropic_messages", request_parameters=SYSTEM)


def send(session: Session, new: list[Any], reply: Any, **options: Any) -> list[Any]:
    """Extend a session and record the request as sent."""
    done = session.extend(new, **options)
    session.record(done.messages, reply=reply)
    return done.messages


def test_a_session_of_another_model_is_written_as_before(tmp_path: Path) -> None:
    session = started(tmp_path, FREE)
    send(session, [USER], answer("x"))
    assert session.header.memory is None
    assert b"memory" not in (tmp_path / session.path).read_bytes()


def test_a_changed_system_prompt_is_noticed_after_a_restart(tmp_path: Path) -> None:
    session = started(tmp_path)
    send(session, [USER], answer("x"))
    send(session, [NEXT], answer("y"))

    session = SessionStore(tmp_path).load(session.path)
    assert thoughts(session.extend([LAST]).messages) == ["x", "y"]
    other = {"system": "Be verbose."}
    done = session.extend([LAST], request_parameters=other)
    assert thoughts(done.messages) == []
    with pytest.raises(SessionDivergedError):
        session.record(done.messages, request_parameters=other)
    session.rewrite(done.messages)
    session.record(done.messages, reply=answer("z"), request_parameters=other)

    session = SessionStore(tmp_path).load(session.path)
    assert thoughts(session.extend([NEXT]).messages) == ["z"]
    for later in (session.fork(), session.go_on()):
        assert later.header.memory == session.header.memory
    assert session.child("b").header.memory is None


def test_another_policy_changes_nothing_that_was_sent_before_a_restart(tmp_path: Path) -> None:
    session = started(tmp_path)
    sent = send(session, [USER, dict(USER)], answer("x"))
    session = SessionStore(tmp_path).load(session.path)
    done = session.extend([NEXT], policy=Policy(duplicates="messages"))
    assert done.messages[:2] == sent == [USER, USER]
    assert thoughts(done.messages) == ["x"]


def test_an_older_version_ignores_the_memory(tmp_path: Path) -> None:
    """It reads lines of the header that it does not know, and drops them when it writes."""
    session = started(tmp_path)
    send(session, [USER], answer("x"))
    lines = (tmp_path / session.path).read_bytes().split(b"\n")
    (line,) = [line for line in lines if line.startswith(b"memory: ")]
    memory = json.loads(line.removeprefix(b"memory: "))
    assert SessionMemory.from_dict(memory) == session.header.memory
    assert all(turn["edits"] == [] for turn in memory["turns"]), "the messages are stored once"


def test_a_memory_of_another_form_is_ignored(tmp_path: Path) -> None:
    session = started(tmp_path)
    session._save(
        [], session.header.__class__(**{**_fields(session.header), "memory": _Later()}), None
    )
    assert SessionStore(tmp_path).load(session.path).header.memory is None


class _Later:
    def to_dict(self) -> dict[str, Any]:
        return {"form": 2}


def _fields(header: Any) -> dict[str, Any]:
    return {name: getattr(header, name) for name in header.__dataclass_fields__}


def kept(root: Path) -> MemoryStore:
    """The store of an adapter, as a process that has just started creates it."""
    return MemoryStore(state=SessionStore(root).state)


def memory_of(root: Path) -> SessionMemory:
    memory = kept(root).of("team", [USER], resolve(BOUND))
    assert memory is not None
    return memory


def add(root: Path, text: str) -> None:
    """Add a request of one conversation, whose second message is ``text``."""
    memories, messages = kept(root), [USER, answer("x"), {**NEXT, "content": text}]
    base = memories.of("team", messages, resolve(BOUND))
    assert base is not None
    memories.keep("team", messages, repaired(messages, base).memory, base)


def test_a_new_process_has_the_memory_of_the_old_one(tmp_path: Path) -> None:
    assert isinstance(SessionStore(tmp_path).state, SharedState)
    assert memory_of(tmp_path) == SessionMemory()
    memory = repaired(LATE[:3], SessionMemory()).memory
    kept(tmp_path).keep("team", [USER], memory)
    assert memory_of(tmp_path) == memory
    assert kept(tmp_path).of("other team", [USER], resolve(BOUND)) == SessionMemory()
    kept(tmp_path).refuse("team", [USER], memory.turns[0])
    assert memory_of(tmp_path) == memory.refused()
    assert list(SessionStore(tmp_path).paths()) == []


def test_a_damaged_file_is_not_used_and_is_replaced(tmp_path: Path) -> None:
    add(tmp_path, "a")
    (file,) = (tmp_path / "memories").rglob("*.json")
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b'"count": 3', b'"count": 4'), b"sha256:\n{}"):
        file.write_bytes(damaged)
        assert memory_of(tmp_path) == SessionMemory()
        add(tmp_path, "a")
        assert file.read_bytes() == whole


def _add_many(root: Path, name: str) -> None:
    for at in range(EACH):
        add(root, f"{name}{at}")


@pytest.mark.skipif(FORK is None, reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_of_several_processes_none_overwrites_what_another_has_added(tmp_path: Path) -> None:
    add(tmp_path, "first")
    processes = [FORK.Process(target=add, args=(tmp_path, str(at))) for at in range(PROCESSES * 3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    assert len(memory_of(tmp_path).turns) == len(processes) + 1


@pytest.mark.skipif(FORK is None, reason="needs fork and kill")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_process_killed_at_any_moment_breaks_no_memory(tmp_path: Path) -> None:
    random = Random(9)
    add(tmp_path, "first")
    for number in range(KILLS):
        process = FORK.Process(target=_add_many, args=(tmp_path, f"{number}-"))
        process.start()
        deadline = time.monotonic() + random.uniform(0, 0.06)
        while time.monotonic() < deadline:
            assert memory_of(tmp_path).turns, "a reader never sees a partial file"
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert memory_of(tmp_path).turns
