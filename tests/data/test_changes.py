"""Recorded changes repeat a repair: the replayed rows and files have the same bytes."""

from __future__ import annotations

import copy
import csv
import datetime as dt
import json
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatmend import ReplayError
from chatmend.data import LayoutError, changes_table, repair_rows, replay_rows
from chatmend.data.json_values import digest, dumps, loads
from tests.broken.strategies import transcripts
from tests.data.test_files import BROKEN, HOPELESS, VALID, lines, parquet, run
from tests.data.test_formats import ANSWER, ASK, CALLING, OTHER
from tests.data.test_formats import BROKEN as BROKEN_LAYOUTS
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chatmend.data import RowResult

STRICT = "strict"


def as_text(results: list[RowResult]) -> str:
    """Return what a file would contain, with the order of keys and NaN."""
    return json.dumps([(result.row, result.status, result.error) for result in results])


def assert_replays(rows: list[Any], **options: Any) -> None:
    results = list(repair_rows(rows, **options))
    table = changes_table(results)
    replayed = list(replay_rows(copy.deepcopy(rows), table))
    assert as_text(replayed) == as_text(results)
    assert [result.rules for result in replayed] == [
        result.rules if result.status != "valid" else {} for result in results
    ]


def test_valid_rows_have_no_changes_and_stay_the_same_objects() -> None:
    rows = [VALID, VALID]
    table = changes_table(repair_rows(rows, target=STRICT))
    assert table.num_rows == 0
    assert all(r.row is row for row, r in zip(rows, replay_rows(rows, table), strict=True))


def test_the_entries_of_a_map_are_replayed() -> None:
    details = pa.map_(pa.string(), pa.list_(pa.int64()))
    message = pa.struct([("role", pa.string()), ("content", pa.string()), ("details", details)])
    said = [
        {"role": "user", "content": "a", "details": [("pages", [1, 2])]},
        {"role": "user", "content": "", "details": [("pages", [3])]},
        {"role": "assistant", "content": "b", "details": []},
    ]
    rows = pa.table({"messages": pa.array([said], pa.list_(message))}).to_pylist()
    results = list(repair_rows(rows, target=STRICT))
    (replayed,) = replay_rows(copy.deepcopy(rows), changes_table(results))
    assert replayed.row == results[0].row
    assert replayed.row["messages"][0]["details"] == [("pages", [1, 2])]


def test_a_table_of_changes_has_one_row_per_change() -> None:
    table = changes_table(repair_rows([VALID, BROKEN, HOPELESS], target=STRICT))
    first, second = table.to_pylist()
    assert (first["row"], first["status"], first["code"], first["effect"]) == (
        1,
        "repaired",
        "TOOL007",
        "adds",
    )
    assert [json.loads(text)["role"] for text in first["after"]] == ["tool"]
    assert (second["row"], second["status"], second["code"]) == (2, "quarantined", None)
    assert second["error"].startswith("empty or not in the layout")


@pytest.mark.parametrize(("name", "row", "expected"), BROKEN_LAYOUTS)
def test_every_layout_is_replayed(name: str, row: dict[str, Any], expected: dict[str, Any]) -> None:
    table = changes_table(repair_rows([row], target="hosted_vllm/Qwen/Qwen3-8B"))
    (replayed,) = replay_rows([copy.deepcopy(row)], table)
    assert (name, replayed.row) == (name, expected)


def turns(messages: list[Any]) -> dict[str, Any]:
    names = {"user": "human", "assistant": "gpt", "system": "system", "tool": "observation"}
    return {
        "conversations": [
            {"from": names.get(message.get("role"), "gpt"), "value": message.get("content")}
            for message in messages
            if isinstance(message, dict)
        ]
    }


LAYOUTS: dict[str, Callable[[list[Any]], dict[str, Any]]] = {
    "messages": lambda m: {"messages": m, "system": None, "n": float("nan")},
    "text": lambda m: {"messages": json.dumps(m)},
    "prompt-completion": lambda m: {"prompt": m[:-1], "completion": m[-1:]},
    "preference": lambda m: {"prompt": m, "chosen": [ANSWER], "rejected": [OTHER]},
    "implicit": lambda m: {"chosen": [*m, ANSWER], "rejected": [*m, OTHER]},
    "sharegpt": turns,
    "batch": lambda m: {"params": {"model": "claude", "system": "Be brief.", "messages": m}},
    "langsmith": lambda m: {"inputs": {"model": "gpt", "tools": [], "messages": m}},
    "langfuse": lambda m: {"traceId": "t", "input": json.dumps({"messages": m})},
    "spend-logs": lambda m: {
        "request_id": "r",
        "messages": m,
        "proxy_server_request": json.dumps({"model": "m", "messages": m}),
    },
}
TARGETS = (STRICT, "anthropic/claude-sonnet-4-6", "hosted_vllm/Qwen/Qwen3-8B", "gemini")
POLICIES: tuple[dict[str, str] | None, ...] = (
    None,
    {"late_results": "note"},
    {"system": "hoist"},
    {"allow": "reshapes"},
    {"duplicates": "messages"},
)


