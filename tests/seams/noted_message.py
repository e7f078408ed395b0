"""A message with a key ``x_note``.

Why: ``x_note: unknown field`` (Acme).

Repair: the key is left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.rules.rule import STRUCTURE, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with the key."""
    if context.limits.of("no_notes") is None:
        return
    for at, message in enumerate(window.messages):
        if "x_note" in message.extra:
            becomes = replace(message, omitted_keys=message.omitted_keys | {"x_note"})
            yield Fix(at, at + 1, (becomes,), "the target refuses the key")


RULE = Rule("KEY900", "noted-message", find, STRUCTURE, own_limits={"no_notes": bool})
