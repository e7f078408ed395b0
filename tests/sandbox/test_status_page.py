"""The page at ``/``: for people in a browser, JSON for programs; and the variables of one provider."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from chatmend.cli import app
from chatmend.sandbox import Reply
from chatmend.sandbox.guide import PROVIDERS, exports

CHAT = {"model": "<b>gpt-4o</b>", "messages": [{"role": "user", "content": "private words"}]}
BROWSER = {"accept": "text/html,application/xhtml+xml"}


def post(sandbox: Any, body: Any) -> httpx.Response:
    return httpx.post(sandbox.url("openai/v1/chat/completions"), json=body, timeout=60)


def test_people_see_requests_refusals_and_scripts(sandbox: Any) -> None:
    post(sandbox, CHAT)
    post(sandbox, {**CHAT, "messages": [{"role": "tool", "content": "x"}]})
    sandbox.script([Reply(text="later")])
    sandbox.expire("file-1")
    page = httpx.get(sandbox.url(), headers=BROWSER, timeout=60)
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "2 requests, 1 refused. Scripted: 1 answer, 1 change." in page.text
    assert sandbox.refusals[0].rule in page.text
    assert "&lt;b&gt;gpt-4o&lt;/b&gt;" in page.text
    assert "<b>" not in page.text
    assert "private words" not in page.text


def test_an_unused_sandbox_says_where_to_point_a_client(sandbox: Any) -> None:
    page = httpx.get(sandbox.url(), headers=BROWSER, timeout=60).text
    assert "None yet" in page
    assert f"{sandbox.url()}/anthropic".replace("//anthropic", "/anthropic") in page


def test_programs_get_json(sandbox: Any) -> None:
    post(sandbox, CHAT)
    data = httpx.get(sandbox.url(), timeout=60).json()
    assert data["sandbox"] == "chatmend"
    assert data["counts"] == {"openai": {"accepted": 1}}
    assert data["scripted"] == {"answers": 0, "changes": 0}


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_variables_of_a_provider_name_its_path(name: str) -> None:
    address, *_, hosts = exports("http://127.0.0.1:8090", name).splitlines()
    assert f"=http://127.0.0.1:8090/{name}" in address
    assert hosts == f"export CHATMEND_HOSTS=http://127.0.0.1:8090/{name}={name}"


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
def test_a_shell_evaluates_the_variables() -> None:
    command = f'eval "$({sys.executable} -m chatmend sandbox --env anthropic --port 1234)"; echo $ANTHROPIC_BASE_URL'
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "http://127.0.0.1:1234/anthropic\n"


def test_an_unknown_provider_is_an_error() -> None:
    done = CliRunner().invoke(app, ["sandbox", "--env", "nobody"])
    assert done.exit_code == 2
    assert "choose one of openai, anthropic" in done.stderr
