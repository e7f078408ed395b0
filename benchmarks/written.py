"""Puts a table that a run has printed into a page, between two comments with its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write(page: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- NAME -->`` and ``<!-- /NAME -->``.

    Raises:
        ValueError: the page has no such place.
    """
    place = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
    new, found = place.subn(lambda match: f"{match[1]}\n{text}\n{match[2]}", page.read_text("utf-8"))
    if not found:
        raise ValueError(f"{page} has no place for {name!r}")
    page.write_text(new, "utf-8")
