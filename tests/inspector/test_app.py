"""The local app: what it serves, to whom, and what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from chatmend.cli import app as command_line
from chatmend.inspect.app import POLICY, build

if TYPE_CHECKING:
    from pathlib import Path

BASE = "http://127.0.0.1"


def client(document: Path | None = None, base: str = BASE) -> TestClient:
    return TestClient(build("secret", document), base_url=base)


def test_the_page_has_a_strict_policy_and_is_not_stored() -> None:
    answer = client().get("/secret/")
    assert answer.status_code == 200
    assert "chatmend inspector" in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/ask", "/document", "/other/document", "/secret/../app.py"])
def test_nothing_is_served_without_the_token(path: str, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text("private", "utf-8")
    answer = client(file).get(path)
    assert answer.status_code in (404, 405)
    assert "private" not in answer.text


def test_another_host_name_is_refused() -> None:
    assert client(base="http://evil.example").get("/secret/").status_code == 400


def test_the_opened_file_is_served(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text("[ä]", "utf-8")
    app = client(file)
    assert app.get("/secret/settings.json").json()["document"] == "chat.json"
    assert app.get("/secret/document").text == "[ä]"
    file.unlink()
    assert "could not be read" in app.get("/secret/document").text


def test_questions_are_answered() -> None:
    chat = json.dumps([{"role": "user", "content": "hi"}])
    told = client().post("/secret/ask", json={"ask": "inspect", "text": chat}).json()
    assert told["targets"][0]["count"] == 0


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{", "cannot be read"),
        (b"[]", "is a JSON object"),
        (b'{"ask": "all"}', "ask must be"),
        (b"\xff", "cannot be read"),
    ],
)
def test_malformed_questions_are_refused_with_a_reason(body: bytes, text: str) -> None:
    answer = client().post("/secret/ask", content=body)
    assert answer.status_code == 400
    assert text in answer.text


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    for path, text in ((tmp_path, "is a directory"), (tmp_path / "none.json", "could not be read")):
        done = CliRunner().invoke(command_line, ["inspect", str(path)])
        assert done.exit_code == 2
        assert text in done.stderr


def test_a_used_port_is_an_error() -> None:
    import socket  # noqa: PLC0415 - only here

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(command_line, ["inspect", "--no-browser", "--port", port])
    assert done.exit_code == 2
    assert f"cannot listen on port {port}" in done.stderr
