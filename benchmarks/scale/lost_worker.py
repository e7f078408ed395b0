"""Kills a worker of Ray or Spark in the middle of a repair; no row may be lost or doubled.

python -m benchmarks.scale.lost_worker ray corpus/trl repaired/
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
from benchmarks.scale.engines import ENGINES, TARGET

from chatmend.data import repair_table

if TYPE_CHECKING:
    import pyarrow as pa

_BATCHES_BEFORE = 3
"""Batches that are repaired before a worker is killed."""


def repair_or_die(batch: pa.RecordBatch, counts: Path) -> pa.RecordBatch:
    """Repair a batch, but kill the process of the batch after the first few, once."""
    number = len(list(counts.iterdir()))
    if number == _BATCHES_BEFORE:
        (counts / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number < _BATCHES_BEFORE:
        (counts / f"{os.getpid()}-{number}").touch()
    return repair_table(batch, target=TARGET)


def main(name: str, folder: Path, out: Path) -> None:
    """Repair a corpus while a worker is killed, and count the rows."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    counts, repaired = out.absolute() / "counts", out.absolute() / "rows"
    counts.mkdir(parents=True)
    repaired.mkdir()
    ENGINES[name](folder.absolute(), repaired, 2, partial(repair_or_die, counts=counts))
    assert (counts / "killed").exists(), "no worker was killed"
    files = [str(path) for path in repaired.rglob("*.parquet")]
    ids = sorted(ds.dataset(files).to_table(["id"])["id"].to_pylist())
    assert ids == list(range(len(ids))), f"{name}: rows were lost or doubled"
    assert len(ids) == ds.dataset(folder).count_rows(), f"{name}: rows were lost"
    print(f"{name}: a worker was killed; all {len(ids):,} rows are there once")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
