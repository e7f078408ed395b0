"""Runs the examples in README.md and the documentation: Python, commands, YAML, JSON and TOML.

Each page runs in a temporary folder with the files that ``_write_files`` creates. Environment
variables direct the official SDKs to a sandbox. All code blocks of a page share one namespace. Code
that readers need not see is in comments of the page (``invisible-code-block: python``).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from functools import cache
from io import BytesIO
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
EXIT_FOUND, EXIT_CLEAN = 1, 0
SERVERS = ("inspect", "sandbox")
"""Commands that run until they are interrupted."""

go_offline()


@cache
def _sandbox() -> Sandbox:
    from chatmend.sandbox import Sandbox  # noqa: PLC0415 - only examples need it

    return Sandbox().start()


@cache
def _screenshot() -> bytes:
    from PIL import Image  # noqa: PLC0415 - only examples need it

    data = BytesIO()
    Image.new("RGB", (900, 9000), "white").save(data, "png")
    return data.getvalue()


def _set_up(names: dict[str, Any]) -> None:
    sandbox = _sandbox()
    sandbox.clear()
    names.update(sandbox=sandbox, _before=(Path.cwd(), dict(os.environ)))
    os.environ.update({name: sandbox.url(path) for name, path in BASES.items()})
    os.environ.update(dict.fromkeys(KEYS, "any"), NO_PROXY="127.0.0.1")
    folder = Path(tempfile.mkdtemp(prefix="chatmend-docs-"))
    _write_files(folder)
    os.chdir(folder)


def _tear_down(names: dict[str, Any]) -> None:
    folder = Path.cwd()
    working_directory, environment = names["_before"]
    os.chdir(working_directory)
    os.environ.clear()
    os.environ.update(environment)
    shutil.rmtree(folder)
    if litellm := sys.modules.get("litellm"):
        litellm.callbacks = []


def _write_files(folder: Path) -> None:
    """Create the files that the pages use: conversations, rows, a screenshot, responses."""
    conversation = json.loads((ROOT / "examples/transcripts/anthropic.json").read_text("utf-8"))[
        "messages"
    ]
    (folder / "sessions").mkdir()
    for name in ("chat.json", "sessions/monday.json", "sessions/tuesday.json"):
        (folder / name).write_text(json.dumps(conversation, indent=2), "utf-8")
    (folder / "shot.png").write_bytes(_screenshot())
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90}
    answer = {"type": "message", "model": "claude-sonnet-4-5", "content": [], "usage": usage}
    row = {
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    }
    line = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": row}
    (folder / "batch.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    (folder / "train.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    (folder / "responses.jsonl").write_text(json.dumps(answer) + "\n", "utf-8")


def _run_commands(example: Example) -> None:
    """Run the `chatmend` commands of a page; check the names in `pip` and `make` commands."""
    from typer.testing import CliRunner  # noqa: PLC0415

    from chatmend.cli import app  # noqa: PLC0415 - only examples need it

    for line in re.findall(r"^\$ (.*)$", str(example.parsed), re.MULTILINE):
        words = shlex.split(line, comments=True)
        if words[0] == "pip":
            _check_extras(words)
        elif words[0] == "make":
            assert re.search(
                rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
            ), line
        elif words[0] == "chatmend" and words[1] not in SERVERS:
            words, file = (words[:-2], words[-1]) if words[-2] == ">" else (words, "")
            done = CliRunner().invoke(app, words[1:])
            assert done.exit_code in (EXIT_CLEAN, EXIT_FOUND), (line, done.output)
            if file:
                Path(file).write_text(done.stdout, "utf-8")


def _check_extras(words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    for named in re.findall(r"chatmend\[([\w,]+)\]", " ".join(words)):
        assert set(named.split(",")) <= set(extras), words


def _parse_with(read: Any) -> Any:  # noqa: ANN401 - a function of a string
    def evaluate(example: Example) -> None:
        read(str(example.parsed))

    return evaluate


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        SkipParser(),
        CodeBlockParser("console", _run_commands),
        CodeBlockParser("yaml", _parse_with(yaml.safe_load)),
        CodeBlockParser("json", _parse_with(json.loads)),
        CodeBlockParser("toml", _parse_with(tomllib.loads)),
    ],
    patterns=["README.md", "docs/*.md", "docs/how-to/*.md", "docs/explanation/*.md"],
    setup=_set_up,
    teardown=_tear_down,
).pytest()


@pytest.fixture(scope="session", autouse=True)
def _stop_sandbox() -> Any:  # noqa: ANN401 - a generator
    yield
    if _sandbox.cache_info().currsize:
        _sandbox().stop()
