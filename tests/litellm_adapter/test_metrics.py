"""The Prometheus series exist if LiteLLM's callback is enabled, wherever it is listed.

LiteLLM replaces its name by an object when it makes its first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("prometheus_client")

import litellm
import prometheus_client
from litellm.integrations.prometheus import PrometheusLogger

from chatmend.litellm import metrics
from chatmend.litellm.attempt import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def no_callbacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(litellm, "callbacks", [])
    monkeypatch.setattr(litellm, "success_callback", [])
    return


def clean_requests() -> float:
    found = prometheus_client.REGISTRY.get_sample_value(
        "chatmend_requests_total", {"outcome": "clean"}
    )
    return found or 0.0


def counted() -> float:
    before = clean_requests()
    metrics.record(Attempt("openai/gpt-4o"))
    return clean_requests() - before


@pytest.mark.usefixtures("no_callbacks")
def test_nothing_is_counted_while_the_callback_is_not_enabled() -> None:
    assert counted() == 0


@pytest.mark.usefixtures("no_callbacks")
@pytest.mark.parametrize("where", ["callbacks", "success_callback"])
@pytest.mark.parametrize("callback", ["prometheus", PrometheusLogger.__new__(PrometheusLogger)])
def test_a_request_is_counted_if_the_callback_is_enabled(
    where: str, callback: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litellm, where, [callback])
    assert counted() == 1
