"""What a fuzzing target is."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class FuzzTarget:
    """One reader of strangers' data."""

    name: str
    examine: Callable[[bytes], None]
    """Raises if chatmend does, or if a promise is broken."""
    seeds: Callable[[], list[bytes]]
    is_json: bool = False
    """Whether inputs are changed as JSON values: changed bytes would hardly ever be JSON."""


def as_json(values: list[Any]) -> list[bytes]:
    """The values as JSON texts, without those that are nested too deeply for one."""
    texts = []
    for value in values:
        with suppress(RecursionError):
            texts.append(json.dumps(value).encode())
    return texts
