"""The example in the manual of a rule about images is what a repair does."""

from __future__ import annotations

import json
import re

import pytest

import chatmend
from chatmend.rules import IMAGE_RULES, LAST

_EXAMPLE = re.compile(r"^Before \(([^)]+)\):\n((?:    .*\n)+)After:\n((?:    .*\n)+)", re.MULTILINE)
RULES = [*IMAGE_RULES, *(rule for rule in LAST if rule.code.startswith("IMG"))]
TOO_LARGE_TO_SHOW = {"IMG008", "IMG013", "IMG015"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_example_of_a_manual_is_what_a_repair_does(rule: object) -> None:
    manual, code = rule.manual, rule.code  # type: ignore[attr-defined]
    assert "Why: " in manual
    assert "Repair: " in manual
    found = _EXAMPLE.search(manual)
    assert (found is None) == (code in TOO_LARGE_TO_SHOW)
    if found:
        done = chatmend.repair(json.loads(found[2]), found[1])
        assert done.messages == json.loads(found[3])
        assert code in [change.code for change in done.changes]
