"""Five tasks of somebody with a failing request: from the error text to an accepted request.

    python -m tests.front_door

Each task starts with a program or file that a provider (the sandbox) refuses, runs the commands of
the README in an empty directory, and ends when the request is accepted. The program prints the
number of commands and the seconds of each task.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatmend.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Mapping

CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASK, GO_ON = {"role": "user", "content": "Look."}, {"role": "user", "content": "Go on."}
INTERRUPTED = [ASK, {"role": "assistant", "content": None, "tool_calls": [CALL]}, GO_ON]
CLAUDE = "claude-sonnet-4-6"
EMPTY = {"model": CLAUDE, "max_tokens": 9, "messages": [
    ASK, {"role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "a"}]}, GO_ON,
]}  # fmt: skip
MISTRAL = {"model": "mistral-large-latest", "messages": [
    ASK, {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "1"},
]}  # fmt: skip
SEND = """
import json, os, sys, urllib.request
body = open(sys.argv[1], "rb").read()
headers = {"content-type": "application/json", "authorization": "Bearer sandbox"}
headers |= {"x-api-key": "sandbox", "anthropic-version": "2023-06-01"}
request = urllib.request.Request(os.environ["SANDBOX"] + sys.argv[2], body, headers)
try:
    print(urllib.request.urlopen(request).status, "accepted")
except urllib.error.HTTPError as error:
    sys.exit(json.dumps(json.load(error)))
"""
HISTORY = "import json\nmessages = json.load(open('chat.json'))\n"
LITELLM = f"{HISTORY}import litellm\n{{fix}}litellm.completion('openai/gpt-4o', messages)\nprint('accepted')\n"
OPENAI = (
    f"{HISTORY}import openai\n{{fix}}client = openai.OpenAI({{client}})\n"
    "client.chat.completions.create(model='gpt-4o', messages=messages)\nprint('accepted')\n"
)
LANGCHAIN = (
    f"{HISTORY}from langchain_core.messages import convert_to_messages\n"
    "from langchain_openai import ChatOpenAI\n{fix}model = {model}\n"
    "model.invoke(convert_to_messages(messages))\nprint('accepted')\n"
)


@dataclass(frozen=True)
class Task:
    """A task: what is there, what is refused with which text, and what the user runs."""

    title: str
    files: Mapping[str, str]
    fails: str
    error: str
    """A part of the provider's error text."""
    commands: tuple[str, ...]
    """The last one sends the request again.

    ``{error}`` is what the failing program printed last, as people paste it.
    """


def _json(value: object) -> str:
    return json.dumps(value)


def _program(name: str, template: str, before: dict[str, str], after: dict[str, str]) -> Task:
    files = {
        "chat.json": _json(INTERRUPTED),
        "old.py": template.format(**before),
        "new.py": template.format(**after),
    }
    error = "must be followed by tool messages"
    return Task(
        name, files, "{python} old.py", error, ("chatmend explain {error}", "{python} new.py")
    )


TASKS = (
    Task(
        "a refused request body (Anthropic)",
        {"request.json": _json(EMPTY), "send.py": SEND},
        "{python} send.py request.json /anthropic/v1/messages",
        "text content blocks must be non-empty",
        (
            "chatmend explain {error} --file request.json",
            f"chatmend repair request.json --target anthropic/{CLAUDE} > repaired.json",
            "{python} send.py repaired.json /anthropic/v1/messages",
        ),
    ),
    Task(
        "a conversation that moves to another provider (Mistral)",
        {"request.json": _json(MISTRAL), "send.py": SEND},
        "{python} send.py request.json /mistral/v1/chat/completions",
        "must be a-z, A-Z, 0-9, with a length of 9",
        (
            "chatmend explain {error} --file request.json",
            "chatmend repair request.json --target mistral/mistral-large-latest > repaired.json",
            "{python} send.py repaired.json /mistral/v1/chat/completions",
        ),
    ),
    _program(
        "a program with LiteLLM",
        LITELLM,
        {"fix": ""},
        {"fix": "import chatmend.litellm\nchatmend.litellm.install()\n"},
    ),
    _program(
        "a program with LangChain",
        LANGCHAIN,
        {"fix": "", "model": "ChatOpenAI(model='gpt-4o')"},
        {
            "fix": "from chatmend.langchain import mend\n",
            "model": "mend(ChatOpenAI(model='gpt-4o'))",
        },
    ),
    _program(
        "a program with the SDK of OpenAI",
        OPENAI,
        {"fix": "", "client": ""},
        {"fix": "import chatmend.transport\n", "client": "http_client=chatmend.transport.client()"},
    ),
)


def environment(sandbox: Sandbox) -> dict[str, str]:
    """Return the variables that direct the clients to the sandbox."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SANDBOX": sandbox.url("").rstrip("/"),
        "OPENAI_BASE_URL": sandbox.url("openai/v1"),
        "OPENAI_API_BASE": sandbox.url("openai/v1"),
        "OPENAI_API_KEY": "sandbox",
        "CHATMEND_HOSTS": f"{sandbox.url('openai')}=openai",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def run(task: Task, sandbox: Sandbox) -> float:
    """Do a task in an empty directory and return the seconds that it took.

    Raises:
        AssertionError: a step did not do what the README promises.
    """
    variables = environment(sandbox)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in task.files.items():
            (Path(folder) / name).write_text(text, "utf-8")

        def shell(command: str, error: str = "") -> Any:
            filled = command.replace("{python}", sys.executable)
            filled = filled.replace("{error}", shlex.quote(error))
            return subprocess.run(  # noqa: S602 - the commands of a user
                filled, shell=True, cwd=folder, env=variables, capture_output=True, text=True,
                check=False,
            )  # fmt: skip

        refused = shell(task.fails)
        assert refused.returncode, "the provider should refuse the request"
        assert task.error in refused.stderr, refused.stderr[-2000:]
        pasted = refused.stderr.strip().splitlines()[-1]
        start = time.perf_counter()
        for command in task.commands:
            done = shell(command, pasted)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert "accepted" in done.stdout
        return time.perf_counter() - start


def main() -> None:
    """Do all tasks and print a table."""
    with Sandbox() as sandbox:
        for task in TASKS:
            seconds = run(task, sandbox)
            print(f"{task.title:58} {len(task.commands)} commands, {seconds:4.1f} s")


if __name__ == "__main__":
    main()
