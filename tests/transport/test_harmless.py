"""What needs no repair, or cannot be repaired, passes byte for byte."""

from __future__ import annotations

import asyncio
import gc
import gzip
import importlib
import json
import logging
from typing import Any

import httpx
import pytest

from chatmend.errors import PolicyError, TargetError
from chatmend.memory_store import MemoryStore
from chatmend.transport import Transport, async_client, client, repair_client
from chatmend.transport.calls import EXTENSION
from tests.corpus import DIALECTS, spoken, target_of, there
from tests.scale import examples
from tests.transport.recording import recording
from tests.transport.sdks import CHAT

JSON = {"content-type": "application/json", "x-request-id": "r-1"}
OK = (200, JSON, b'{"choices": [], "n": 1.0}')
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
    "gemini_contents": "/v1beta/models/gemini-2.5-flash:generateContent",
}
BROKEN = json.dumps({"model": "gpt-4o", "messages": CHAT}, indent=1).encode()
LIBRARIES = ["httpx", "httpx2"]


@pytest.fixture(scope="module", autouse=True)
def _no_clients_of_other_files() -> None:
    """Collect clients of Mistral's SDK: their finalizers fail while a test is at the recursion limit."""
    gc.collect()


def post(http: Any, url: str, content: Any, **headers: str) -> Any:
    return http.post(url, content=content, headers={"content-type": "application/json", **headers})


def same_as_bare(path: str, content: bytes, library: str = "httpx", **options: Any) -> bool:
    """Whether a server gets the same bytes from a client with the transport and from one without."""
    module = importlib.import_module(library)
    with recording(OK) as server:
        answers = [
            post(http, f"{server.url}{path}", content)
            for http in (module.Client(follow_redirects=True), client(library, **options))
        ]
        bare, repaired = server.requests
    return bare == repaired and answers[0].content == answers[1].content


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/v1/embeddings", b'{"input": ["a"], "model": "m"}'),
        ("/v1/chat/completions", b'{"model": "gpt-4o", "messages": "not a list"}'),
        ("/v1/chat/completions", b"not json"),
        ("/v1/chat/completions", b"[" * 100_000),
        ("/v1/chat/completions", b""),
        ("/v1/responses", b'{"model": "gpt-5", "input": "a text"}'),
        ("/v1/threads/t/messages", b'{"role": "user", "content": "hi"}'),
        (
            "/v1/chat/completions",
            b'{"model":"gpt-4o","messages":[ {"role":"user","content":"\\u00e9"} ]}',
        ),
    ],
)
def test_other_requests_pass_byte_for_byte(library: str, path: str, content: bytes) -> None:
    pytest.importorskip(library)
    assert same_as_bare(path, content, library, target="openai")


@pytest.mark.skipif(not there("requests_accepted"), reason="the corpus is not here")
def test_recorded_requests_that_were_accepted_pass_byte_for_byte() -> None:
    accepted = spoken("requests_accepted")[:: examples(80, 2)]
    with recording(OK) as server:
        for row in accepted:
            content = json.dumps(row["body"], indent=1).encode()
            http = client(target=target_of(row))
            response = post(http, f"{server.url}{PATHS[DIALECTS[row['format']]]}", content)
            changes = [c for c in response.extensions[EXTENSION].changes if c.applied]
            assert {change.effect.name for change in changes} <= {"RESHAPES"}, row["id"]
            assert changes or server.requests[-1][3] == content, row["id"]


