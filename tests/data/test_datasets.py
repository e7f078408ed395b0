"""Hugging Face ``datasets``: one line repairs a data set, on one process or several."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from chatmend.data import repair_table
from tests.data.test_formats import ANSWER, ASK, CALLING, PLACEHOLDER, RESULT
from tests.offline import go_offline

if TYPE_CHECKING:
    from pathlib import Path

go_offline()
datasets: Any = pytest.importorskip("datasets")

QWEN = "hosted_vllm/Qwen/Qwen3-8B"
REPAIR = partial(repair_table, target=QWEN)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a data set of 300 rows: a third has a call without a result, a third no answer."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    # With several processes, datasets leaves a copy in its place, which boto3's session never sees.
    monkeypatch.setattr(os, "environ", os.environ)
    conversations = [
        [ASK, CALLING, RESULT, ANSWER],
        [ASK, CALLING, ANSWER],
        [ASK, {**ANSWER, "content": ""}],
    ]
    return datasets.Dataset.from_list([{"messages": messages} for messages in conversations * 100])


def repair(rows: Any, **options: Any) -> Any:
    return rows.with_format("arrow").map(REPAIR, batched=True, **options).with_format(None)


def test_a_data_set_is_repaired_with_one_line(rows: Any) -> None:
    done = repair(rows)
    assert done.features["messages"] == rows.features["messages"]
    assert [row["chatmend"]["status"] for row in done.select(range(3))] == [
        "valid",
        "repaired",
        "valid",
    ]
    assert done[0]["messages"] == rows[0]["messages"]
    assert done[1]["messages"][2]["content"] == PLACEHOLDER["content"]


def test_quarantined_rows_are_filtered_by_the_report(rows: Any) -> None:
    strict = partial(repair_table, target="strict")
    done = rows.with_format("arrow").map(strict, batched=True).with_format(None)
    kept = done.filter(lambda report: report["status"] != "quarantined", input_columns="chatmend")
    assert (len(done), len(kept)) == (300, 200)


def test_two_processes_give_the_same_rows(rows: Any) -> None:
    assert repair(rows, num_proc=2)[:] == repair(rows)[:]


def test_the_fingerprint_is_stable_so_that_a_repair_is_cached(rows: Any) -> None:
    assert repair(rows)._fingerprint == repair(rows)._fingerprint
