"""Writes ``training_data.ipynb`` and runs it, so that it has real outputs.

python notebooks/build_training_data.py
"""

from __future__ import annotations

import sys

from build_litellm import write

CELLS = (
    """md
# Repair training data

Rows of a training set break like requests do: a call has no result, a result no call, arguments are
cut off. Chat templates raise an error, or train the model on the damage. This notebook repairs a
small set in TRL's format, counts what changed, and looks at the rows that were set aside.

**Result.** Of five rows, four can be used for training: one was valid and is unchanged, three are repaired. The
one without an answer to learn is set aside, with its reason.""",
    """
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from chatmend.data import repair_rows, repair_table

TARGET = "hosted_vllm/Qwen/Qwen3-8B"


def call(arguments):
    function = {"name": "find_order", "arguments": arguments}
    return {"id": "call_0001", "type": "function", "function": function}


ask = {"role": "user", "content": "Where is my order 1042?"}
calling = {"role": "assistant", "content": "", "tool_calls": [call('{"order": 1042}')]}
result = {"role": "tool", "tool_call_id": "call_0001", "content": "in transit"}
answer = {"role": "assistant", "content": "It is on its way."}
conversations = {
    "valid": [ask, calling, result, answer],
    "no result": [ask, calling, answer],
    "late result": [ask, calling, ask, answer, result, ask, answer],
    "cut off": [ask, {**calling, "tool_calls": [call('{"order": 10')]}, result, answer],
    "no answer": [ask, calling, result, {"role": "assistant", "content": None}],
}
rows = [{"id": name, "messages": messages} for name, messages in conversations.items()]""",
    """md
## Tables

`repair_table` returns the same rows in the same schema, and one more column.""",
    """
table = pa.Table.from_pylist(rows)
repaired = repair_table(table, target=TARGET)
for name, report in zip(repaired["id"].to_pylist(), repaired["chatmend"].to_pylist()):
    rules = ", ".join(rule["code"] for rule in report["rules"])
    print(f"{name:12} {report['status']:12} {rules}")
assert repaired.drop_columns(["chatmend"]).schema == table.schema
assert repaired["messages"][0] == table["messages"][0]""",
    """md
## Statistics""",
    """
results = list(repair_rows(rows, target=TARGET))
statuses = Counter(result.status for result in results)
changes = Counter(
    (change.code, change.rule, change.effect.name.lower())
    for result in results
    if result.status == "repaired"
    for change in result.changes
)
print(", ".join(f"{number} {status}" for status, number in statuses.items()))
for (code, rule, effect), number in sorted(changes.items()):
    print(f"{number:3}  {code} {rule} ({effect})")""",
    """md
## A repair, side by side

The placeholder is between the call and the answer. The answer stays the end of the row.""",
    """
before, after = table["messages"][1].as_py(), repaired["messages"][1].as_py()
for title, messages in (("before", before), ("after", after)):
    print(title)
    for message in messages:
        names = [called["function"]["name"] for called in message["tool_calls"] or ()]
        print(f"  {message['role']:10} {message['content'] or 'calls ' + ', '.join(names)}")""",
    """md
## Quarantine

Rows that cannot be repaired keep their original values, and have a reason. With
`incomplete="quarantine"`, rows with a call without a result are set aside too.""",
    """
for choice in ("repair", "quarantine"):
    done = repair_table(table, target=TARGET, incomplete=choice)
    print(f"incomplete={choice!r}")
    for row in done.to_pylist():
        if row["chatmend"]["status"] == "quarantined":
            print(f"  {row['id']}: {row['chatmend']['error']}")""",
    """
usable = repaired.filter(
    pc.not_equal(pc.struct_field(repaired["chatmend"], "status"), "quarantined")
)
print(f"{usable.num_rows} of {table.num_rows} rows are usable")""",
    """md
## Record and repeat the repair

`changes_table` returns one row per change. `replay_rows` applies them to the original rows without
any rule, so a repair can be reviewed, stored and repeated.""",
    """
from chatmend.data import changes_table, replay_rows

changes = changes_table(repair_rows(rows, target=TARGET))
for change in changes.select(["row", "status", "code", "effect", "why"]).to_pylist():
    print(*change.values(), sep=" | ")
replayed = [result.row for result in replay_rows(rows, changes)]
assert replayed == [result.row for result in results]""",
    """md
## The same for files of any size

`--report html` writes a page with statistics and examples, `--changes` a Parquet file of all
changes, which `--replay` repeats with the same bytes.""",
    """
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
(folder / "train.jsonl").write_text("".join(json.dumps(row) + chr(10) for row in rows))


def chatmend(*options):
    command = [sys.executable, "-m", "chatmend", "data", "train.jsonl", *options]
    plain = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=plain)
    return done.stdout.rstrip()


print(chatmend("--target", TARGET, "--out", "out", "--report", "html", "--changes", "c.parquet"))
chatmend("--replay", "c.parquet", "--out", "replayed")
for name in ("train.jsonl", "quarantine/train.jsonl"):
    assert (folder / "replayed" / name).read_bytes() == (folder / "out" / name).read_bytes()""",
    """md
`chatmend data train.parquet --target hosted_vllm/Qwen/Qwen3-8B --out repaired/` does the same for
files of any size.""",
)


if __name__ == "__main__":
    sys.exit(write(CELLS, "training_data.ipynb"))
