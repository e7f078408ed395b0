"""The sandbox in the foreground: it prints its address, logs verdicts and writes a report."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import Any

import httpx
import pytest

from tests.processes import ended

SERVE = "from chatmend.sandbox import serve; serve(port=0, report={report!r})"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_logs_each_verdict_and_writes_the_report_at_exit(
    tmp_path: Any, number: int
) -> None:
    report = tmp_path / "out.json"
    command = [sys.executable, "-c", SERVE.format(report=str(report))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, ended(process):  # noqa: S603
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        root = re.search(r"http://\S+", next(lines))
        assert root is not None
        assert any(line.startswith("Requests") for line in lines)
        httpx.post(
            f"{root[0]}/openai/v1/chat/completions",
            json={"model": "gpt-4o", "messages": []},
            timeout=60,
        )
        assert "refused  openai-chat-messages-empty" in next(lines)
        process.send_signal(number)
    assert json.loads(report.read_text())["counts"] == {"openai": {"openai-chat-messages-empty": 1}}
    assert report.stat().st_mode & 0o077 == 0


def test_a_port_in_use_raises_an_oserror(sandbox: Any) -> None:
    from chatmend.sandbox import serve  # noqa: PLC0415 - needs the sandbox extra

    with pytest.raises(OSError, match="in use"):
        serve(port=sandbox.port)


def test_the_module_refuses_options() -> None:
    command = [sys.executable, "-m", "chatmend.sandbox", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed command
    assert done.returncode == 2
    assert "chatmend sandbox --help" in done.stderr


def test_the_module_names_the_missing_extra() -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from chatmend.sandbox.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert "pip install 'chatmend[sandbox]'" in done.stderr
    assert "Traceback" not in done.stderr
