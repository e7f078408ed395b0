"""A synthetic corpus of training data: TRL, ShareGPT and DPO rows, of which 30 % are broken.

    python -m benchmarks.scale.corpus 1000000 corpus/         # Parquet
    python -m benchmarks.scale.corpus 1000000 corpus/ dpo     # one kind, as Parquet and JSONL

The rows depend only on their number, so every run writes the same corpus. A row has about ten
messages: questions, answers, tool calls and their results.
"""

from __future__ import annotations

import json
import random
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Message = dict[str, Any]
Row = dict[str, Any]
_BROKEN_SHARE = 0.3
_WORDS = [
    "the",
    "parcel",
    "order",
    "was",
    "shipped",
    "on",
    "monday",
    "and",
    "it",
    "arrives",
    "two",
    "days",
    "later",
    "in",
    "berlin",
]
_BATCH = 10_000
_PARTS = {"trl": 2, "sharegpt": 4, "dpo": 4}
"""The corpus is divided by this number: half of it is TRL."""


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words)).capitalize() + "."


def conversation(chance: random.Random) -> list[Message]:
    """Return a valid conversation in the format of Chat Completions."""
    messages: list[Message] = [{"role": "system", "content": "You answer questions about orders."}]
    for turn in range(chance.randint(2, 4)):
        messages.append({"role": "user", "content": _text(chance, 18)})
        if chance.random() < 0.6:
            number = f"call{turn:05d}"
            arguments = json.dumps({"order": chance.randint(1, 9_999)})
            function = {"name": "find_order", "arguments": arguments}
            calls = [{"id": number, "type": "function", "function": function}]
            messages += [
                {"role": "assistant", "content": "", "tool_calls": calls},
                {"role": "tool", "tool_call_id": number, "content": _text(chance, 12)},
            ]
        messages.append({"role": "assistant", "content": _text(chance, 30)})
    return messages


def damage(messages: list[Message], chance: random.Random) -> list[Message]:
    """Return the conversation with one defect; without tool calls, fewer defects are possible."""
    results = [at for at, message in enumerate(messages) if message["role"] == "tool"]
    broken = [dict(message) for message in messages]
    edits = _ANYWHERE if not results else (*_ANYWHERE, *_AT_RESULTS)
    chance.choice(edits)(broken, chance.choice(results) if results else 0)
    return broken


def _truncate_arguments(messages: list[Message], at: int) -> None:
    call = messages[at - 1]["tool_calls"][0]
    function = {**call["function"], "arguments": '{"order": 1, "note": "see'}
    messages[at - 1]["tool_calls"] = [{**call, "function": function}]


_ANYWHERE: tuple[Callable[[list[Message], int], object], ...] = (
    lambda m, _: m.insert(2, {"role": "tool", "tool_call_id": "call99999", "content": "lost"}),
    lambda m, _: m.insert(1, {"role": "user", "content": "Hello?"}),
    lambda m, _: m.pop(1),
    lambda m, _: m[1].update(content=""),
    lambda m, _: m[-1].update(content=None),
    lambda m, _: m[-1].update(role="bot"),
)
_AT_RESULTS: tuple[Callable[[list[Message], int], object], ...] = (
    lambda m, at: m.pop(at),
    lambda m, at: m.insert(min(at + 3, len(m) - 1), m.pop(at)),
    lambda m, at: m[at].update(tool_call_id="call99999"),
    _truncate_arguments,
)


def _messages(number: int) -> tuple[list[Message], bool]:
    """Return the conversation of a row, and whether it is broken."""
    chance = random.Random(number)  # noqa: S311 - the same corpus in every run
    messages = conversation(chance)
    if chance.random() < _BROKEN_SHARE:
        return damage(messages, chance), True
    return messages, False


def trl_row(number: int) -> Row:
    """Return a row of TRL's conversational format."""
    messages, is_broken = _messages(number)
    return {"messages": messages, "id": number, "is_broken": is_broken}


def dpo_row(number: int) -> Row:
    """Return a row with a pair of answers."""
    (*prompt, chosen), is_broken = _messages(number)
    other = {"role": "assistant", "content": "I do not know."}
    answers = {"chosen": [chosen], "rejected": [other]}
    return {"prompt": prompt, **answers, "id": number, "is_broken": is_broken}


def sharegpt_row(number: int) -> Row:
    """Return a row of ShareGPT, which has no ids and no unknown roles."""
    turns = []
    names = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}
    messages, is_broken = _messages(number)
    for message in messages:
        role, value = names.get(message["role"], "gpt"), message["content"] or ""
        for call in message.get("tool_calls") or ():
            role, value = "function_call", json.dumps(call["function"])
        turns.append({"from": role, "value": value})
    return {"conversations": turns, "id": number, "is_broken": is_broken}


KINDS = {"trl": trl_row, "sharegpt": sharegpt_row, "dpo": dpo_row}


def rows(kind: str, count: int) -> Iterator[Row]:
    """Yield the rows of one kind."""
    make = KINDS[kind]
    return (make(number) for number in range(count))


def _schema(kind: str) -> pa.Schema:
    function = pa.struct([("name", pa.string()), ("arguments", pa.string())])
    call = pa.struct([("id", pa.string()), ("type", pa.string()), ("function", function)])
    keys = [("role", pa.string()), ("content", pa.string())]
    keys += [("tool_calls", pa.list_(call)), ("tool_call_id", pa.string())]
    turn = pa.struct([("from", pa.string()), ("value", pa.string())])
    message = turn if kind == "sharegpt" else pa.struct(keys)
    columns = [(name, pa.list_(message)) for name in [*KINDS[kind](0)][:-2]]
    return pa.schema([*columns, ("id", pa.int64()), ("is_broken", pa.bool_())])


def write(folder: Path, count: int, files: int = 4) -> None:
    """Write the corpus as Parquet, half of it TRL and a quarter each ShareGPT and DPO."""
    for kind in KINDS:
        write_kind(folder / kind, None, kind, count, files)


def write_kind(folder: Path, lines: Path | None, kind: str, count: int, files: int = 4) -> None:
    """Write the rows of one kind as Parquet, and as JSONL into the folder ``lines``."""
    number = count // _PARTS[kind]
    schema, source = _schema(kind), rows(kind, number)
    for target in filter(None, (folder, lines)):
        target.mkdir(parents=True, exist_ok=True)
    for part in range(files):
        size = number // files + (part < number % files)
        with pq.ParquetWriter(folder / f"part-{part}.parquet", schema) as writer:
            while size > 0:
                batch = list(islice(source, min(size, _BATCH)))
                writer.write_table(pa.Table.from_pylist(batch, schema))
                if lines is not None:
                    with (lines / f"part-{part}.jsonl").open("a", encoding="utf-8") as file:
                        file.writelines(json.dumps(row) + "\n" for row in batch)
                size -= len(batch)


def main(count: int, folder: Path, kind: str | None = None) -> None:
    """Write all kinds as Parquet, or one kind as Parquet and JSONL."""
    if kind is None:
        write(folder, count)
    else:
        write_kind(folder / "parquet" / kind, folder / "jsonl" / kind, kind, count)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
