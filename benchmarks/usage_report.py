"""Counts how often chatmend and other libraries read usage correctly (`make usage-report`).

It reads every row of the corpus whose correct counts are known. chatmend reads streams with
`UsageStream`. LiteLLM, LangChain and genai-prices have no equivalent: they get the usage merged
from all events. The table counts results, results with exact input and output, and results with
all five counts exact.
"""

import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tests.usage.recorded import FIELDS, ROWS, WHY, event, usage_of

import usage_peers
from chatmend import UsageStream, normalize_usage

NAMES = ("input", "output", "cache_read", "cache_write", "reasoning")
Reader = Callable[[dict[str, Any], dict[str, Any]], dict[str, int] | None]


def chatmend(row: dict[str, Any], _usage: dict[str, Any]) -> dict[str, int]:
    """Read the usage with chatmend."""
    if row["stream"]:
        stream = UsageStream(row["provider"], row["model"])
        for chunk in row["raw_usage"]:
            stream.feed(event(chunk))
        usage = stream.usage
    else:
        usage = normalize_usage(usage_of(row), row["provider"], row["model"])
    return {name: getattr(usage, FIELDS[name]) or 0 for name in NAMES}


def final_usage(row: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of a response; for a stream, later chunks override earlier ones."""
    if not row["stream"]:
        return usage_of(row)
    merged: dict[str, Any] = {}
    for chunk in row["raw_usage"]:
        merged.update({key: value for key, value in chunk["usage"].items() if value is not None})
    return merged


READERS: dict[str, Reader] = {
    "chatmend": chatmend,
    "LiteLLM": usage_peers.litellm,
    "LangChain": usage_peers.langchain,
    "genai-prices": usage_peers.genai_prices,
}


def main() -> int:
    """Print the table; return 1 if chatmend is not exact for every row."""
    if not ROWS:
        print(WHY)
        return 1
    rows = [row for row in ROWS if row["expected"]]
    score: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        family = row["expected"]["family"] + (" [stream]" if row["stream"] else "")
        for name, reader in READERS.items():
            found = attempt(reader, row)
            for key in ((family, name), ("all", name)):
                tally(score[key], found, row["expected"])
    families = sorted({family for family, _ in score} - {"all"})
    print(f"{'':32}{'rows':>6}  " + "  ".join(f"{name:>24}" for name in READERS))
    print(f"{'':32}{'':>6}  " + "  ".join(f"{'result in+out all five':>24}" for _ in READERS))
    for family in [*families, "all"]:
        cells = [score[family, name] for name in READERS]
        counts = "  ".join(f"{result:>8}{both:>7}{five:>9}" for _, result, both, five in cells)
        print(f"{family:32}{cells[0][0]:>6}  {counts}")
    shares = "  ".join(
        f"{'':>8}{both / total:>7.1%}{five / total:>9.1%}" for total, _, both, five in cells
    )
    print(f"{'':32}{'':>6}  {shares}")
    report_rows_without_truth()
    return 0 if score["all", "chatmend"][3] == len(rows) else 1


def attempt(reader: Reader, row: dict[str, Any]) -> dict[str, int] | None:
    """Return the counts that a library reads, or None if it raises."""
    try:
        return reader(row, final_usage(row))
    except Exception:  # noqa: BLE001 - an exception counts as no result
        return None


def tally(cell: list[int], found: dict[str, int] | None, truth: dict[str, Any]) -> None:
    """Count a row, a result, exact input and output, and five exact counts."""
    cell[0] += 1
    if found is not None:
        cell[1] += 1
        cell[2] += all(found[name] == truth[name] for name in NAMES[:2])
        cell[3] += all(found[name] == truth[name] for name in NAMES)


def report_rows_without_truth() -> None:
    """Print in how many rows without known counts chatmend finds usage, and in which not."""
    others = [row for row in ROWS if not row["expected"]]
    empty = [row["id"] for row in others if not read_usage(row).sources]
    found = len(others) - len(empty)
    print(
        f"\nrows without known counts: {len(others)}; usage found in {found}, "
        f"not found in: {empty or '-'}"
    )
    unread = sorted({path.split(".")[-1] for row in ROWS for path in read_usage(row).unread})
    print(f"numbers reported as unread: {', '.join(unread)}")


def read_usage(row: dict[str, Any]) -> Any:
    """Return chatmend's usage record of any row."""
    if not row["stream"]:
        return normalize_usage(usage_of(row), row["provider"], row["model"])
    stream = UsageStream(row["provider"], row["model"])
    for chunk in row["raw_usage"]:
        stream.feed(event(chunk))
    return stream.usage


if __name__ == "__main__":
    sys.exit(main())
