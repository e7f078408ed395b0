"""Every rule run on every window, to compare with what is learnt of windows."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from chatmend import engine, rules, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVERY = {
    rules.RULES: tuple(replace(rule, judges=None) for rule in rules.RULES),
    rules.IMAGE_RULES: tuple(replace(rule, judges=None) for rule in rules.IMAGE_RULES),
    (): (),
}


@contextmanager
def every_rule() -> Iterator[None]:
    """No rule says what it judges, so each looks at every window."""
    asked = engine.rules_for
    with patch.object(engine, "rules_for", lambda *given: _EVERY[asked(*given)]):
        yield


def forget() -> None:
    """Nothing was learnt."""
    scan._STORES.clear()


def account(done: Any) -> tuple[Any, ...]:
    """What a repair gave: all of it, to be compared."""
    return done.messages, done.system, done.tools, done.changes
