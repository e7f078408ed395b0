"""The Prometheus series exist if LiteLLM's callback is enabled, whichever list it is in.

When LiteLLM makes its first call, it replaces the name of the callback by an object.
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


class OwnLogger(PrometheusLogger):
    """A logger of the user, derived from LiteLLM's."""


@pytest.fixture
def no_callbacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(litellm, "callbacks", [])
    monkeypatch.setattr(litellm, "success_callback", [])
    monkeypatch.setattr(litellm, "failure_callback", [])
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
@pytest.mark.parametrize("where", ["callbacks", "success_callback", "failure_callback"])
@pytest.mark.parametrize("kind", [None, PrometheusLogger, OwnLogger])
def test_a_request_is_counted_if_the_callback_is_enabled(
    where: str, kind: type[PrometheusLogger] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not initialised: each object would create LiteLLM's own series again.
    callback = "prometheus" if kind is None else kind.__new__(kind)
    monkeypatch.setattr(litellm, where, [callback])
    assert counted() == 1
