"""``chatmend proxy`` as a new user starts it: agents find it by the printed variables, and keys are in no log."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml

from tests.offline import OFFLINE
from tests.transport.sdks import (
    CHAT,
    CLAUDE,
    CLAUDE_CHAT,
    CLAUDE_TOOL,
    CONTENTS,
    CONVERSE,
    CONVERSE_TOOLS,
    SDKS,
    WEATHER,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("litellm.proxy.proxy_cli")
pytestmark = pytest.mark.showpiece
"""The proxy takes 20 seconds of CPU time to start."""
KEY = "sk-a-secret-of-the-client-0123456789"
SECRET = "secret-of-the-proxy-0123456789"
SECONDS = 240
"""To wait for the proxy; on a busy machine its imports take half a minute."""
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIAOFTHEPROXY", "AWS_SECRET_ACCESS_KEY": SECRET}
COMMAND = [sys.executable, "-m", "chatmend", "proxy"]


class Started:
    """A proxy in another process, with the variables that it prints and its log."""

    def __init__(self, sandbox: Any, folder: Path) -> None:
        self.log = folder / "log.txt"
        # No file of the working directory may change what the proxy does.
        Path(folder, ".env").write_text("CHATMEND_DISABLED=1\n", "utf-8")
        upstreams = [
            f"--upstream={name}={sandbox.url(name)}"
            for name in ("anthropic", "openai", "gemini", "bedrock", "mistral")
        ]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [*COMMAND, "--port", "0", *upstreams],
                env={**os.environ, **OFFLINE, "NO_PROXY": "127.0.0.1", **CREDENTIALS},
                stdout=out, stderr=subprocess.STDOUT, cwd=folder,
            )  # fmt: skip
        self.variables: dict[str, str] = {}

    def wait(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            self.variables = dict(re.findall(r"export (\w+)=(\S+)", self.log.read_text()))
            if base := self.variables.get("OPENAI_BASE_URL"):
                try:
                    httpx.get(base, timeout=5)
                except httpx.HTTPError:
                    pass
                else:
                    return
            time.sleep(0.1)
        raise TimeoutError(self.log.read_text())


@pytest.fixture(scope="module")
def started(sandbox_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    proxy = Started(sandbox_server, tmp_path_factory.mktemp("proxy"))
    try:
        proxy.wait()
        yield proxy
    finally:
        proxy.process.terminate()
        proxy.process.wait(30)


CALLS = {
    "openai": ("OPENAI_BASE_URL", "/chat/completions", {"authorization": f"Bearer {KEY}"},
               {"model": "gpt-4o", "messages": CHAT, "tools": [WEATHER]}),
    "anthropic": ("ANTHROPIC_BASE_URL", "/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
                  {"model": "claude-sonnet-4-6", "max_tokens": 99, "messages": CLAUDE_CHAT, "tools": [CLAUDE_TOOL]}),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "/v1beta/models/gemini-2.5-flash:generateContent", {"x-goog-api-key": KEY},
               {"contents": json.loads(json.dumps(CONTENTS).replace("function_call", "functionCall").replace("function_response", "functionResponse"))}),
    "bedrock": ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"/model/{CLAUDE}/converse", {"authorization": f"Bearer {KEY}"},
                {"messages": CONVERSE, "toolConfig": CONVERSE_TOOLS}),
}  # fmt: skip


@pytest.mark.parametrize("provider", CALLS)
def test_a_broken_conversation_is_accepted_in_each_format(
    provider: str, started: Started, sandbox: Any
) -> None:
    variable, path, headers, body = CALLS[provider]
    answer = httpx.post(started.variables[variable] + path, json=body, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    assert not sandbox.refusals
    assert sandbox.requests[-1].provider == provider
    assert "=" in answer.headers["x-chatmend-changes"]


@pytest.mark.parametrize(
    "name", ["openai", "openai responses", "anthropic", "mistral", "google-genai"]
)
def test_sdks_work_through_it_with_and_without_streams(
    name: str, started: Started, sandbox: Any
) -> None:
    [sdk] = [sdk for sdk in SDKS if sdk.name == name]
    variable = {"google-genai": "GOOGLE_GEMINI_BASE_URL"}.get(
        name, f"{name.split(maxsplit=1)[0].upper()}_BASE_URL"
    )
    url = started.variables[variable]
    url = url.removesuffix("/v1") if name == "mistral" else url
    assert sdk.send(url, None)
    assert not sdk.streams or len(sdk.streams(url, None)) > 1
    assert not sandbox.refusals


def test_a_refusal_arrives_with_the_status_and_the_text_of_the_provider(
    started: Started, sandbox: Any
) -> None:
    sandbox.refuse(lambda body: True, "Unknown parameter: 'x'.", model="gpt-4o-mini")  # noqa: ARG005
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]}
    headers = {"authorization": f"Bearer {KEY}"}
    url = started.variables["OPENAI_BASE_URL"] + "/chat/completions"
    answer = httpx.post(url, json=body, headers=headers, timeout=60)
    assert answer.status_code == 400
    assert "Unknown parameter: 'x'." in answer.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_refused_request_is_sent_again(*, stream: bool, started: Started, sandbox: Any) -> None:
    sandbox.refuse(
        lambda body: any("name" in message for message in body["messages"]),
        "Unknown parameter: 'messages[0].name'.",
        model="gpt-4o",
    )
    text = (
        "with stream" if stream else "without stream"
    )  # another conversation, so nothing is known
    body = {"model": "gpt-4o", "stream": stream, "messages": [{**CHAT[0], "content": text, "name": "ann"}, *CHAT[1:]]}  # fmt: skip
    url = started.variables["OPENAI_BASE_URL"] + "/chat/completions"
    answers = [
        httpx.post(url, json=body, headers={"authorization": f"Bearer {KEY}"}, timeout=60)
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert len(sandbox.refusals) == 1
    assert answers[0].headers["x-chatmend-reacted"] == "1"
    assert "x-chatmend-reacted" not in answers[1].headers
    for answer in answers:
        assert re.fullmatch(r"KEY\d+=1,TOOL007=1", answer.headers["x-chatmend-changes"])


def bedrock_client(started: Started, **options: Any) -> Any:
    boto3 = pytest.importorskip("boto3")
    url = started.variables["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]
    return boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=url, **options)


CONVERSATION = {"modelId": CLAUDE, "messages": CONVERSE, "toolConfig": CONVERSE_TOOLS}


def test_boto3_requests_are_signed_again(started: Started, sandbox: Any) -> None:
    client = bedrock_client(started, aws_access_key_id="AKIAOFTHEAGENT", aws_secret_access_key=KEY)
    assert client.converse(**CONVERSATION)["output"]
    assert len(list(client.converse_stream(**CONVERSATION)["stream"])) > 1
    assert not sandbox.refusals


def test_other_routes_of_litellm_are_closed(started: Started) -> None:
    base = started.variables["OPENAI_BASE_URL"].partition("/to/")[0]
    for path in ("/model/info", "/key/generate", "/config/yaml", "/v1/chat/completions"):
        answer = httpx.post(
            f"{base}{path}", json={}, headers={"authorization": f"Bearer {KEY}"}, timeout=60
        )
        assert answer.status_code in (401, 403, 404, 405), path


def test_keys_and_texts_are_in_no_log(started: Started) -> None:
    log = started.log.read_text()
    for secret in (KEY, KEY[-8:], SECRET):
        assert secret not in log
    assert "Paris" not in log


@pytest.fixture(scope="module")
def typescript() -> Path:
    """Install the clients once for all runs, and return their folder."""
    if shutil.which("npm") is None:
        pytest.skip("Node.js is not installed")
    folder = Path(__file__).parent
    lock = (folder / "package-lock.json").read_text("utf-8")
    installed = folder / "node_modules" / "installed.json"
    if not installed.exists() or installed.read_text("utf-8") != lock:
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
            pytest.skip("npm could not install the clients")
        installed.write_text(lock, "utf-8")
    return folder


def test_typescript_clients_work_through_it(
    started: Started, sandbox: Any, typescript: Path
) -> None:
    ran = subprocess.run(
        ["node", "clients.mjs"], cwd=typescript, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **started.variables, "KEY": KEY},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    names = ["anthropic", "openai", "responses", "gemini", "ai"]
    assert ran.stdout.split() == [text for name in names for text in (name, f"{name}-stream")]
    assert not sandbox.refusals


def test_the_configuration_can_be_printed() -> None:
    done = subprocess.run(
        [
            *COMMAND,
            "--print-config",
            "--mode",
            "report",
            "--upstream",
            "openai=https://llm.example",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **OFFLINE},
    )
    config = yaml.safe_load(done.stdout)
    assert config["chatmend"] == {"mode": "report", "react": 1}
    targets = {
        one["path"]: one["target"] for one in config["general_settings"]["pass_through_endpoints"]
    }
    assert targets["/to/openai"] == "https://llm.example"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--mode", "dry"], "mode='dry' is invalid"),
        (["--policy", "strct"], "strct"),
        (["--upstream", "opnai=https://x"], "the providers are anthropic, openai"),
        (["--upstream", "openai=llm.example"], "is not PROVIDER=URL"),
    ],
)
def test_wrong_options_are_named(arguments: list[str], error: str) -> None:
    done = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **OFFLINE},
    )
    assert done.returncode == 2
    assert error in done.stderr


def test_without_litellm_the_error_names_the_command_that_installs_it() -> None:
    script = (
        "import sys; sys.modules['litellm'] = None; sys.argv = ['chatmend', 'proxy', '--port', '0']\n"
        "import runpy; runpy.run_module('chatmend', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install 'chatmend[proxy]'" in " ".join(done.stderr.split())
    assert "BASE_URL" not in done.stdout
