"""Repairs each folder of Parquet files with Hugging Face ``datasets``.

python -m benchmarks.scale.with_datasets corpus/parquet out/ 2
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.scale.engines import REPAIR, datasets


def main(tables: Path, out: Path, workers: int) -> None:
    """Repair TRL, ShareGPT and DPO rows one after the other."""
    for folder in sorted(tables.iterdir()):
        target = out / folder.name
        target.mkdir(parents=True)
        datasets(folder, target, workers, REPAIR)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
