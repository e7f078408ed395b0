"""Writes the table of a benchmark into a Markdown page, between two comments with its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def replace_section(page: Path, name: str, text: str) -> None:
    """Replace the text between ``<!-- NAME -->`` and ``<!-- /NAME -->``.

    Raises:
        ValueError: the page does not have these comments.
    """
    section = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
    new, found = section.subn(
        lambda match: f"{match[1]}\n{text}\n{match[2]}", page.read_text("utf-8")
    )
    if not found:
        raise ValueError(f"{page}: add the comments <!-- {name} --> and <!-- /{name} -->")
    page.write_text(new, "utf-8")
