"""The manual of each rule, read from the rules' docstrings: one text for the command line, the pages, the tests.

A manual is a docstring in paragraphs: what the rule finds (the first is the summary); ``Why:`` with the text of the
provider that refuses it; ``Repair:``; and examples, each a transcript as JSON before and after the repair::

    Before (mistral/mistral-large-latest):
        [{"role": "user", "content": "go"}, {"role": "assistant", "content": "partial answer"}]
    After:
        [{"role": "user", "content": "go"}, ...]

An example is a list of messages, or a request body where what stands beside the messages matters. Behind the target a
policy may stand: ``Before (openai/gpt-4o, Policy.offline()):``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent
from typing import Any

from chatmend.policy import Policy
from chatmend.repair import repair, repair_request
from chatmend.rules import FIRST, LAST, RULES, RequestRule, Rule, unknown_format

_EXAMPLE = re.compile(
    r"^Before \((?P<target>[^),]+)(?:, Policy\.(?P<policy>\w+)\(\))?\):\n(?P<before>(?:    .*\n)+)"
    r"After:\n(?P<after>(?:    .*\n)+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Example:
    """A transcript before and after the repair for a target."""

    target: str
    policy: str
    """The name of one of the ways to make a ``Policy``; empty for the default."""
    before: Any
    """A list of messages, or a request body."""
    after: Any
    shown: tuple[str, str]
    """Both as they stand in the manual."""

    def run(self, target: str = "") -> tuple[Any, list[str]]:
        """What a repair makes of ``before``, for the example's target or another, and the codes of its changes."""
        policy = getattr(Policy, self.policy)() if self.policy else None
        if isinstance(self.before, dict):
            request = repair_request(self.before, target or self.target, policy=policy)
            return request.body, [change.code for change in request.changes]
        done = repair(self.before, target or self.target, policy=policy)
        return done.messages, [change.code for change in done.changes]


@dataclass(frozen=True, slots=True)
class Manual:
    """What there is to know of a rule."""

    code: str
    name: str
    text: str
    """The whole manual."""

    @property
    def summary(self) -> str:
        """The first sentence: the defect."""
        return " ".join(self.text.partition("\n\n")[0].split())

    @property
    def prose(self) -> str:
        """The manual without its examples."""
        return _EXAMPLE.sub("", f"{self.text}\n").strip()

    @property
    def examples(self) -> list[Example]:
        """The examples, in order.

        Raises:
            ValueError: one is no JSON.
        """
        return [_example(found) for found in _EXAMPLE.finditer(f"{self.text}\n")]


def _example(found: re.Match[str]) -> Example:
    before, after = found["before"], found["after"]
    shown = (dedent(before).rstrip(), dedent(after).rstrip())
    return Example(found["target"], found["policy"] or "", json.loads(before), json.loads(after), shown)


@lru_cache(maxsize=1)
def manuals() -> dict[str, Manual]:
    """Every manual by code, sorted."""
    rules: tuple[Rule | RequestRule, ...] = (*RULES, *FIRST, *LAST, unknown_format.RULE)
    every = {rule.code: Manual(rule.code, rule.name, rule.manual.strip()) for rule in rules}
    return dict(sorted(every.items()))


def find(word: str) -> Manual | None:
    """The manual for a code or a name, in any case."""
    wanted = word.strip().lower()
    return next((m for m in manuals().values() if wanted in (m.code.lower(), m.name)), None)
