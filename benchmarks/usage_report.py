"""How often chatmend, LiteLLM, LangChain and genai-prices are right about recorded usage: `make usage-report`.

Every row of the corpus whose truth is known, in one run. A stream goes through `UsageStream`; the others, which have no
stream of their own, get the usage that its events add up to. Exact means input and output, and all five counts.
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
    """Our own account."""
    if row["stream"]:
        stream = UsageStream(row["provider"], row["model"])
        for chunk in row["raw_usage"]:
            stream.feed(event(chunk))
        account = stream.usage
    else:
        account = normalize_usage(usage_of(row), row["provider"], row["model"])
    return {name: getattr(account, FIELDS[name]) or 0 for name in NAMES}


def ended(row: dict[str, Any]) -> dict[str, Any]:
    """The usage of a whole answer, or what the chunks of a stream add up to by overlay."""
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
    """Print the table; fail where chatmend is not exact."""
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
    shares = "  ".join(f"{'':>8}{both / total:>7.1%}{five / total:>9.1%}" for total, _, both, five in cells)
    print(f"{'':32}{'':>6}  {shares}")
    report_silent()
    return 0 if score["all", "chatmend"][3] == len(rows) else 1


def attempt(reader: Reader, row: dict[str, Any]) -> dict[str, int] | None:
    """What a library says, or None where it fails."""
    try:
        return reader(row, ended(row))
    except Exception:  # noqa: BLE001 - a crash is no result
        return None


def tally(cell: list[int], found: dict[str, int] | None, truth: dict[str, Any]) -> None:
    """Count a row, a result, an exact input and output, and all five counts exact."""
    cell[0] += 1
    if found is not None:
        cell[1] += 1
        cell[2] += all(found[name] == truth[name] for name in NAMES[:2])
        cell[3] += all(found[name] == truth[name] for name in NAMES)


def report_silent() -> None:
    """The rows whose truth is not recorded: how many give an account, and which do not."""
    others = [row for row in ROWS if not row["expected"]]
    silent = [row["id"] for row in others if not account_of(row).sources]
    told = len(others) - len(silent)
    print(f"\nwithout a recorded truth: {len(others)} rows, {told} with an account; silent: {silent or '-'}")
    unread = sorted({path.split(".")[-1] for row in ROWS for path in account_of(row).unread})
    print(f"numbers that are listed as unread: {', '.join(unread)}")


def account_of(row: dict[str, Any]) -> Any:
    """The account of any row."""
    if not row["stream"]:
        return normalize_usage(usage_of(row), row["provider"], row["model"])
    stream = UsageStream(row["provider"], row["model"])
    for chunk in row["raw_usage"]:
        stream.feed(event(chunk))
    return stream.usage


if __name__ == "__main__":
    sys.exit(main())
