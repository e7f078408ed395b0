"""chatmend is put into service in a real proxy: what the operator's guide promises holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("psycopg")
pytest.importorskip("prometheus_client")

import httpx
import psycopg

from tests.data.server import create_tables, running_server
from tests.litellm_adapter import operator_run
from tests.litellm_adapter.google_front import answering_for_vertex
from tests.litellm_adapter.operator_run import MASTER_KEY, RESEARCH, SUPPORT, Operation
from tests.litellm_adapter.prometheus_server import scraping
from tests.litellm_adapter.proxy import ROOT
from tests.litellm_adapter.transcripts import contents
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.showpiece, pytest.mark.random_order(disabled=True)]
"""The tests are the steps of one operation: later ones change the mode and read what earlier ones logged."""

BOARD = ROOT / "contrib/litellm/grafana/chatmend.json"
REQUESTS, TALKS = examples(80, 1_000), examples(40, 1_000)
SHARE = 0.2
_VERTEX = "/projects/p/locations/us-central1/publishers/google/models"


@pytest.fixture(scope="module")
def operation(sandbox_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operation]:
    folder = tmp_path_factory.mktemp("operated")
    with running_server() as database, answering_for_vertex(sandbox_server, folder) as variables:
        create_tables(database)
        found = Operation(sandbox_server, folder, database, variables)
        with found.proxy:
            found.make_keys()
            yield found


def test_report_mode_changes_nothing_and_the_report_has_the_exact_figures(
    operation: Operation,
) -> None:
    rows = operator_run.observe(operation, REQUESTS)
    assert {row["key"] for row in rows} == {"research-batch", "support-bot"}
    assert operation.metric("chatmend_requests_total", outcome="refused") == REQUESTS // 10
    assert operation.metric("chatmend_findings_total", code="TOOL007") == REQUESTS // 10
    assert operation.metric("chatmend_changes_total") == 0


def test_a_conversation_is_repaired_from_its_first_request_on_or_never(
    operation: Operation,
) -> None:
    assert 0 < operator_run.sample(operation, TALKS, SHARE) < TALKS


def test_all_conversations_are_repaired_and_counted(operation: Operation) -> None:
    before = operation.metric("chatmend_requests_total", outcome="repaired")
    operator_run.repair_all(operation, TALKS)
    after = operation.metric("chatmend_requests_total", outcome="repaired")
    assert after - before == 2 * TALKS
    assert operation.metric("chatmend_changes_total", code="TOOL007", effect="adds") >= 2 * TALKS
    assert operation.metric("chatmend_repair_seconds_count") >= 3 * TALKS
    assert operation.metric("chatmend_requests_total", outcome="failed") == 0


def test_an_override_applies_to_one_team(operation: Operation) -> None:
    operator_run.repair_one_team(operation)


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta/models/gem:generateContent",
        "/gemini/v1beta/models/gemini-2.5-flash:generateContent",
        f"/vertex_ai/v1{_VERTEX}/gemini-2.5-flash:generateContent",
    ],
    ids=["native", "Gemini pass-through", "Vertex pass-through"],
)
def test_an_override_for_a_team_applies_to_requests_in_geminis_format(
    operation: Operation, path: str
) -> None:
    operation.configure(mode="report", overrides=[{"teams": ["Research"], "mode": "repair"}])
    research, support = (_generate(operation, path, key) for key in (RESEARCH, SUPPORT))
    assert (research.status_code, support.status_code) == (200, 400), research.text
    assert research.headers["x-chatmend-changes"]
    assert support.headers["x-chatmend-findings"] == research.headers["x-chatmend-changes"]


def _generate(operation: Operation, path: str, key: str) -> httpx.Response:
    is_vertex = path.startswith("/vertex_ai")
    own = {"x-litellm-api-key": key, "authorization": "Bearer of-google"}
    return httpx.post(
        operation.proxy.url(path),
        json={"contents": contents()},
        headers=own if is_vertex else {"x-goog-api-key": key},
        timeout=120,
    )


def test_the_switch_file_applies_to_the_next_request(operation: Operation) -> None:
    operator_run.switch_off(operation)


def test_an_invalid_configuration_keeps_the_last_one(operation: Operation) -> None:
    operation.configure(mode="repair")
    request = operator_run.conversations(1, "invalid")[0][1]
    operation.send([request])
    operation.configure(mode="of")
    (answer,) = operation.send([request])
    assert answer.status_code == 200
    log = operation.proxy.log.read_text()
    assert "mode='of' is invalid; choose 'repair' or 'report' or 'off'" in log


def test_only_a_trusted_key_can_disable_the_repair_of_its_request(operation: Operation) -> None:
    operation.configure(mode="repair", trusted_keys=["research-*"])
    research, support = (talk[1] for talk in operator_run.conversations(2, "trusted"))
    answers = operation.send([research, support], {"x-chatmend": "off"})
    assert [answer.status_code for answer in answers] == [400, 200]


def test_the_spend_log_of_a_request_has_an_entry_for_the_admin_page(operation: Operation) -> None:
    with psycopg.connect(operation.database) as connection:
        rows = connection.execute(
            "SELECT metadata -> 'guardrail_information' -> 0, messages::text"
            " FROM \"LiteLLM_SpendLogs\" WHERE metadata ->> 'status' = 'failure'"
        ).fetchall()
    entry, stored = rows[0]
    assert (entry["guardrail_name"], entry["guardrail_action"]) == ("chatmend", "report")
    assert entry["masked_entity_count"] == {"TOOL007": 1}
    assert "Rome" not in json.dumps(entry) + stored


def test_every_query_of_the_board_has_a_result(operation: Operation, tmp_path: Path) -> None:
    address = f"127.0.0.1:{operation.proxy.port}"
    with scraping(address, MASTER_KEY, tmp_path) as prometheus:
        prometheus.wait_for("count_over_time(chatmend_requests_total[1h]) > 1")
        panels = json.loads(BOARD.read_text())["panels"]
        for query in [target["expr"] for panel in panels for target in panel["targets"]]:
            filled = query.replace("$__rate_interval", "1h").replace("$__range", "1h")
            assert prometheus.query(filled.replace("$target", ".*")), query
