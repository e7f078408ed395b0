"""Timeouts, HTTP/2, uploads, redirects, cancellation and closing work as without the transport."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from chatmend.transport import AsyncTransport, Transport, async_client, client, repair_client
from chatmend.transport.calls import EXTENSION
from tests.transport.recording import recording
from tests.transport.sdks import CHAT

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = "/v1/chat/completions"
BODY = {"model": "gpt-4o", "messages": CHAT}
JSON = {"content-type": "application/json"}
OK = (200, JSON, b'{"choices": []}')


def roles_of(content: bytes) -> list[str]:
    return [message["role"] for message in json.loads(content)["messages"]]


REPAIRED = ["user", "assistant", "tool", "user"]


@contextmanager
def silent_server() -> Iterator[str]:
    """Run a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def http2_server() -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that speaks HTTP/2 without TLS and answers every request with ``{}``."""
    h2 = pytest.importorskip("h2.connection")
    config = pytest.importorskip("h2.config").H2Configuration(client_side=False)
    bodies: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        connection = h2.H2Connection(config)
        connection.initiate_connection()
        body = b""
        with peer:
            peer.sendall(connection.data_to_send())
            while data := peer.recv(65_536):
                for event in connection.receive_data(data):
                    kind = type(event).__name__
                    if kind == "DataReceived":
                        body += event.data
                    elif kind == "StreamEnded":
                        bodies.append(body)
                        body = b""
                        headers = [(":status", "200"), ("content-type", "application/json")]
                        connection.send_headers(event.stream_id, headers)
                        connection.send_data(event.stream_id, b"{}", end_stream=True)
                peer.sendall(connection.data_to_send())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", bodies
        thread.join()


def test_requests_of_http2_are_repaired() -> None:
    with http2_server() as (url, bodies):
        own = httpx.Client(transport=httpx.HTTPTransport(http1=False, http2=True))
        with repair_client(own, target="openai") as http:
            answers = [http.post(f"{url}{PATH}", json=BODY) for _ in range(2)]
    assert [answer.http_version for answer in answers] == ["HTTP/2", "HTTP/2"]
    assert [roles_of(body) for body in bodies] == [REPAIRED, REPAIRED]


def test_timeouts_of_the_client_and_of_one_request_hold() -> None:
    with silent_server() as url:
        http = repair_client(httpx.Client(timeout=0.01), target="openai")
        with pytest.raises(httpx.ReadTimeout):
            http.post(f"{url}{PATH}", json=BODY)
        patient = client(target="openai")
        with pytest.raises(httpx.ReadTimeout):
            patient.post(f"{url}{PATH}", json=BODY, timeout=0.01)


def test_a_cancelled_request_frees_its_connection() -> None:
    async def run(url: str) -> int:
        pool = httpx.AsyncHTTPTransport()
        async with httpx.AsyncClient(transport=AsyncTransport(pool)) as http:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await http.post(f"{url}{PATH}", json=BODY, timeout=None)
            return len(pool._pool.connections)

    with silent_server() as url:
        assert asyncio.run(run(url)) == 0


def test_a_refusal_that_is_read_frees_its_connection() -> None:
    refusal = (400, JSON, b'{"error": {"message": "Unknown parameter: \'messages[0].name\'."}}')
    pool = httpx.HTTPTransport()
    with recording(refusal, OK) as server:
        own = httpx.Client(transport=pool)
        http = repair_client(own, target="openai", react=1)
        messages = [{"role": "user", "name": "ann", "content": "hi"}]
        with http.stream("POST", f"{server.url}{PATH}", json={**BODY, "messages": messages}) as got:
            assert len(pool._pool.connections) == 1
            assert got.extensions[EXTENSION].reacted == 1
            assert b"".join(got.iter_raw()) == OK[2]
        http.close()
    assert pool._pool.connections == []


def test_a_closed_client_sends_nothing() -> None:
    http = client(target="openai")
    http.close()
    with pytest.raises(RuntimeError, match="closed"):
        http.post("http://127.0.0.1:1/v1/chat/completions", json=BODY)

    async def run() -> None:
        other = async_client(target="openai")
        await other.aclose()
        with pytest.raises(RuntimeError, match="closed"):
            await other.post("http://127.0.0.1:1/v1/chat/completions", json=BODY)

    asyncio.run(run())


def test_a_redirected_request_is_repaired_once_and_sent_to_both() -> None:
    with recording(OK) as target:
        moved = (307, {"location": f"{target.url}{PATH}"}, b"")
        with recording(moved) as first:
            answer = client(target="openai").post(f"{first.url}{PATH}", json=BODY)
    assert answer.status_code == 200
    assert [roles_of(request[3]) for request in (*first.requests, *target.requests)] == [
        REPAIRED
    ] * 2


@pytest.mark.parametrize("is_async", [False, True])
def test_a_compressed_answer_is_decoded_by_the_client(*, is_async: bool) -> None:
    packed = (200, {**JSON, "content-encoding": "gzip"}, gzip.compress(OK[2]))

    async def post(url: str) -> Any:
        async with async_client(target="openai") as http:
            return await http.post(url, json=BODY)

    with recording(packed) as server:
        url = f"{server.url}{PATH}"
        answer = (
            asyncio.run(post(url)) if is_async else client(target="openai").post(url, json=BODY)
        )
    assert answer.content == OK[2]
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.extensions[EXTENSION].changes


def test_a_file_upload_of_an_sdk_passes_unread() -> None:
    openai = pytest.importorskip("openai")
    answer = {"id": "f", "bytes": 3, "created_at": 1, "filename": "a.jsonl", "object": "file", "purpose": "batch", "status": "processed"}  # fmt: skip
    with recording((200, JSON, json.dumps(answer).encode())) as server:
        sdk = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", http_client=client())
        content = json.dumps(BODY).encode()
        raw = sdk.files.with_raw_response.create(file=("a.jsonl", content), purpose="batch")
    assert raw.parse().id == "f"
    assert EXTENSION not in raw.http_response.extensions
    assert content in server.requests[0][3]
    assert server.requests[0][2]["Content-Type"].startswith("multipart/form-data")


def test_an_asynchronous_streamed_body_is_repaired() -> None:
    content = json.dumps(BODY).encode()

    async def parts() -> Any:
        yield content[:40]
        yield content[40:]

    async def run(url: str) -> None:
        async with async_client(target="openai") as http:
            await http.post(url, content=parts())

    with recording(OK) as server:
        asyncio.run(run(f"{server.url}{PATH}"))
    assert roles_of(server.requests[0][3]) == REPAIRED


def test_retries_of_the_wrapped_transport_connect_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    http = httpx.Client(transport=Transport(httpx.HTTPTransport(retries=1)))
    with pytest.raises(httpx.ConnectError):
        http.post(f"http://127.0.0.1:{port}{PATH}", json=BODY)
