"""The same store in a bucket: an S3 API on this machine, whose conditional writes are made one at a time."""

from __future__ import annotations

import multiprocessing
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from chatmend.errors import SessionConflictError, SessionError, SessionFormatError, SessionWriteError
from chatmend.sessions import SessionStore

pytest.importorskip("obstore")
pytest.importorskip("moto")
pytest.importorskip("flask_cors")
pytest.importorskip("boto3")

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from obstore.store import S3Store
from werkzeug.serving import WSGIRequestHandler, make_server

from chatmend.sessions.cloud import CloudStorage

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO, HI = {"role": "user", "content": "Hello <!--"}, {"role": "assistant", "content": "Hi"}
KEYS = {"access_key_id": "someone", "secret_access_key": "hidden", "region": "us-east-1"}


class _Quiet(WSGIRequestHandler):
    def log(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    # Not threaded: moto checks a condition and writes in two steps.
    server = make_server(
        "127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False, request_handler=_Quiet
    )
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    keys = {f"aws_{name}": value for name, value in KEYS.items() if name != "region"}
    client = boto3.client("s3", endpoint_url=url, region_name=KEYS["region"], **keys)
    client.create_bucket(Bucket="sessions")
    yield url
    server.shutdown()


def bucket(endpoint: str, prefix: str) -> SessionStore:
    options = {"allow_http": True}
    retries = {"max_retries": 0}
    return SessionStore(
        CloudStorage(
            S3Store("sessions", prefix=prefix, endpoint=endpoint, client_options=options, retry_config=retries, **KEYS)
        )
    )


def test_a_session_in_a_bucket_is_resumed_on_another_machine(endpoint: str) -> None:
    session = bucket(endpoint, "one").start("main", target="openai/gpt-4o", beside={"tools": []})
    session.record([HELLO], reply=HI, usage={"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4})
    again = bucket(endpoint, "one").latest()
    assert again is not None
    assert (again.path, again.messages, again.beside) == (session.path, [HELLO, HI], {"tools": []})
    again.record([HELLO, HI, HELLO])
    assert bucket(endpoint, "one").load(session.path).messages == [HELLO, HI, HELLO]
    assert list(bucket(endpoint, "one").paths()) == [session.path]
    assert list(bucket(endpoint, "two").paths()) == []


def test_a_second_writer_is_told_and_overwrites_nothing(endpoint: str) -> None:
    mine = bucket(endpoint, "three").start()
    bucket(endpoint, "three").load(mine.path).record([HELLO])
    with pytest.raises(SessionConflictError):
        mine.record([HI])
    assert bucket(endpoint, "three").load(mine.path).messages == [HELLO]


def test_a_write_whose_answer_was_lost_is_no_conflict_with_itself(endpoint: str) -> None:
    store = bucket(endpoint, "four")
    session = store.start()
    data, version = store.storage.read(session.path)
    store.storage.replace(session.path, data + b"x", version)
    assert store.storage.replace(session.path, data + b"x", version)
    with pytest.raises(SessionFormatError):
        store.load(session.path)


def _reserve(endpoint: str, number: int, results: Any) -> None:
    store = bucket(endpoint, "five")
    results.put([store.start().path for _ in range(number)])


def test_no_two_processes_ever_share_a_name(endpoint: str) -> None:
    spawn = multiprocessing.get_context("spawn")  # obstore's runtime does not survive a fork
    results = spawn.Queue()
    processes = [spawn.Process(target=_reserve, args=(endpoint, 10, results)) for _ in range(3)]
    for process in processes:
        process.start()
    paths = [path for _ in processes for path in results.get(timeout=120)]
    for process in processes:
        process.join()
    assert len(set(paths)) == len(paths) == 30
    assert sorted(bucket(endpoint, "five").paths()) == sorted(paths)


def test_a_bucket_out_of_reach_is_a_clear_error_without_keys() -> None:
    store = bucket("http://127.0.0.1:1", "x")
    with pytest.raises(SessionError, match="could not be read") as caught:
        store.latest()
    with pytest.raises(SessionWriteError, match="not written"):
        store.storage.create("sessions/a_1.md", b"")
    assert "hidden" not in str(caught.value)


def test_a_path_cannot_leave_the_prefix(endpoint: str) -> None:
    with pytest.raises(SessionError, match="below the root"):
        bucket(endpoint, "one").load("sessions/../../x.md")
    with pytest.raises(SessionError, match="no such session"):
        bucket(endpoint, "one").load("sessions/x.md")
