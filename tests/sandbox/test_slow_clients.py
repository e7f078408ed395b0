"""Clients that send or read slowly do not stop the sandbox, and do not delay its end."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import httpx
import pytest

from chatmend.sandbox import Reply, Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}).encode()
HEAD = (
    b"POST /openai/v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer a\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(BODY)
)


class Impatient(Sandbox):
    request_timeout = 0.3


@pytest.fixture
def impatient() -> Iterator[Sandbox]:
    with Impatient() as server:
        yield server


def connected(server: Sandbox) -> socket.socket:
    found = socket.create_connection((server.host, server.port))
    found.settimeout(20)
    return found


def is_answered(server: Sandbox) -> bool:
    headers = {"authorization": "Bearer a"}
    url = server.url("openai/v1/chat/completions")
    return httpx.post(url, json=json.loads(BODY), headers=headers).status_code == 200


@pytest.mark.parametrize("sent", [b"", HEAD[:20], HEAD[:-2]])
def test_without_the_whole_head_a_connection_is_closed(impatient: Sandbox, sent: bytes) -> None:
    with connected(impatient) as client:
        client.sendall(sent)
        assert is_answered(impatient)
        assert client.recv(1000) == b""
    assert is_answered(impatient)


def test_without_the_whole_body_the_status_is_408(impatient: Sandbox) -> None:
    with connected(impatient) as client:
        client.sendall(HEAD + BODY[:10])
        assert is_answered(impatient)
        answer = client.recv(1000)
        assert answer.startswith(b"HTTP/1.1 408 ")
    assert [verdict.status for verdict in impatient.requests] == [200, 408]


def test_a_request_in_pieces_and_a_second_one_are_answered(impatient: Sandbox) -> None:
    with connected(impatient) as client:
        for _ in range(2):
            for start in range(0, len(HEAD + BODY), 40):
                client.sendall((HEAD + BODY)[start : start + 40])
            assert client.recv(100_000).startswith(b"HTTP/1.1 200 ")


def test_the_server_stops_while_clients_wait() -> None:
    with Sandbox() as server:
        server.script([Reply(text="word " * 200_000)])
        body = BODY.replace(b"{", b'{"stream": true, ', 1)
        head = HEAD.replace(b"length: %d" % len(BODY), b"length: %d" % len(body))
        with connected(server) as reading, connected(server) as sending:
            reading.sendall(head + body)  # and never reads
            sending.sendall(HEAD + BODY[:10])
            assert is_answered(server)
            server.stop()  # it waits at most ten seconds
            assert not server._thread.is_alive()


def test_an_idle_connection_lives_longer_than_clients_reuse_it_and_does_not_delay_the_end() -> None:
    """With equal limits, a client may send on a connection that the server is closing."""
    with Sandbox() as server, httpx.Client() as client:
        assert client.get(server.url()).status_code == 200
        kept = server._server.config.timeout_keep_alive
        assert kept > 2 * (httpx.Limits().keepalive_expiry or 0)
        server.stop()  # it waits at most ten seconds
        assert not server._thread.is_alive()
