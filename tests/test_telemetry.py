"""The adapters report codes, counts and seconds to OpenTelemetry, on the current span, and never content."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from examples.conversation import conversation
from langchain_core.messages import HumanMessage, ToolMessage
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from chatmend import telemetry
from chatmend.langchain import repair_messages
from chatmend.litellm import ChatMend

OPENAI = "openai/gpt-4o"
SECRET = "sesame"  # noqa: S105 - message content, not a password
ORPHAN = {"role": "tool", "tool_call_id": "gone", "content": SECRET}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that reads the data points of all metrics, by name."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)
    telemetry._instruments.cache_clear()

    def read() -> dict[str, list[dict[str, Any]]]:
        data: Any = reader.get_metrics_data()
        found = json.loads(data.to_json())["resource_metrics"] if data is not None else []
        scopes = [scope for resource in found for scope in resource["scope_metrics"]]
        return {
            one["name"]: one["data"]["data_points"] for scope in scopes for one in scope["metrics"]
        }

    yield read
    telemetry._instruments.cache_clear()


def hook(callback: ChatMend, messages: list[Any], model: str = OPENAI) -> Any:
    kwargs = {"model": model, "messages": messages}
    return asyncio.run(callback.async_pre_call_deployment_hook(kwargs, "acompletion"))


def test_a_valid_request_is_measured_and_counts_no_change(told: Any) -> None:
    assert hook(ChatMend(on_error="raise"), [{"role": "user", "content": "hi"}]) is None
    assert "chatmend.changes" not in told()
    assert [point["count"] for point in told()["chatmend.repair.duration"]] == [1]


def test_a_change_is_counted_by_code_and_target(told: Any) -> None:
    hook(ChatMend(on_error="raise"), [{"role": "user", "content": "hi"}, ORPHAN, ORPHAN])
    (point,) = told()["chatmend.changes"]
    assert point["value"] == 2
    assert point["attributes"] == {
        "chatmend.code": "TOOL005",
        "chatmend.rule": "orphan-tool-result",
        "chatmend.effect": "degrades",
        "chatmend.target": OPENAI,
        "chatmend.mode": "repair",
    }


def test_what_is_only_reported_says_so(told: Any) -> None:
    hook(ChatMend(on_error="raise", mode="report"), [{"role": "user", "content": "hi"}, ORPHAN])
    assert [point["attributes"]["chatmend.mode"] for point in told()["chatmend.changes"]] == [
        "report"
    ]


def test_langchain_tells_the_same(told: Any) -> None:
    repair_messages([HumanMessage("hi"), ToolMessage(SECRET, tool_call_id="gone")], target=OPENAI)
    assert [point["attributes"]["chatmend.code"] for point in told()["chatmend.changes"]] == [
        "TOOL005"
    ]


def test_the_bytes_that_a_smaller_image_saves_are_counted(told: Any) -> None:
    hook(ChatMend(on_error="raise"), conversation(), "anthropic/claude-sonnet-4-5")
    (point,) = told()["chatmend.image.saved"]
    assert 300_000 < point["value"] < 700_000, "about 0.5 MB of PNG shrinks to about 30 kB"


def test_the_span_that_is_current_gets_an_event_a_code_and_no_content(told: Any) -> None:
    assert told() == {}
    with TracerProvider().get_tracer("test").start_as_current_span("request") as span:
        hook(ChatMend(on_error="raise"), [{"role": "user", "content": "hi"}, ORPHAN, ORPHAN])
    events: Any = span.events  # type: ignore[attr-defined]
    assert [(event.name, event.attributes["chatmend.code"]) for event in events] == [
        ("chatmend.change", "TOOL005")
    ]
    assert list(events[0].attributes["chatmend.index"]) == [1, 2]
    assert SECRET not in str([dict(event.attributes) for event in events]) + str(told())


def test_names_that_clients_make_up_do_not_become_series_without_end(told: Any) -> None:
    for number in range(telemetry.MAX_TARGETS + 50):
        telemetry.record_repair(f"openai/made-up-{number}", (), 0.001)
    names = {point["attributes"]["chatmend.target"] for point in told()["chatmend.repair.duration"]}
    assert len(names) == telemetry.MAX_TARGETS + 1
    assert "other" in names


def test_a_meter_that_fails_costs_no_repair(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told() == {}
    monkeypatch.setattr(trace, "get_current_span", lambda: 1 // 0)
    goes = hook(ChatMend(on_error="raise"), [{"role": "user", "content": "hi"}, ORPHAN])
    assert goes["messages"][1]["role"] == "user"


def test_without_opentelemetry_nothing_happens_and_nothing_is_imported() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from chatmend import telemetry\n"
        "telemetry.record_repair('openai', (), 0.001)\n"
        "assert telemetry._instruments() is None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own code


def test_an_opentelemetry_that_is_set_up_wrongly_costs_no_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> object:
        raise StopIteration

    monkeypatch.setattr(metrics, "get_meter", fails)
    telemetry._instruments.cache_clear()
    try:
        messages = [HumanMessage("hi")]
        assert repair_messages(messages, target=OPENAI) == messages
        assert (
            hook(ChatMend(on_error="raise"), [{"role": "user", "content": "hi"}, ORPHAN])[
                "messages"
            ][1]["role"]
            == "user"
        )
    finally:
        telemetry._instruments.cache_clear()
