"""The same store in a bucket: an S3 API on this machine, whose conditional writes are made one at a time.

Azure's API too, where ``CHATMEND_AZURITE`` says where its emulator listens::

    npx azurite-blob --inMemoryPersistence --skipApiVersionCheck
    CHATMEND_AZURITE=http://127.0.0.1:10000 python -m pytest tests/sessions/test_cloud.py
"""

from __future__ import annotations

import hmac
import multiprocessing
import os
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from secrets import token_hex
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from chatmend.errors import (
    SessionConflictError,
    SessionError,
    SessionFormatError,
    SessionWriteError,
)
from chatmend.sessions import SessionStore

pytest.importorskip("obstore")
pytest.importorskip("moto")
pytest.importorskip("flask_cors")
pytest.importorskip("boto3")

import boto3
import httpx
from moto.server import DomainDispatcherApplication, create_backend_app
from obstore.store import AzureStore, S3Store
from werkzeug.serving import WSGIRequestHandler, make_server

from chatmend.sessions.cloud import CloudStorage
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO, HI = {"role": "user", "content": "Hello <!--"}, {"role": "assistant", "content": "Hi"}
ACCOUNT = "devstoreaccount1"
EMULATOR_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""No secret: every emulator of Azure has this one."""
RUN = os.environ.setdefault("CHATMEND_TEST_RUN", token_hex(4))
"""Tells this run and the processes it starts from earlier ones, whose sessions an emulator still holds."""
KEYS = {"access_key_id": "someone", "secret_access_key": "hidden", "region": "us-east-1"}


class _Quiet(WSGIRequestHandler):
    def log(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module", params=["s3", "azure"])
def endpoint(request: pytest.FixtureRequest) -> Iterator[str]:
    with {"s3": _moto, "azure": _azurite}[request.param]() as running:
        yield running


@contextmanager
def _moto() -> Iterator[str]:
    # Not threaded: moto checks a condition and writes in two steps.
    server = make_server(
        "127.0.0.1",
        0,
        DomainDispatcherApplication(create_backend_app),
        threaded=False,
        request_handler=_Quiet,
    )
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    keys = {f"aws_{name}": value for name, value in KEYS.items() if name != "region"}
    client = boto3.client("s3", endpoint_url=url, region_name=KEYS["region"], **keys)
    client.create_bucket(Bucket="sessions")
    yield f"s3 {url}"
    server.shutdown()


@contextmanager
def _azurite() -> Iterator[str]:
    if not (url := os.environ.get("CHATMEND_AZURITE")):
        pytest.skip("CHATMEND_AZURITE does not say where Azure's emulator listens")
    _make_container(url)
    yield f"azure {url}/{ACCOUNT}"


def _make_container(url: str) -> None:
    """Azure's emulator has none when it starts."""
    now = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    told = f"x-ms-date:{now}\nx-ms-version:2021-12-02\n/{ACCOUNT}/{ACCOUNT}/sessions\nrestype:container"
    signed = hmac.digest(b64decode(EMULATOR_KEY), f"PUT{chr(10) * 12}{told}".encode(), "sha256")
    headers = {"x-ms-date": now, "x-ms-version": "2021-12-02"}
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{b64encode(signed).decode()}"
    answer = httpx.put(f"{url}/{ACCOUNT}/sessions?restype=container", headers=headers)
    assert answer.status_code in {201, 409}, answer.text  # made, or there from the last time


def bucket(endpoint: str, prefix: str) -> SessionStore:
    kind, url = endpoint.split()
    more: Any = {"client_options": {"allow_http": True}, "retry_config": {"max_retries": 0}}
    prefix = f"{prefix}-{RUN}"
    if kind == "azure":
        keys = {"account_name": ACCOUNT, "account_key": EMULATOR_KEY}
        return SessionStore(
            CloudStorage(AzureStore("sessions", prefix=prefix, endpoint=url, **keys, **more))
        )
    return SessionStore(
        CloudStorage(S3Store("sessions", prefix=prefix, endpoint=url, **KEYS, **more))
    )


def test_a_session_in_a_bucket_is_resumed_on_another_machine(endpoint: str) -> None:
    session = bucket(endpoint, "one").start(
        "main", target="openai/gpt-4o", request_parameters={"tools": []}
    )
    session.record(
        [HELLO], reply=HI, usage={"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    )
    again = bucket(endpoint, "one").latest()
    assert again is not None
    assert (again.path, again.messages, again.request_parameters) == (
        session.path,
        [HELLO, HI],
        {"tools": []},
    )
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
    results, count = spawn.Queue(), examples(2, 3)
    processes = [spawn.Process(target=_reserve, args=(endpoint, 10, results)) for _ in range(count)]
    for process in processes:
        process.start()
    paths = [path for _ in processes for path in results.get(timeout=120)]
    for process in processes:
        process.join()
    assert len(set(paths)) == len(paths) == 10 * count
    assert sorted(bucket(endpoint, "five").paths()) == sorted(paths)


def _continue(endpoint: str, path: str, name: str, number: int) -> None:
    store = bucket(endpoint, "six")
    for at in range(number):
        while True:  # as an application does after a conflict: load, and continue
            session = store.load(path)
            try:
                session.record([*session.messages, {"role": "user", "content": f"{name} {at}"}])
                break
            except SessionConflictError:
                continue


def test_writers_that_continue_one_session_lose_no_message(endpoint: str) -> None:
    path = bucket(endpoint, "six").start().path
    names = ("a", "b", "c")  # each with a connection of its own
    with ThreadPoolExecutor(len(names)) as writers:
        list(writers.map(lambda name: _continue(endpoint, path, name, 5), names))
    told = [message["content"] for message in bucket(endpoint, "six").load(path).messages]
    assert sorted(told) == sorted(f"{name} {at}" for name in names for at in range(5))
    for name in names:
        own = [text for text in told if text.startswith(name)]
        assert own == [f"{name} {at}" for at in range(5)]


def test_a_bucket_out_of_reach_is_a_clear_error_without_keys() -> None:
    store = bucket("s3 http://127.0.0.1:1", "x")
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
