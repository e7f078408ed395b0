"""The loop that a user would write without ``chatmend data``: read a line, repair, write.

    python -m benchmarks.scale.bare repair corpus/trl/part-0.jsonl ... out.jsonl

``json`` instead of ``repair`` reads and writes only.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.scale.engines import TARGET

import chatmend
from chatmend.data import repair_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Row = dict[str, Any]


def _repaired(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield repaired rows; a row with messages needs only ``chatmend.repair``."""
    policy = chatmend.Policy.train()
    for row in rows:
        if "messages" in row:
            done = chatmend.repair(row["messages"], TARGET, policy=policy)
            yield {**row, "messages": done.messages}
        else:
            (result,) = repair_rows([row], target=TARGET)
            yield result.row


def main(kind: str, *paths: str) -> None:
    """Read all files but the last, and write the last."""
    *sources, out = paths
    with open(out, "w", encoding="utf-8") as written:  # noqa: PTH123 - as in a short script
        for source in sources:
            with open(source, encoding="utf-8") as lines:  # noqa: PTH123
                rows: Iterable[Row] = map(json.loads, lines)
                written.writelines(
                    json.dumps(row) + "\n" for row in (rows if kind == "json" else _repaired(rows))
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