@given(
    messages=transcripts("openai_chat"),
    layout=st.sampled_from(sorted(LAYOUTS)),
    target=st.sampled_from(TARGETS),
    purpose=st.sampled_from(["train", "serve"]),
    policy=st.sampled_from(POLICIES),
)
@settings(max_examples=examples(80, 5000), suppress_health_check=list(HealthCheck))
def test_a_replay_gives_the_same_rows(
    messages: list[Any], layout: str, target: str, purpose: str, policy: dict[str, str] | None
) -> None:
    try:
        rows = json.loads(json.dumps([LAYOUTS[layout](messages)]))
    except TypeError:
        return  # JSON cannot store these messages
    try:
        assert_replays(rows, target=target, purpose=purpose, policy=policy)
    except LayoutError:
        return


def test_changes_of_another_row_are_refused() -> None:
    table = changes_table(repair_rows([VALID, BROKEN], target=STRICT))
    other = {"messages": [ASK, CALLING, OTHER]}
    with pytest.raises(ReplayError, match="row 1: the changes were recorded on a diff"):
        list(replay_rows([VALID, {"messages": [ASK, ANSWER]}], table))
    with pytest.raises(ReplayError, match="row 1: "):
        list(replay_rows([VALID, {"chosen": []}, other], table, layout="messages"))


@pytest.mark.parametrize(
    "value",
    [
        b"\x00\xff",
        dt.datetime(2026, 11, 24, 12, tzinfo=dt.UTC),
        dt.date(2026, 11, 24),
        dt.time(12, 30),
        dt.timedelta(days=-1, microseconds=5),
        {"chatmend:type": "bytes"},
        "\ud800",
        12345678901234567890123,
    ],
)
def test_values_of_tables_are_recorded_exactly(value: object) -> None:
    text = dumps([{"a": value}])
    text.encode()
    assert loads(text) == [{"a": value}]


def data_set(folder: Path) -> None:
    """Write a file of each type, with valid, broken and hopeless rows."""
    folder.mkdir()
    nulls = {"messages": [{**message, "name": None} for message in BROKEN["messages"]]}
    odd = b'{ "n":1.50,"messages": [ {"role":"user", "content":"\\u00e4"},{"role":"bot","content":"b"}]}\n'
    rows = [VALID, BROKEN, HOPELESS, nulls]
    (folder / "a.jsonl").write_bytes(b"\n" + lines(*rows) + odd + b"not JSON\n" + lines(*rows))
    (folder / "b.json").write_text(json.dumps(rows))
    parquet(folder / "c.parquet", *rows, *rows)
    with (folder / "d.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["trace_id", "input"])
        writer.writerows([["t", json.dumps([ASK, CALLING, ASK])], ["t", "x"]])
    (folder / "more").mkdir()
    (folder / "more" / "a.jsonl").write_bytes(lines(*(row for _, row, _ in BROKEN_LAYOUTS[:2])))
    (folder / "e.jsonl").write_bytes(lines(VALID, VALID))


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    paths = {path.relative_to(folder).as_posix(): path for path in found}
    return {name: path.read_bytes() for name, path in paths.items() if ".chatmend" not in name}


def test_files_are_replayed_with_the_same_bytes(tmp_path: Path) -> None:
    source, changes = tmp_path / "in", tmp_path / "changes.parquet"
    data_set(source)
    done = run(source, "--out", tmp_path / "one", "--changes", changes)
    assert done.exit_code == 1, done.output
    again = run(source, "--out", tmp_path / "two", "--replay", changes, target="")
    assert again.stdout.replace("two", "one") == done.stdout
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    assert len(contents(tmp_path / "one")) == 12
    table = pq.read_table(changes)
    assert pc.unique(table["file"]).to_pylist() == [
        "a.jsonl", "b.json", "c.parquet", "d.csv", "more/a.jsonl",
    ]  # fmt: skip
    assert "0 files written; 6 files already complete" in run(
        source, "--out", tmp_path / "two", "--replay", changes, target=""
    ).stdout  # fmt: skip


def test_all_processes_record_the_same_changes_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(*[VALID, BROKEN, HOPELESS] * 300))
    monkeypatch.setattr("chatmend.cli.data._MIN_PARALLEL_BYTES", 0)
    monkeypatch.setattr("chatmend.cli.data_files._BLOCK_BYTES", 1 << 14)
    for jobs in (1, 2):
        words = ["--out", tmp_path / str(jobs), "--jobs", jobs, "--report", "html"]
        run(tmp_path / "a.jsonl", *words, "--changes", tmp_path / f"{jobs}.parquet")
    run(tmp_path / "a.jsonl", "--out", tmp_path / "3", "--jobs", 2, "--replay", tmp_path / "2.parquet", target="")  # fmt: skip
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()
    one, two = contents(tmp_path / "1"), contents(tmp_path / "2")
    assert one == two
    assert contents(tmp_path / "3") == {k: v for k, v in one.items() if k != "report.html"}


