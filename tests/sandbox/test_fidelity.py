"""The sandbox answers as recorded from the real providers; ``make fidelity`` prints the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from chatmend.sandbox import Sandbox
from tests.corpus import there
from tests.sandbox import fidelity
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not there("requests_accepted"), reason="the recorded requests are not available"
)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with Sandbox(bodies=False) as server, httpx.Client(base_url=server.url(), timeout=60) as found:
        yield found


def test_every_request_that_was_accepted_is_accepted(client: httpx.Client) -> None:
    step = examples(3, 1)
    outcomes = list(fidelity.send_accepted(client, step))
    assert [outcome for outcome in outcomes if not outcome.status_ok] == []
    assert len(outcomes) >= 1_800 // step


def test_requests_that_were_refused_are_refused_with_their_status_type_and_text(
    client: httpx.Client,
) -> None:
    outcomes = list(fidelity.send_rejected(client))
    assert [outcome for outcome in outcomes if not (outcome.status_ok and outcome.kind_ok)] == []
    assert sum(outcome.text_ok for outcome in outcomes) >= 0.9 * len(outcomes)


def test_every_trigger_of_a_recorded_rule_is_answered_as_recorded(client: httpx.Client) -> None:
    if not fidelity.recorded_rules():
        pytest.skip("the recorded rules are not here")
    outcomes = list(fidelity.send_triggers(client))
    assert [outcome for outcome in outcomes if not (outcome.status_ok and outcome.text_ok)] == []
    assert len(outcomes) >= 0.9 * len(fidelity.testable_rules())


def test_every_skipped_rule_exists() -> None:
    if not fidelity.recorded_rules():
        pytest.skip("the recorded rules are not here")
    assert fidelity.SKIPPED.keys() <= {rule["id"] for rule in fidelity.testable_rules()}
