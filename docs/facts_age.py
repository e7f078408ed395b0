"""List the facts of the tables that were not checked for a while, oldest first.

    python docs/facts_age.py [DAYS]

``make facts-age`` calls it with 120 days.
"""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from chatmend.targets.explain import how_known
from chatmend.targets.tables import host_tables, maker_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTIONS = ("structure", "structure_images", "api", "limits", "images", "hygiene", "rules", "lifts")


def facts() -> Iterator[tuple[date, str, dict[str, Any]]]:
    """Yield for each fact its date, its place in the tables and the fact."""
    for table in (*host_tables(), *maker_tables()):
        for part in (table, *table.get("serves", ()), *table.get("generation", ())):
            models = f", models {', '.join(part['models'])}" if part is not table else ""
            for section in SECTIONS:
                for name, fact in part.get(section, {}).items():
                    yield fact["checked"], f"{table['file']} [{section}] {name}{models}", fact


def older_than(days: int, today: date) -> list[str]:
    """Return a line for each fact that was checked more than ``days`` before ``today``."""
    return [
        f"{(today - checked).days:4} days  {how_known(fact['source']):10}  {place}"
        for checked, place, fact in sorted(facts(), key=lambda known: known[:2])
        if (today - checked).days > days
    ]


def main() -> None:
    """Print the facts and how many there are."""
    days = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    old = older_than(days, datetime.now(tz=UTC).date())
    print("\n".join([*old, f"{len(old)} of {len(list(facts()))} facts are older than {days} days"]))


if __name__ == "__main__":
    main()
