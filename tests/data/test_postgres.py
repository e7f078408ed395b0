"""``chatmend data postgresql://...`` reads LiteLLM's spend logs from a real PostgreSQL, a part at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from typer.testing import CliRunner

from chatmend.cli import app, data_postgres
from chatmend.placeholders import NO_RESULT
from tests.data.server import create_tables, running_server
from tests.data.test_formats import ANSWER, ASK, CALLING, RESULT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

QWEN = "hosted_vllm/Qwen/Qwen3-8B"
ROWS = 450


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with running_server() as address:
        create_tables(address)
        yield address


def request_of(number: int) -> dict[str, Any]:
    """Return the request body of a row: every third lacks a result."""
    messages = [ASK, CALLING, *([] if number % 3 == 0 else [RESULT]), ANSWER, ASK]
    return {"model": "qwen", "messages": messages, "temperature": None}


@pytest.fixture(scope="module")
def spend_logs(database: str) -> str:
    columns = '"request_id", "call_type", "api_key", "startTime", "endTime", "messages", "proxy_server_request"'
    with psycopg.connect(database) as connection:
        connection.cursor().executemany(
            f'INSERT INTO "LiteLLM_SpendLogs" ({columns}) VALUES (%s, %s, %s, now(), now(), %s, %s)',  # noqa: S608 - constants
            [
                (f"r{number:05d}", "acompletion", "sk-hash", "{}", json.dumps(request_of(number)))
                for number in range(ROWS)
            ],
        )
    return database


def run(address: str, out: Path, *words: str) -> Result:
    command = ["data", address, "--target", QWEN, "--out", str(out), *words]
    return CliRunner().invoke(app, command)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_spend_logs_are_repaired_into_a_file(spend_logs: str, tmp_path: Path) -> None:
    done = run(spend_logs, tmp_path / "out", "--jobs", "1")
    assert done.exit_code == 0, done.output
    assert f"{ROWS} rows: 300 valid, 150 repaired, 0 quarantined; 1 file written" in done.stdout
    rows = read(tmp_path / "out" / "LiteLLM_SpendLogs.jsonl")
    assert [row["request_id"] for row in rows] == [f"r{number:05d}" for number in range(ROWS)]
    assert rows[1]["proxy_server_request"] == request_of(1)
    assert rows[0]["proxy_server_request"]["messages"][2]["content"] == NO_RESULT
    assert rows[0]["proxy_server_request"]["temperature"] is None
    assert "api_key" not in rows[0], "hashed keys of clients are not read"


def test_all_processes_give_the_same_file(spend_logs: str, tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        assert run(spend_logs, tmp_path / jobs, "--jobs", jobs).exit_code == 0
    one, two = ((tmp_path / jobs / "LiteLLM_SpendLogs.jsonl").read_bytes() for jobs in "12")
    assert one == two


def test_the_server_sends_a_part_of_the_rows_at_a_time(
    spend_logs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_postgres, "_ROWS", 100)
    source = data_postgres.open_database(spend_logs, "LiteLLM_SpendLogs")
    assert source.chunks is not None
    chunks = source.chunks()
    first, _ = next(chunks)
    assert first.count(b"\n") == 100
    with psycopg.connect(spend_logs) as other:
        (open_cursors,) = other.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH FORWARD 100 %'"
        ).fetchone() or (0,)
    assert open_cursors == 1, "the rows are in a cursor on the server"
    assert sum(chunk.count(b"\n") for chunk, _ in chunks) == ROWS - 100


def test_texts_that_litellm_has_truncated_are_quarantined(database: str, tmp_path: Path) -> None:
    utils = pytest.importorskip("litellm.proxy.spend_tracking.spend_tracking_utils")
    long = {"model": "qwen", "messages": [{"role": "user", "content": "word " * 2000}]}
    stored = utils._sanitize_request_body_for_spend_logs_payload(long)
    with psycopg.connect(database) as connection:
        connection.execute('CREATE TABLE truncated AS SELECT * FROM "LiteLLM_SpendLogs" LIMIT 0')
        connection.execute(
            'INSERT INTO truncated ("request_id", "call_type", "proxy_server_request") VALUES (%s, %s, %s)',
            ("r1", "acompletion", json.dumps(stored)),
        )
    done = run(database, tmp_path / "out", "--table", "truncated")
    assert done.exit_code == 1
    assert "1  LiteLLM truncated a text; raise MAX_STRING_LENGTH_PROMPT_IN_DB" in done.stdout
    (row,) = read(tmp_path / "out" / "quarantine" / "truncated.jsonl")
    assert row["row"]["proxy_server_request"] == stored


def test_errors_of_the_database_do_not_print_the_password(database: str, tmp_path: Path) -> None:
    done = run(database, tmp_path / "out", "--table", "nothing")
    assert done.exit_code == 2
    assert 'relation "nothing" does not exist' in done.stderr
    closed = run("postgresql://me:secret@127.0.0.1:1/logs", tmp_path / "out")
    assert closed.exit_code == 2
    assert "secret" not in closed.output
