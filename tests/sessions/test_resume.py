"""A session resumed in another process reads its whole prefix from the provider's cache, for any content."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chatmend.sessions import SessionStore
from chatmend.usage import normalize_usage
from tests.scale import sampled
from tests.sessions import agent

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from chatmend.sandbox import Reply, Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

WEATHER = Reply(calls=(("get_weather", {"city": "Paris"}),), thought="I must look it up.")
ANSWER = Reply(text="18 degrees in <b>Paris</b>. <!--/MSG-->", thought="It is 18 degrees.")

PROVIDERS = ["anthropic", "openai", "mistral"]


@pytest.fixture
def server() -> Iterator[Sandbox]:
    with Sandbox(strict_signatures=True) as running:
        yield running


def in_a_process(
    root: Path, server: Sandbox, provider: str, message: str, *, dies: bool = False
) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "tests.sessions.agent",
        str(root),
        server.url(),
        provider,
        message,
    ]
    run = subprocess.run(  # noqa: S603
        command + ["--die"] * dies,
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == (-9 if dies else 0), run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("provider", sampled(PROVIDERS, PROVIDERS[::2]))
def test_the_first_call_after_a_resume_reads_all_that_was_sent_from_the_cache(
    tmp_path: Path, server: Sandbox, provider: str
) -> None:
    thoughts = provider == "anthropic"
    server.script(
        [WEATHER, ANSWER] if thoughts else [Reply(calls=WEATHER.calls), Reply(text=ANSWER.text)]
    )
    first = in_a_process(tmp_path, server, provider, "What is the weather in Paris?", dies=True)
    whole_prefix = server.requests[-1].prompt
    assert first["calls"][-1]["input"] == whole_prefix

    second = in_a_process(tmp_path, server, provider, "And tomorrow?")
    assert second["path"] == first["path"]
    assert second["calls"][0]["cached"] == whole_prefix
    assert second["calls"][0]["input"] > whole_prefix
    assert server.refusals == []


def test_the_stored_messages_are_those_that_the_server_got(tmp_path: Path, server: Sandbox) -> None:
    server.script([WEATHER, ANSWER])
    in_a_process(tmp_path, server, "anthropic", "What is the weather in Paris?", dies=True)
    session = SessionStore(tmp_path).latest()
    assert session is not None
    body = server.requests[-1].body or {}
    sent = session.messages[: session.header.cache_boundary]
    assert json.dumps(sent) == json.dumps(body["messages"])
    assert json.dumps(
        {"model": body["model"], **session.request_parameters, "messages": sent}
    ) == json.dumps(body)
    assert {part["type"] for message in sent for part in message["content"]} == {
        "image",
        "text",
        "thinking",
        "tool_use",
        "tool_result",
    }


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_fork_reads_its_parent_s_prefix_from_the_cache_on_its_first_call(
    tmp_path: Path, server: Sandbox, provider: str
) -> None:
    server.script([Reply(text="Hi"), Reply(text="Forked"), Reply(text="Alone")])
    in_a_process(tmp_path, server, provider, "Hello", dies=True)
    whole_prefix = server.requests[-1].prompt
    parent = SessionStore(tmp_path).latest()
    assert parent is not None
    fork = parent.fork("draft")
    answer = agent.send(fork, server.url(), provider, agent.said(provider, "Draft it."))
    assert normalize_usage(answer, provider).cache_read_tokens == whole_prefix
    assert fork.usage.usage.cache_read_tokens == whole_prefix
    child = parent.child("search")
    assert "get_weather" not in json.dumps(child.request_parameters)
    assert (child.messages, child.usage.calls) == ([], 0)
