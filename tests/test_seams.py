"""Adding one file and one line is enough for a rule, provider or wire format to work everywhere.

The tests use a copy of the package in which nothing else is edited.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SEAMS = ROOT / "tests" / "seams"
ADDED = {
    "long_text": "TEXT900",
    "secret_argument": "TOOL900",
    "noted_message": "KEY900",
    "lonely_answer": "TURN900",
}
LONG = "0123456789" * 5

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"password": "p"}'},
}
CHAT: list[Any] = [
    {"role": "user", "content": LONG, "x_note": 1},
    {
        "role": "assistant", "content": None,
        "tool_calls": [CALL],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": LONG},
    {"role": "assistant", "content": "done"},
]  # fmt: skip
BLOCKS: list[Any] = [
    {"role": "user", "content": [{"type": "text", "text": LONG}], "x_note": 1},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"password": "p"}}],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": LONG}],
    },
    {"role": "assistant", "content": "done"},
]
ITEMS: list[Any] = [
    {"role": "user", "content": LONG, "x_note": 1},
    {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"password": "p"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": LONG},
    {"role": "assistant", "content": "done"},
]
CONTENTS: list[Any] = [
    {"role": "user", "parts": [{"text": LONG}], "x_note": 1},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"password": "p"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": LONG}}}]},
    {"role": "model", "parts": [{"text": "done"}]},
]
CONVERSE: list[Any] = [
    {"role": "user", "content": [{"text": LONG}], "x_note": 1},
    {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {"password": "p"}}}],
    },
    {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": LONG}]}}],
    },
    {"role": "assistant", "content": [{"text": "done"}]},
]
OLLAMA: list[Any] = [
    {"role": "user", "content": LONG, "x_note": 1},
    {
        "role": "assistant",
        "tool_calls": [{"function": {"name": "f", "arguments": {"password": "p"}}}],
    },
    {"role": "tool", "tool_name": "f", "content": LONG},
    {"role": "assistant", "content": "done"},
]
FORMATS = {
    "openai_chat": CHAT, "anthropic_messages": BLOCKS, "openai_responses": ITEMS, "gemini_contents": CONTENTS,
    "bedrock_converse": CONVERSE, "ollama_chat": OLLAMA,
}  # fmt: skip


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a copy of the package with four more rules, one more provider and one more wire format."""
    root = tmp_path_factory.mktemp("house")
    package = root / "chatmend"
    shutil.copytree(
        ROOT / "src" / "chatmend", package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ADDED:
        shutil.copy(SEAMS / f"{name}.py", package / "rules")
    lines = "".join(f'    "{name}",  # last\n' for name in ADDED)
    put(package / "rules" / "__init__.py", '    "trailing_assistant",\n', lines)
    shutil.copy(SEAMS / "acme.toml", package / "targets" / "hosts")
    shutil.copy(SEAMS / "pairs.py", package / "dialects")
    put(
        package / "dialects" / "__init__.py",
        "    openai_responses,\n)\n",
        "from chatmend.dialects import pairs\n",
    )
    put(package / "dialects" / "__init__.py", "    for module in (\n", "        pairs,\n")
    shutil.copy(SEAMS / "dialogue.py", package / "data" / "formats")
    put(package / "data" / "formats" / "__init__.py", "FORMATS = _load(\n", '    "dialogue",\n')
    return root


def put(path: Path, behind: str, text: str) -> None:
    """Insert text after another, which must occur exactly once."""
    said = path.read_text("utf-8")
    assert said.count(behind) == 1, behind
    path.write_text(said.replace(behind, behind + text), "utf-8")


def run(house: Path, *command: str, given: object = None) -> str:
    """Run a program that imports the copy, and return its output."""
    environment = {
        "PYTHONPATH": str(house),
        "LITELLM_LOCAL_MODEL_COST_MAP": "true",
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, *command],
        env=environment,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


TWICE = """
import json, sys
import chatmend
given = json.load(sys.stdin)
found = []
for messages in given["said"]:
    done = chatmend.repair(messages, "acme/acme-large", dialect=given["dialect"])
    again = chatmend.repair(done.messages, "acme/acme-large", dialect=given["dialect"])
    told = [change.code for change in chatmend.check(messages, "acme/acme-large", dialect=given["dialect"])]
    assert [change.code for change in done.changes] == told and not again.changes, (told, again.changes)
    found.append(told)
print(json.dumps(found))
"""


@pytest.mark.parametrize("dialect", FORMATS)
def test_each_rule_fires_in_each_format_also_where_the_structure_is_known_to_be_fine(
    house: Path, dialect: str
) -> None:
    broken = FORMATS[dialect]
    fine = [
        *json.loads(json.dumps(broken).replace(LONG, "short").replace("password", "word")),
        *broken[:1],
    ]
    fine = [{key: value for key, value in message.items() if key != "x_note"} for message in fine]
    fine[-1] = json.loads(json.dumps(fine[-1]).replace(LONG, "short"))
    said = [fine, fine, fine, broken, [*fine[:-1], *broken], broken]
    found = json.loads(run(house, "-c", TWICE, given={"dialect": dialect, "said": said}))
    assert found[:3] == [[], [], []]
    # Gemini and Converse refuse unknown keys, so another rule runs first there
    is_closed = dialect in ("gemini_contents", "bedrock_converse")
    wanted = {*ADDED.values()} - {"KEY900"} | {"KEY001" if is_closed else "KEY900"}
    if dialect == "gemini_contents":  # Google refuses an answer at the end
        wanted = wanted - {"TURN900"} | {"TURN005"}
    for codes in found[3:]:
        assert wanted <= set(codes), codes


def test_the_format_speaks_through_the_same_rules(house: Path) -> None:
    said = [{"who": "user", "says": LONG, "x_note": 1}, {"who": "assistant", "says": "done"}]
    (codes,) = json.loads(run(house, "-c", TWICE, given={"dialect": "pairs", "said": [said]}))
    assert {"TEXT900", "KEY900", "TURN900"} <= set(codes)


def test_the_command_line_finds_them(house: Path, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT))
    told = run(house, "-m", "chatmend", "check", str(file), "--target", "acme/acme-large")
    assert [code for code in ADDED.values() if code not in told] == []
    assert "longer than the target takes" in run(house, "-m", "chatmend", "explain", "TEXT900")