@pytest.mark.parametrize("options", [{"mode": "report"}, {}])
def test_report_mode_and_disabled_send_the_original(
    options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not options:
        monkeypatch.setenv("CHATMEND_DISABLED", "1")
    assert same_as_bare("/v1/chat/completions", BROKEN, target="openai", **options)


def test_report_mode_lists_the_changes() -> None:
    with recording(OK) as server:
        http = client(target="openai", mode="report")
        response = post(http, f"{server.url}/v1/chat/completions", BROKEN)
    assert [change.code for change in response.extensions[EXTENSION].changes] == ["TOOL007"]


def test_a_streamed_upload_is_repaired_and_other_uploads_are_not_read() -> None:
    with recording(OK) as server:
        http = client(target="openai")
        post(http, f"{server.url}/v1/chat/completions", iter([BROKEN[:50], BROKEN[50:]]))
        post(http, f"{server.url}/v1/files", iter([b"a", b"b"]))
    repaired, upload = server.requests
    assert [m["role"] for m in json.loads(repaired[3])["messages"]][-2:] == ["tool", "user"]
    assert repaired[2]["Content-Length"] == str(len(repaired[3]))
    assert upload[3] == b"ab"
    assert upload[2]["Transfer-Encoding"] == "chunked"


UNREADABLE = {
    "its body is signed": (BROKEN, {"authorization": "AWS4-HMAC-SHA256 Credential=a"}),
    "its body is compressed": (gzip.compress(BROKEN), {"content-encoding": "gzip"}),
    "its body is not a JSON object": (b'"Paris"', {}),
    "its body has no list under 'messages'": (b'{"message": "Paris", "model": "gpt-4o"}', {}),
}


@pytest.mark.parametrize("reason", UNREADABLE)
def test_what_cannot_be_read_passes_with_one_warning_and_a_report(
    reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    content, headers = UNREADABLE[reason]
    with recording(OK) as server, caplog.at_level(logging.WARNING):
        http = client(target="openai")
        for _ in range(2):
            response = post(http, f"{server.url}/v1/chat/completions", content, **headers)
    assert [request[3] for request in server.requests] == [content, content]
    report = response.extensions[EXTENSION]
    assert (report.target, report.changes) == ("", ())
    assert report.passed.startswith(reason)
    assert report.report() == f"not checked: {report.passed}"
    [record] = caplog.records
    host = server.url.removeprefix("http://")
    assert record.message.startswith(f"chatmend does not repair a request to {host}: {reason}")
    assert "Paris" not in caplog.text


def test_an_unknown_wire_format_is_named_once_for_each_host(
    caplog: pytest.LogCaptureFixture,
) -> None:
    steps = b'{"model": "command-r", "message": "Paris", "chat_history": []}'
    with recording(OK) as one, recording(OK) as other, caplog.at_level(logging.WARNING):
        http = client()
        for server in (one, one, other):
            response = post(http, f"{server.url}/v2/chat", steps)
    assert "format of Cohere's API v1" in response.extensions[EXTENSION].passed
    assert len(caplog.records) == 2
    assert "Paris" not in caplog.text


def test_other_requests_and_texts_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with recording(OK) as server, caplog.at_level(logging.WARNING):
        http = client()
        upload = post(http, f"{server.url}/v1/threads/t/messages", b'{"role": "user"}')
        text = post(http, f"{server.url}/v1/responses", b'{"model": "gpt-5", "input": "hi"}')
    assert EXTENSION not in upload.extensions
    assert text.extensions[EXTENSION].passed == "its 'input' is a text, not a list of messages"
    assert not caplog.records


@pytest.mark.parametrize(
    "style",
    [
        {"separators": (",", ":"), "ensure_ascii": False},
        {"separators": (",", ":"), "ensure_ascii": True},
        {"separators": (", ", ": "), "ensure_ascii": True},
        {"separators": (", ", ": "), "ensure_ascii": False},
    ],
)
def test_the_bytes_before_the_first_change_are_those_of_the_client(style: Any) -> None:
    body = {
        "model": "gpt-4o",
        "temperature": 1.0,
        "messages": [{"role": "user", "content": "\u00e9\n/"}, *CHAT],
    }
    content = json.dumps(body, **style).encode()
    first_change = content.index(b"Never mind") - len(b'{"role":"user","content":"  ')
    with recording(OK) as server:
        post(client(target="openai"), f"{server.url}/v1/chat/completions", content)
    sent = server.requests[0][3]
    assert sent != content
    assert sent[:first_change] == content[:first_change]
    assert b'"messages": [' in sent if style["separators"][1] == ": " else b'"messages":[' in sent


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "1" * 40])
def test_numbers_of_any_length_stay_exact_in_a_repaired_body(number: str) -> None:
    extra = f'"seed": {number}, "note": "\\ud800"'
    content = f"{{{extra}, {BROKEN.decode().lstrip().removeprefix('{')}".encode()
    with recording(OK) as server:
        post(client(target="openai"), f"{server.url}/v1/chat/completions", content)
        whole = content.replace(b'"note": "\\ud800", ', b"")
        post(client(target="openai"), f"{server.url}/v1/chat/completions", whole)
    for request in server.requests:
        assert json.loads(request[3])["seed"] == int(number)
        assert json.loads(request[3])["messages"][-2]["role"] == "tool"


