"""``chatmend sandbox``: serves until it is stopped, prints how to reach it, and names the error if it cannot start."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest
from typer.testing import CliRunner

from chatmend.cli import app
from tests.processes import ended

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Where is order 1042?"}]}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_it_answers_refuses_logs_and_leaves_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "chatmend", "sandbox", "--port", "0", "--report", str(report)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, ended(process):  # noqa: S603 - our own command line
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        root = re.search(r"http://127\.0\.0\.1:\d+", next(lines))
        assert root is not None
        assert any(line.startswith("Requests ") for line in lines)
        url = f"{root[0]}/openai/v1/chat/completions"
        assert httpx.post(url, json=QUESTION, timeout=60).status_code == 200
        assert httpx.post(url, json={**QUESTION, "messages": []}, timeout=60).status_code == 400
        assert "refused" not in next(lines)
        assert "refused" in next(lines)
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    assert json.loads(report.read_text())["counts"] == {
        "openai": {"accepted": 1, "openai-chat-messages-empty": 1}
    }


def test_a_port_that_is_taken_is_named_with_the_next_step() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(app, ["sandbox", "--port", str(port)])
    assert done.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "try --port 0" in done.stderr


def test_variables_for_a_port_without_a_server_come_with_a_note() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        words = ["sandbox", "--env", "openai", "--port", str(port)]
        served = CliRunner().invoke(app, words)
    alone = CliRunner().invoke(app, words)
    assert served.stderr == ""
    assert f"nothing listens on 127.0.0.1:{port}" in alone.stderr
    assert "add --port" in alone.stderr
    assert alone.stdout == served.stdout, "a shell evaluates only the variables"


def test_without_its_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chatmend.sandbox.serving", None)
    done = CliRunner().invoke(app, ["sandbox"])
    assert done.exit_code == 2
    assert "pip install 'chatmend[sandbox]'" in done.stderr


def test_a_port_that_cannot_be_one_is_refused() -> None:
    assert CliRunner().invoke(app, ["sandbox", "--port", "70000"]).exit_code == 2
