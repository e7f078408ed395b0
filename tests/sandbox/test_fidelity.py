"""The sandbox against what was recorded of the real providers; ``make fidelity`` prints the tables behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from chatmend.sandbox import Sandbox
from tests.corpus import there
from tests.sandbox import fidelity

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not there("requests_accepted"), reason="the recorded requests are not here")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with Sandbox(bodies=False) as server, httpx.Client(base_url=server.url(), timeout=60) as found:
        yield found


def test_everything_that_was_accepted_is_accepted(client: httpx.Client) -> None:
    outcomes = list(fidelity.accepted(client))
    assert [outcome for outcome in outcomes if not outcome.status_ok] == []
    assert len(outcomes) >= 1_800


def test_what_was_refused_is_refused_with_its_status_type_and_text(client: httpx.Client) -> None:
    outcomes = list(fidelity.rejected(client))
    assert [outcome for outcome in outcomes if not (outcome.status_ok and outcome.kind_ok)] == []
    assert sum(outcome.text_ok for outcome in outcomes) >= 0.9 * len(outcomes)


def test_every_recorded_rule_holds(client: httpx.Client) -> None:
    if not fidelity.facts():
        pytest.skip("the recorded rules are not here")
    outcomes = list(fidelity.tried(client))
    assert [outcome for outcome in outcomes if not (outcome.status_ok and outcome.text_ok)] == []
    assert len(outcomes) >= 0.9 * len(fidelity.due())


def test_every_rule_that_is_left_out_is_a_rule() -> None:
    if not fidelity.facts():
        pytest.skip("the recorded rules are not here")
    assert fidelity.LEFT_OUT.keys() <= {rule["id"] for rule in fidelity.due()}
