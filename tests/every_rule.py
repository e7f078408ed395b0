"""Every rule run on every window, to compare with what is learnt of windows."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from chatmend import engine, known_transcripts, rule_cache, rules
from chatmend.changes import Change
from tests.broken.nested import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVERY = {
    rules.RULES: tuple(replace(rule, judges=None) for rule in rules.RULES),
    rules.IMAGE_RULES: tuple(replace(rule, judges=None) for rule in rules.IMAGE_RULES),
    (): (),
}

_FIELDS = [field.name for field in fields(Change)]


@contextmanager
def every_rule() -> Iterator[None]:
    """No rule says what it judges, so each looks at every window."""
    asked, known = engine.rules_for, dict[Any, Any]()
    with (
        patch.object(engine, "rules_for", lambda *given: _EVERY[asked(*given)]),
        patch.object(known_transcripts, "_SOURCES", known),
    ):
        yield


def forget() -> None:
    """Nothing was learnt."""
    rule_cache._CACHES.clear()
    known_transcripts._SOURCES.clear()


def account(done: Any) -> str:
    """Return a digest of everything that a repair returned, for comparisons at any depth."""
    changes = [[getattr(change, name) for name in _FIELDS] for change in done.changes]
    lists = [
        [list(value) if isinstance(value, tuple) else value for value in row] for row in changes
    ]
    return digest([done.messages, done.system, done.tools, lists])
