"""``chatmend data``: files of any size come out complete, in the same type, and a killed run can be continued."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from chatmend.cli import app, data_files
from chatmend.data import repair_table
from chatmend.placeholders import NO_RESULT
from tests.data.test_formats import ANSWER, ASK, CALLING, RESULT
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

QWEN = "hosted_vllm/Qwen/Qwen3-8B"
VALID = {"messages": [ASK, CALLING, RESULT, ANSWER]}
BROKEN = {"messages": [ASK, CALLING, ANSWER]}
HOPELESS = {"messages": []}


def run(*words: object, target: str = QWEN) -> Result:
    of_target = ["--target", target] if target else []
    return CliRunner().invoke(app, ["data", *map(str, words), *of_target])


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_lines_without_a_repair_keep_their_bytes(tmp_path: Path) -> None:
    odd = b'{ "messages":[{"role":"user","content":"\\u00e4"} ,{"role":"assistant","content":"b"}],"n":12345678901234567890, "x":null }'
    file, out = tmp_path / "a.jsonl", tmp_path / "out"
    file.write_bytes(odd + b"\r\n" + lines(BROKEN, VALID) + b"\n" + lines(HOPELESS).strip())
    done = run(file, "--out", out)
    assert done.exit_code == 1
    first, second, third = (out / "a.jsonl").read_bytes().splitlines()
    assert first == odd
    assert json.loads(second)["messages"][2]["content"] == NO_RESULT
    assert third == lines(VALID).strip()
    assert json.loads((out / "quarantine" / "a.jsonl").read_bytes()) == {
        "error": "empty or not in the layout messages (messages: [{role, content}])",
        "row": HOPELESS,
    }
    assert "1  TOOL007 missing-tool-result (adds)" in done.stdout
    assert "4 rows: 2 valid, 1 repaired, 1 quarantined; 1 file written" in done.stdout


def test_numbers_beyond_64_bits_in_a_repaired_line_are_kept(tmp_path: Path) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / "out"
    file.write_bytes(lines({**BROKEN, "n": 12345678901234567890123, "f": 0.1}))
    run(file, "--out", out)
    assert b'"n": 12345678901234567890123, "f": 0.1}' in (out / "a.jsonl").read_bytes()


def test_lines_that_are_no_rows_are_quarantined_with_their_text(tmp_path: Path) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / "out"
    file.write_bytes(lines(VALID) + b'{"messages": [\n[1]\n\xff\n')
    assert run(file, "--out", out).exit_code == 1
    rows = [json.loads(line) for line in (out / "quarantine" / "a.jsonl").open()]
    assert [row["row"] for row in rows] == ['{"messages": [', [1], "\ufffd"]
    assert {row["error"] for row in rows} == {"not a JSON object"}


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv"])
@pytest.mark.parametrize(
    ("encode", "content"),
    [
        (lambda text: text.encode("utf-16"), "it is text in UTF-16"),
        (lambda text: text.encode("utf-16-be"), "it is text in UTF-16"),
        (lambda text: gzip.compress(text.encode()), "it is compressed with gzip"),
    ],
)
def test_a_file_that_is_not_utf_8_is_refused_as_a_whole(
    tmp_path: Path, suffix: str, encode: Callable[[str], bytes], content: str
) -> None:
    file, out = tmp_path / f"a{suffix}", tmp_path / "out"
    file.write_bytes(encode(lines(VALID, VALID).decode()))
    done = run(file, "--out", out)
    assert done.exit_code == 2
    assert f"{content}; the rows of a {suffix} file must be text in UTF-8" in (
        " ".join(done.output.split())
    )
    assert not (out / "quarantine" / "a.jsonl").exists()


def parquet(path: Path, *rows: dict[str, Any]) -> pa.Table:
    table = pa.Table.from_pylist(list(rows))
    table = table.replace_schema_metadata({"huggingface": '{"info": {}}'})
    pq.write_table(table, path, compression="zstd", row_group_size=3)
    return table


def test_parquet_keeps_schema_metadata_and_compression(tmp_path: Path) -> None:
    table = parquet(tmp_path / "a.parquet", VALID, BROKEN, HOPELESS, *[VALID] * 5)
    out = tmp_path / "out"
    done = run(tmp_path, "--out", out)
    assert done.exit_code == 1, done.output
    written = pq.read_table(out / "a.parquet")
    stored = pq.read_schema(tmp_path / "a.parquet")
    assert written.schema.equals(stored, check_metadata=True)
    assert pq.ParquetFile(out / "a.parquet").metadata.row_group(0).column(0).compression == "ZSTD"
    assert written["messages"].to_pylist()[0] == table["messages"].to_pylist()[0]
    assert written["messages"][1].as_py()[2]["content"] == NO_RESULT
    assert written.num_rows == 7
    bad = pq.read_table(out / "quarantine" / "a.parquet")
    assert bad["messages"].to_pylist() == [[]]
    assert bad["chatmend"][0].as_py()["status"] == "quarantined"


def test_csv_of_langfuse_holds_json_texts(tmp_path: Path) -> None:
    file, out = tmp_path / "o.csv", tmp_path / "out"
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["id", "trace_id", "input", "output"])
        writer.writerow(["1", "t", json.dumps([ASK, CALLING, ASK]), "line 1\nline 2"])
        writer.writerow(["2", "t", json.dumps([ASK]), ""])
    assert run(file, "--out", out).exit_code == 0
    with (out / "o.csv").open(newline="") as opened:
        first, second = csv.DictReader(opened)
    assert json.loads(first["input"])[2]["content"] == NO_RESULT
    assert (first["output"], second["input"]) == ("line 1\nline 2", json.dumps([ASK]))


@pytest.mark.parametrize("rows", [[VALID, BROKEN], [HOPELESS], BROKEN])
def test_json_stays_a_list_or_one_row(tmp_path: Path, rows: Any) -> None:
    file, out = tmp_path / "a.json", tmp_path / "out"
    file.write_text(json.dumps(rows))
    run(file, "--out", out, "--layout", "messages")
    written = json.loads((out / "a.json").read_text())
    if rows == [HOPELESS]:
        assert written == []
        assert (out / "quarantine" / "a.json.jsonl").read_text().count("\n") == 1
    else:
        repaired = written if isinstance(rows, dict) else written[1]
        assert repaired["messages"][2]["content"] == NO_RESULT


def test_a_completed_file_is_skipped_until_it_or_an_option_changes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(lines(VALID, BROKEN))
    assert "2 files written" in run(tmp_path, "--out", out).stdout
    again = run(tmp_path, "--out", out).stdout
    assert "0 files written; 2 files already complete" in again
    assert "4 rows: 2 valid, 2 repaired" in again
    (tmp_path / "b.jsonl").write_bytes(lines(VALID))
    assert "1 file written; 1 file already complete" in run(tmp_path, "--out", out).stdout
    assert "2 files written" in run(tmp_path, "--out", out, "--incomplete", "quarantine").stdout
    (out / "a.jsonl").unlink()
    changed = run(tmp_path, "--out", out, "--incomplete", "quarantine").stdout
    assert "1 file written; 1 file already complete" in changed


@pytest.mark.showpiece
def test_all_processes_give_the_same_files_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = examples(400, 1_500)
    rows = [VALID, BROKEN, HOPELESS, VALID] * count
    (tmp_path / "a.jsonl").write_bytes(lines(*rows))
    parquet(tmp_path / "b.parquet", *rows)
    monkeypatch.setattr("chatmend.cli.data._MIN_PARALLEL_BYTES", 0)
    monkeypatch.setattr(data_files, "_BLOCK_BYTES", 1 << 14)
    outs = [tmp_path / "one", tmp_path / "two"]
    for jobs, out in enumerate(outs, 1):
        for name in ("a.jsonl", "b.parquet"):
            done = run(tmp_path / name, "--out", out, "--jobs", jobs)
            counts = f"{2 * count:,} valid, {count:,} repaired, {count:,} quarantined"
            assert f"{4 * count:,} rows: {counts}" in done.stdout
    for name in ("a.jsonl", "quarantine/a.jsonl"):
        assert (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes()
    for name in ("b.parquet", "quarantine/b.parquet"):
        assert pq.read_table(outs[0] / name).equals(pq.read_table(outs[1] / name))


def test_a_file_and_a_table_are_repaired_alike(tmp_path: Path) -> None:
    table = parquet(tmp_path / "a.parquet", VALID, BROKEN)
    run(tmp_path / "a.parquet", "--out", tmp_path / "out")
    expected = repair_table(table, target=QWEN).drop_columns(["chatmend"])
    assert pq.read_table(tmp_path / "out" / "a.parquet").equals(expected)


@pytest.mark.showpiece
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no signals to kill with")
def test_a_killed_run_leaves_no_half_file_and_continues(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(
            lines(*[VALID, BROKEN] * (10 if name == "a.jsonl" else 3_000))
        )
    out = tmp_path / "out"
    words = [sys.executable, "-m", "chatmend", "data", str(tmp_path), "--target", QWEN]
    options = ["--out", str(out), "--changes", str(out / "changes.parquet")]
    with subprocess.Popen([*words, *options, "--jobs", "1"]) as process:  # noqa: S603 - our own command
        deadline = time.monotonic() + 60
        record = out / ".chatmend" / "a.jsonl.json"
        while not (record.exists() and any(out.glob(".chatmend-*"))):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert not (out / "b.jsonl").exists()
    done = run(tmp_path, *options)
    assert "1 file written; 1 file already complete" in done.stdout
    assert "of a killed run removed" in done.stdout
    assert (out / "b.jsonl").read_bytes().count(b"\n") == 6_000
    assert not [path for path in out.rglob(".chatmend-*") if path.is_file()]
    assert pq.read_metadata(out / "changes.parquet").num_rows == 3_010


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.jsonl"], "--out is missing, for example --out repaired/"),
        (["none.jsonl", "--out", "out"], "none.jsonl: no such file"),
        (["a.txt", "--out", "out"], "unknown file type '.txt'; known: .jsonl"),
        (["a.jsonl", "--out", "."], "choose another --out"),
        (["a.jsonl", "--out", "out", "--layout", "alpaca"], "unknown layout 'alpaca'; known layouts: "),
        (["a.jsonl", "--out", "out", "--purpose", "learn"], "purpose='learn': choose one of 'serve', 'train'"),
        (["a.jsonl", "--out", "out", "--incomplete", "x"], "incomplete='x': choose one of"),
        (["alpaca.jsonl", "--out", "out"], "alpaca.jsonl: unknown layout with the columns 'instruction', 'output'"),
        (["a.jsonl", "--out", "out", "--column", "talk"], "no column 'talk'; the columns are messages"),
        (["broken.parquet", "--out", "out"], "broken.parquet: could not be read: "),
    ],
)  # fmt: skip
def test_errors_name_the_file_and_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(lines(VALID))
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "alpaca.jsonl").write_bytes(lines({"instruction": "a", "output": "b"}))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 cut off")
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "out" / "a.jsonl").exists()


def test_serving_and_policies_are_options(tmp_path: Path) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / "out"
    file.write_bytes(lines(VALID))
    run(file, "--out", out, "--purpose", "serve", target="strict")
    assert json.loads((out / "a.jsonl").read_text())["messages"][-1]["role"] == "user"
    done = run(file, "--out", out, "--set", "allow=reshapes", target="strict")
    assert "1 row: 1 valid" in done.stdout


def test_parquet_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet(tmp_path / "a.parquet", VALID)
    (tmp_path / "b.jsonl").write_bytes(lines(VALID))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run(tmp_path, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "a.parquet: tables need pyarrow" in done.stderr
    assert "pip install 'chatmend[data]'" in done.stderr
    assert (tmp_path / "out" / "b.jsonl").read_bytes() == lines(VALID)


def test_a_folder_with_the_name_of_the_quarantine_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in" / "quarantine").mkdir(parents=True)
    (tmp_path / "in" / "quarantine" / "a.jsonl").write_bytes(lines(VALID))
    done = run(tmp_path / "in", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "the folder 'quarantine' is for output; rename it" in done.stderr