def test_the_layout_of_training_data_is_read_and_written_everywhere(
    house: Path, tmp_path: Path
) -> None:
    """One file and one line in the list of layouts: for rows in Python and for files."""
    turns = ["Hi", "Hello!", "Bye", ""]
    file, out = tmp_path / "turns.jsonl", tmp_path / "out"
    file.write_text(json.dumps({"dialogue": turns[:2]}) + "\n" + json.dumps({"dialogue": turns}))
    words = ["-m", "chatmend", "data", str(file), "--target", "strict", "--out", str(out)]
    assert "1 valid" in run(house, *words)
    quarantined = json.loads((out / "quarantine" / "turns.jsonl").read_text())
    assert quarantined["row"] == {"dialogue": turns}
    assert quarantined["error"].startswith("nothing to learn")
    assert json.loads((out / "turns.jsonl").read_text()) == {"dialogue": turns[:2]}
    code = """
import json, sys
from chatmend.data import repair_rows
print(json.dumps([r.row for r in repair_rows(json.load(sys.stdin), target="openai/gpt-4o")]))
"""
    broken = [{"dialogue": ["Hi \ud800", "Hello!"], "id": 1}]
    assert json.loads(run(house, "-c", code, given=broken)) == [
        {"dialogue": ["Hi \ufffd", "Hello!"], "id": 1}
    ]


LITELLM = """
import asyncio, json, sys
from chatmend.litellm import ChatMend
kwargs = {"model": "acme/acme-large", "messages": json.load(sys.stdin), "tools": []}
sent = asyncio.run(ChatMend(on_error="raise").async_pre_call_deployment_hook(kwargs, "acompletion"))
print(json.dumps(sent["messages"]))
"""


@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
@pytest.mark.showpiece
def test_litellms_callback_repairs_by_them(house: Path) -> None:
    sent = json.loads(run(house, "-c", LITELLM, given=CHAT).splitlines()[-1])
    assert sent[0] == {"role": "user", "content": LONG[:40]}
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert sent[2]["content"] == LONG[:40]
    assert sent[-1]["role"] == "user"


LANGCHAIN = """
import json
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from chatmend.langchain import mend

heard = []

class Model(GenericFakeChatModel):
    def _generate(self, messages, *rest, **more):
        heard.extend(messages)
        return super()._generate(messages, *rest, **more)

long = "0123456789" * 5
call = {"name": "f", "args": {"password": "p"}, "id": "call_1", "type": "tool_call"}
answer = ToolMessage(long, tool_call_id="call_1")
said = [HumanMessage(long), AIMessage("", tool_calls=[call]), answer, AIMessage("done")]
mend(Model(messages=iter([AIMessage("ok")])), target="acme/acme-large").invoke(said)
print(json.dumps([[m.type, m.content, getattr(m, "tool_calls", None)] for m in heard]))
"""


@pytest.mark.skipif(find_spec("langchain_core") is None, reason="langchain-core is not installed")
def test_a_mended_chat_model_sends_what_they_repaired(house: Path) -> None:
    heard = json.loads(run(house, "-c", LANGCHAIN).splitlines()[-1])
    assert [kind for kind, _, _ in heard] == ["human", "ai", "tool", "ai", "human"]
    assert heard[0][1] == heard[2][1] == LONG[:40]
    assert heard[1][2][0]["args"] == {}


def test_the_tables_are_checked_against_the_limits_that_rules_own(
    house: Path, tmp_path: Path
) -> None:
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.tables import faults
import chatmend
table = Path(chatmend.__file__).parent / "targets" / "hosts" / "acme.toml"
assert faults(table) == [], faults(table)
wrong = Path(sys.argv[2]) / "acme.toml"
wrong.write_text(table.read_text().replace("value = 40", "value = 'forty'"))
print(faults(wrong))
"""
    assert "rules.max_text_length" in run(house, "-c", code, str(ROOT), str(tmp_path))
