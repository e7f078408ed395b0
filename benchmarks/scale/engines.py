"""The engines, each with the one line that repairs a folder of Parquet files.

    python -m benchmarks.scale.engines polars corpus/trl repaired/ 2

Each function reads ``folder``, applies a function to record batches, and writes ``out``. The
engines are imported inside the functions, because they are installed in a separate environment.
"""

# ruff: noqa: PLC0415
from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from chatmend.data import repair_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Rows = TypeVar("Rows")
    Repair = Callable[[Any], Any]

TARGET = "hosted_vllm/Qwen/Qwen3-8B"
REPORT = (
    "struct<status:string,changes:int,effect:string,"
    "rules:array<struct<code:string,count:int>>,error:string>"
)
"""The type of the report column, for Spark."""


def bare(folder: Path, out: Path, workers: int, repair: Repair) -> None:  # noqa: ARG001 - one process
    """Repair record batches in a loop, without an engine."""
    import pyarrow.parquet as pq

    reader = repair(ds.dataset(folder).scanner().to_reader())
    with pq.ParquetWriter(out / "part.parquet", reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def datasets(folder: Path, out: Path, workers: int, repair: Repair) -> None:
    """Hugging Face ``datasets``."""
    from datasets import load_dataset

    rows = load_dataset(
        "parquet", data_files=f"{folder}/*.parquet", split="train", cache_dir=f"{out}/cache"
    )
    rows = rows.with_format("arrow").map(repair, batched=True, num_proc=workers)
    rows.with_format(None).to_parquet(out / "part.parquet")


def ray(folder: Path, out: Path, workers: int, repair: Repair) -> None:
    """Ray Data."""
    import ray as ray_
    import ray.data

    if not ray_.is_initialized():
        ray_.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    rows = ray_.data.read_parquet(str(folder)).repartition(workers * 4)
    rows = rows.map_batches(repair, batch_format="pyarrow", batch_size=1000, zero_copy_batch=True)
    rows.write_parquet(str(out))


def spark(folder: Path, out: Path, workers: int, repair: Repair) -> None:
    """Spark."""
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    session = SparkSession.builder.master(f"local[{workers},4]").getOrCreate()
    rows = session.read.parquet(str(folder)).repartition(workers * 4)
    report = StructField("chatmend", DataType.fromDDL(REPORT))
    schema = StructType([*rows.schema, *([] if repair is identity else [report])])
    rows.mapInArrow(lambda batches: map(repair, batches), schema).write.parquet(str(out / "rows"))


def polars(folder: Path, out: Path, workers: int, repair: Repair) -> None:  # noqa: ARG001 - Python runs in one thread
    """Polars."""
    import polars as pl

    rows = pl.scan_parquet(folder / "*.parquet").collect(engine="streaming")
    pl.from_arrow(repair(rows.to_arrow())).write_parquet(out / "part.parquet")


def duckdb(folder: Path, out: Path, workers: int, repair: Repair) -> None:  # noqa: ARG001 - Python runs in one thread
    """DuckDB."""
    import duckdb as duckdb_

    database = duckdb_.connect()
    reader = database.sql(f"FROM '{folder}/*.parquet'").to_arrow_reader(1000)
    repaired = repair(reader)  # noqa: F841 - DuckDB finds the variable by its name
    duckdb_.sql(f"COPY (FROM repaired) TO '{out}/part.parquet'")


def identity(rows: Rows) -> Rows:
    """Return the rows unchanged: the cost of the engine alone."""
    return rows


REPAIR = partial(repair_table, target=TARGET)
ENGINES = {run.__name__: run for run in (bare, datasets, ray, spark, polars, duckdb)}


def main(name: str, folder: Path, out: Path, workers: int) -> None:
    """Print the rows per second of a repair and of the identity map; check the repaired rows."""
    count = ds.dataset(folder).count_rows()
    speeds = []
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for label, repair in {
        "identity": identity,
        "repair": REPAIR,
    }.items():
        target = out / name / f"{label}-{workers}"
        target.mkdir(parents=True)
        start = time.perf_counter()
        ENGINES[name](folder, target, workers, repair)
        speeds.append(count / (time.perf_counter() - start))
    files = [str(path) for path in target.rglob("*.parquet")]
    done = ds.dataset(files).to_table(["id", "chatmend"])
    ids = sorted(done["id"].to_pylist())
    assert ids == list(range(count)), f"{name}: rows were lost or doubled"
    statuses = pa.compute.value_counts(
        pa.compute.struct_field(done["chatmend"], "status")
    ).to_pylist()
    counted = ", ".join(f"{one['counts']:,} {one['values']}" for one in sorted(statuses, key=str))
    speed, engine = speeds[1], speeds[0]
    print(
        f"{name:>9}  {workers} workers  {speed:>8,.0f} rows/s  (identity {engine:,.0f})  {counted}"
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
