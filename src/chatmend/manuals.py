"""Reads the manual of each rule from its docstring, for the command line, the docs and the tests.

The paragraphs of the docstring are: a summary of the defect and further explanation; ``Why:`` with
the error message of the provider; ``Repair:``; and examples, each a transcript as JSON before and
after the repair::

    Before (mistral/mistral-large-latest):
        [{"role": "user", "content": "go"}, {"role": "assistant", "content": "partial answer"}]
    After:
        [{"role": "user", "content": "go"}, ...]

An example is a list of messages, or a request body if other parameters matter. A policy may follow
the target: ``Before (openai/gpt-4o, Policy.offline()):``.
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
from chatmend.rules import (
    FIRST,
    LAST,
    RULES,
    RequestRule,
    Rule,
    accepted_prefix,
    unknown_format,
)

_EXAMPLE = re.compile(
    r"^Before \((?P<target>[^),]+)(?:, Policy\.(?P<policy>\w+)\(\))?\):\n(?P<before>(?:    .*\n)+)"
    r"After:\n(?P<after>(?:    .*\n)+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Example:
    """A transcript before and after its repair for a target."""

    target: str
    policy: str
    """The name of a predefined policy, such as ``offline``; empty for the default."""
    before: Any
    """A list of messages or a request body."""
    after: Any
    json_texts: tuple[str, str]
    """``before`` and ``after`` as JSON, formatted as in the manual."""

    def run(self, target: str = "") -> tuple[Any, list[str]]:
        """Repair ``before`` and return the result and the codes of the changes.

        Args:
            target: another target than that of the example.
        """
        policy = getattr(Policy, self.policy)() if self.policy else None
        if isinstance(self.before, dict):
            request = repair_request(self.before, target or self.target, policy=policy)
            return request.body, [change.code for change in request.changes]
        done = repair(self.before, target or self.target, policy=policy)
        return done.messages, [change.code for change in done.changes]


@dataclass(frozen=True, slots=True)
class Manual:
    """The code, the name and the documentation of a rule."""

    code: str
    name: str
    text: str
    """The docstring of the rule."""

    @property
    def summary(self) -> str:
        """The first paragraph, which describes the defect."""
        return " ".join(self.text.partition("\n\n")[0].split())

    @property
    def prose(self) -> str:
        """The manual without its examples."""
        return _EXAMPLE.sub("", f"{self.text}\n").strip()

    @property
    def examples(self) -> list[Example]:
        """The examples in order.

        Raises:
            ValueError: an example is not JSON.
        """
        return [_parse_example(found) for found in _EXAMPLE.finditer(f"{self.text}\n")]


def _parse_example(found: re.Match[str]) -> Example:
    before, after = found["before"], found["after"]
    texts = (dedent(before).rstrip(), dedent(after).rstrip())
    return Example(
        found["target"], found["policy"] or "", json.loads(before), json.loads(after), texts
    )


@lru_cache(maxsize=1)
def manuals() -> dict[str, Manual]:
    """Return the manuals of all rules by code, sorted."""
    rules: tuple[Rule | RequestRule, ...] = (
        *RULES,
        *FIRST,
        *LAST,
        accepted_prefix.RULE,
        unknown_format.RULE,
    )
    every = {rule.code: Manual(rule.code, rule.name, rule.manual.strip()) for rule in rules}
    return dict(sorted(every.items()))


def find(word: str) -> Manual | None:
    """Return the manual for a rule's code or name, ignoring case; None if there is none."""
    wanted = word.strip().lower()
    return next((m for m in manuals().values() if wanted in (m.code.lower(), m.name)), None)
