"""``chatmend report`` counts what chatmend found in the logs of a LiteLLM proxy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from chatmend.cli import app

if TYPE_CHECKING:
    from pathlib import Path

ASKED = "The weather in Rome?"
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def entry(mode: str, **changes: int) -> dict[str, Any]:
    return {
        "guardrail_name": "chatmend",
        "guardrail_provider": "chatmend",
        "guardrail_action": mode,
        "masked_entity_count": changes,
    }


def spend_log(*entries: Any, code: str = "", **more: Any) -> dict[str, Any]:
    """Return a row of the spend logs; with ``code`` of a failed call."""
    metadata = {
        "user_api_key_alias": "bot",
        "user_api_key_team_alias": "Support",
        "guardrail_information": list(entries) or None,
        "error_information": {"error_code": code, "error_message": ASKED} if code else None,
    }
    status = "failure" if code else "success"
    row = {
        "call_type": "acompletion",
        "model": "claude-x",
        "model_group": "claude",
        "api_key": HASH,
    }
    return {**row, "status": status, "metadata": metadata, "messages": [ASKED], **more}


def payload(mode: str = "", code: str = "", **changes: int) -> dict[str, Any]:
    """Return a standard logging payload."""
    held = {"target": "openai/gpt", "mode": mode, "changes": changes}
    metadata = {"user_api_key_hash": HASH, "chatmend": held if changes else None}
    return {
        "call_type": "acompletion",
        "model_group": "gpt",
        "status": "failure" if code else "success",
        "error_information": {"error_code": code},
        "guardrail_information": None,
        "metadata": metadata,
        "messages": [{"content": ASKED}],
    }


def run(path: Path, rows: list[Any], *words: str) -> Any:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return CliRunner().invoke(app, ["report", str(path), *words])


def figures(path: Path, rows: list[Any], *words: str) -> Any:
    done = run(path, rows, *words, "--json")
    assert done.exit_code == 0, done.output
    assert ASKED not in done.output
    return json.loads(done.stdout)


def test_requests_are_counted_for_each_model_and_key(tmp_path: Path) -> None:
    rows = [
        spend_log(),
        spend_log(entry("report", TOOL007=2), code="400"),
        spend_log(entry("report", IMG001=1)),
        spend_log(entry("repair", TOOL007=1, IMG001=1)),
        spend_log(code="400"),
        spend_log(code="429"),
        payload("report", "400", TOOL005=1),
        payload(),
    ]
    found = figures(tmp_path / "log.jsonl", rows)
    assert found == [
        {
            "model": "claude", "key": "bot", "requests": 6, "refused": 2, "repairable": 1,
            "findings": 2, "repaired": 1, "rules": {"IMG001": 2, "TOOL007": 2},
        },
        {
            "model": "gpt", "key": HASH[:12], "requests": 2, "refused": 1, "repairable": 1,
            "findings": 1, "repaired": 0, "rules": {"TOOL005": 1},
        },
    ]  # fmt: skip


def test_rows_can_be_grouped_by_team(tmp_path: Path) -> None:
    (row,) = figures(tmp_path / "log.jsonl", [spend_log(), spend_log(code="400")], "--by", "team")
    assert (row["team"], row["requests"], row["refused"]) == ("Support", 2, 1)


def test_an_array_of_rows_is_read_like_lines(tmp_path: Path) -> None:
    (row,) = figures(tmp_path / "log.json", [json.dumps([spend_log(), spend_log()])])
    assert row["requests"] == 2


def test_the_metadata_may_be_a_string_of_json(tmp_path: Path) -> None:
    logged = spend_log(entry("report", TOOL007=1), code="400")
    logged["metadata"] = json.dumps(logged["metadata"])
    (row,) = figures(tmp_path / "log.jsonl", [logged])
    assert (row["key"], row["repairable"]) == ("bot", 1)


def test_entries_of_other_guardrails_and_calls_without_a_transcript_are_left_out(
    tmp_path: Path,
) -> None:
    other = {**entry("report", TOOL007=1), "guardrail_provider": "presidio"}
    rows = [spend_log(other), spend_log(call_type="aembedding"), spend_log(call_type="aimage_edit")]
    (row,) = figures(tmp_path / "log.jsonl", rows)
    assert (row["requests"], row["findings"], row["rules"]) == (1, 0, {})


def test_the_table_prints_no_control_characters_of_a_name(tmp_path: Path) -> None:
    done = run(tmp_path / "log.jsonl", [spend_log(model_group="a\u001b[31m" + "b" * 100)])
    head, line = done.stdout.splitlines()
    assert head.split() == [
        "model", "key", "requests", "refused", "repairable", "findings", "repaired", "rules",
    ]  # fmt: skip
    assert line.split()[0].isprintable()
    assert len(line.split()[0]) < 61


def test_lines_that_are_not_json_are_counted(tmp_path: Path) -> None:
    done = run(tmp_path / "log.jsonl", [spend_log(), "{", "3"])
    assert done.exit_code == 0
    assert "2 lines are not JSON objects: skipped" in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl: could not be read: No such file"),
        (["nowhere.jsonl", "--by", "colour"], "--by colour: choose from model, key, team"),
        (["postgresql://me:secret@127.0.0.1:9/none"], "the database: could not be read"),
    ],
)
def test_an_error_names_the_log_and_the_reason(words: list[str], expected: str) -> None:
    done = CliRunner().invoke(app, ["report", *words])
    assert done.exit_code == 2
    assert expected in done.stderr
    assert "secret" not in done.stderr


def test_a_log_without_requests_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path / "log.jsonl", [])
    assert (done.exit_code, done.stderr) == (2, f"no request in {tmp_path / 'log.jsonl'}\n")