def test_a_failure_of_chatmend_sends_the_original_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("chatmend.transport.request_repair.repair_request", fail)
    assert same_as_bare("/v1/chat/completions", BROKEN, target="openai")
    assert "ZeroDivisionError" in caplog.text
    assert "Paris" not in caplog.text
    with recording(OK) as server, pytest.raises(ZeroDivisionError):
        post(client(target="openai", on_error="raise"), f"{server.url}/v1/chat/completions", BROKEN)


def test_a_memory_that_cannot_be_kept_does_not_discard_the_repair_or_the_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(MemoryStore, "keep", fail)
    with recording(OK) as server:
        url = f"{server.url}{PATHS['openai_chat']}"
        options: Any = {"target": "openai", "session_memory": "all"}
        response = post(client(**options), url, BROKEN)
        assert response.extensions[EXTENSION].changes
        assert server.requests[-1][-1] != BROKEN
        assert "what was sent is not remembered" in caplog.text
        with pytest.raises(RuntimeError):
            post(client(on_error="raise", **options), url, BROKEN)
    monkeypatch.undo()
    monkeypatch.setattr(MemoryStore, "refuse", fail)
    with recording((500, JSON, b"{}")) as server:
        url = f"{server.url}{PATHS['openai_chat']}"
        assert post(client(**options), url, BROKEN).status_code == 500


def test_a_refusal_that_no_repair_answers_arrives_byte_for_byte() -> None:
    refusal = gzip.compress(b'{"error": {"message": "Incorrect API key provided"}}')
    answer = (400, {**JSON, "content-encoding": "gzip"}, refusal)
    with recording(answer) as server:
        url = f"{server.url}/v1/chat/completions"
        bare = post(httpx.Client(), url, BROKEN)
        response = post(client(target="openai", react=2), url, BROKEN)
        raw = httpx.Client().build_request("POST", url)
        with httpx.Client(transport=Transport(repair=None)) as http:
            streamed = http.send(raw, stream=True)
            assert b"".join(streamed.iter_raw()) == refusal
    assert len(server.requests) == 3
    for answered in (bare, response):
        del answered.headers["date"]  # may be a second later
    assert (response.status_code, response.headers.raw, response.content) == (
        bare.status_code, bare.headers.raw, bare.content,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"policy": "strct_alternation"}, PolicyError),
        ({"mode": "dry"}, PolicyError),
        ({"react": 5}, PolicyError),
        ({"on_error": "send"}, PolicyError),
        ({"session_memory": "some"}, PolicyError),
        ({"target": "antropic/claude"}, TargetError),
    ],
)
def test_a_wrong_option_raises_when_the_client_is_made(
    options: Any, error: type[Exception]
) -> None:
    for make in (client, async_client):
        with pytest.raises(error):
            make(**options)


def test_clients_that_cannot_be_wrapped_are_refused() -> None:
    with pytest.raises(TypeError, match="pass the http_client of the SDK"):
        repair_client(object())
    with pytest.raises(TypeError, match="already"):
        repair_client(client())
    with pytest.raises(TypeError, match="choose 'httpx' or 'httpx2'"):
        client("requests")  # type: ignore[arg-type]


def test_a_proxy_of_the_environment_stays_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with recording(OK) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        response = post(client(target="openai"), "http://llm.example/v1/chat/completions", BROKEN)
    assert response.extensions[EXTENSION].changes
    assert server.requests[0][1] == "http://llm.example/v1/chat/completions"


def test_long_bodies_of_asynchronous_clients_are_repaired_in_a_thread() -> None:
    messages = [{"role": "user", "content": "x" * 100_000}, *CHAT]
    content = json.dumps({"model": "gpt-4o", "messages": messages}).encode()

    async def send(url: str) -> Any:
        async with async_client(target="openai") as http:
            return await post(http, url, content)

    with recording(OK) as server:
        response = asyncio.run(send(f"{server.url}/v1/chat/completions"))
    assert [change.code for change in response.extensions[EXTENSION].changes] == ["TOOL007"]