def test_a_run_without_changes_is_not_complete_for_one_that_records_them(tmp_path: Path) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / "out"
    file.write_bytes(lines(VALID, BROKEN))
    run(file, "--out", out)
    changes = ["--out", out, "--changes", tmp_path / "changes.parquet"]
    assert "1 file written" in run(file, *changes).stdout
    (tmp_path / "changes.parquet").unlink()
    assert "0 files written; 1 file already complete" in run(file, *changes).stdout
    assert pq.read_table(tmp_path / "changes.parquet")["code"].to_pylist() == ["TOOL007"]
    assert "1 file already complete" in run(file, "--out", out).stdout


def test_changes_may_be_filtered_to_a_part_of_the_repair(tmp_path: Path) -> None:
    file, changes = tmp_path / "a.jsonl", tmp_path / "changes.parquet"
    file.write_bytes(lines(BROKEN, BROKEN, HOPELESS))
    run(file, "--out", tmp_path / "one", "--changes", changes)
    table = pq.read_table(changes)
    pq.write_table(table.filter(pc.equal(table["row"], 1)), changes)
    run(file, "--out", tmp_path / "two", "--replay", changes, target="")
    first, second, third = (tmp_path / "two" / "a.jsonl").read_bytes().splitlines(keepends=True)
    assert (first, third) == (lines(BROKEN), lines(HOPELESS))
    assert second == (tmp_path / "one" / "a.jsonl").read_bytes().splitlines(keepends=True)[1]


def test_errors_of_a_replay_name_the_row_and_the_next_step(tmp_path: Path) -> None:
    file, changes = tmp_path / "a.jsonl", tmp_path / "changes.parquet"
    file.write_bytes(lines(VALID, BROKEN, BROKEN))
    run(file, "--out", tmp_path / "one", "--changes", changes)
    two = ["--out", tmp_path / "two", "--replay"]
    file.write_bytes(lines(VALID, VALID, BROKEN))
    done = run(file, *two, changes, target="")
    assert done.exit_code == 2
    assert "a.jsonl: row 1: the changes were recorded on a different conversation" in done.stderr
    assert not (tmp_path / "two" / "a.jsonl").exists()
    file.write_bytes(lines(VALID, BROKEN))
    done = run(file, *two, changes, target="")
    assert "a.jsonl: changes of row 2, but the file has 2 rows" in done.stderr
    pq.write_table(pq.read_table(changes)[::-1], tmp_path / "turned.parquet")
    done = run(file, *two, tmp_path / "turned.parquet", target="")
    assert "not sorted by row; sort them by file and row" in done.stderr
    pq.write_table(pa.table({"messages": [1]}), tmp_path / "other.parquet")
    done = run(file, *two, tmp_path / "other.parquet", target="")
    assert "other.parquet is not a file of changes: it lacks" in done.stderr
    assert "omit --target" in run(file, *two, changes).stderr


def test_changes_without_pyarrow_name_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(VALID))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for option in ("--changes", "--replay"):
        target = "strict" if option == "--changes" else ""
        words = ["--out", tmp_path / "out", option, tmp_path / "c.parquet"]
        done = run(tmp_path / "a.jsonl", *words, target=target)
        assert done.exit_code == 2
        assert "pip install 'chatmend[data]'" in done.stderr


def test_a_value_of_hundreds_of_levels_is_recorded() -> None:
    value: Any = [("key", 1)]
    for _ in range(100):
        value = {"a": [value]}
    assert loads(dumps(value)) == value
    value = "x"
    for _ in range(600):
        value = {"a": value}
    assert dumps(value) == json.dumps(value)


def test_a_value_that_holds_itself_has_no_digest() -> None:
    value: dict[str, Any] = {}
    value["a"] = [value]
    assert digest(value) is None
