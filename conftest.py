"""Runs what README.md and the pages in docs show: Python, chatmend's commands, YAML, JSON and TOML.

Each page runs in a folder of its own that holds the files of ``_files``, with the official SDKs pointed at a sandbox.
The blocks of a page share their names. What a reader need not see stands in comments of the page, as
``invisible-code-block: python``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from tests.offline import go_offline

if TYPE_CHECKING:
    from sybil import Example

    from chatmend.sandbox import Sandbox

ROOT = Path(__file__).parent
BASES = {
    "OPENAI_BASE_URL": "openai/v1",
    "OPENAI_API_BASE": "openai/v1",
    "ANTHROPIC_BASE_URL": "anthropic",
    "ANTHROPIC_API_URL": "anthropic",
    "ANTHROPIC_API_BASE": "anthropic",
    "GEMINI_API_BASE": "gemini/v1beta",
    "MISTRAL_BASE_URL": "mistral/v1",
    "MISTRAL_API_BASE": "mistral/v1",
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY")
FOUND, FINE = 1, 0

go_offline()


@cache
def _sandbox() -> Sandbox:
    from chatmend.sandbox import Sandbox  # noqa: PLC0415 - only pages need it

    return Sandbox().start()


def _begin(names: dict[str, Any]) -> None:
    sandbox = _sandbox()
    sandbox.clear()
    names.update(sandbox=sandbox, _before=(Path.cwd(), dict(os.environ)))
    os.environ.update({name: sandbox.url(path) for name, path in BASES.items()})
    os.environ.update(dict.fromkeys(KEYS, "any"), NO_PROXY="127.0.0.1")
    folder = Path(tempfile.mkdtemp(prefix="chatmend-docs-"))
    _files(folder)
    os.chdir(folder)


def _end(names: dict[str, Any]) -> None:
    folder = Path.cwd()
    place, environment = names["_before"]
    os.chdir(place)
    os.environ.clear()
    os.environ.update(environment)
    shutil.rmtree(folder)
    if litellm := sys.modules.get("litellm"):
        litellm.callbacks = []


def _files(folder: Path) -> None:
    """What the pages speak of: stored conversations, a screenshot, recorded responses."""
    from PIL import Image  # noqa: PLC0415 - only pages need it

    conversation = json.loads((ROOT / "examples/transcripts/anthropic.json").read_text("utf-8"))["messages"]
    (folder / "sessions").mkdir()
    for name in ("chat.json", "sessions/monday.json", "sessions/tuesday.json"):
        (folder / name).write_text(json.dumps(conversation, indent=2), "utf-8")
    Image.new("RGB", (900, 9000), "white").save(folder / "shot.png")
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90}
    answer = {"type": "message", "model": "claude-sonnet-4-5", "content": [], "usage": usage}
    (folder / "responses.jsonl").write_text(json.dumps(answer) + "\n", "utf-8")


def _console(example: Example) -> None:
    """Run the commands of a page; those that begin something long, or fetch, are only looked at."""
    for line in re.findall(r"^\$ (.*)$", str(example.parsed), re.MULTILINE):
        words = shlex.split(line, comments=True)
        if words[0] == "pip":
            _check_extras(words)
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), line
        elif words[0] == "chatmend" and words[1] != "sandbox":
            command = [sys.executable, "-m", "chatmend", *words[1:]]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own pages
            assert done.returncode in (FINE, FOUND), (line, done.stderr)


def _check_extras(words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"chatmend\[([\w,]+)\]", " ".join(words)):
        assert set(named.split(",")) <= set(extras), words


def _parses(read: Any) -> Any:  # noqa: ANN401 - any reader of text
    def evaluate(example: Example) -> None:
        read(str(example.parsed))

    return evaluate


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        SkipParser(),
        CodeBlockParser("console", _console),
        CodeBlockParser("yaml", _parses(yaml.safe_load)),
        CodeBlockParser("json", _parses(json.loads)),
        CodeBlockParser("toml", _parses(tomllib.loads)),
    ],
    patterns=["README.md", "docs/*.md", "docs/how-to/*.md", "docs/explanation/*.md"],
    setup=_begin,
    teardown=_end,
).pytest()


@pytest.fixture(scope="session", autouse=True)
def _closed() -> Any:  # noqa: ANN401 - a generator of nothing
    yield
    if _sandbox.cache_info().currsize:
        _sandbox().stop()
