"""Real SDKs against the sandbox: a broken conversation is refused without the transport, accepted with it."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

import pytest

from chatmend.transport import RequestReport, async_client, client, repair_client
from chatmend.transport.calls import EXTENSION
from tests.transport.sdks import SDKS, Sdk

ASYNC = [sdk for sdk in SDKS if sdk.send_async]
STREAMS = [sdk for sdk in SDKS if sdk.streams]


def named(sdk: Sdk) -> str:
    return sdk.name


def reports_of(http: Any) -> list[RequestReport]:
    """Collect the reports of all responses that a client gets."""
    reports: list[RequestReport] = []

    def collect(response: Any) -> None:
        if EXTENSION in response.extensions:
            reports.append(response.extensions[EXTENSION])

    async def collect_async(response: Any) -> None:
        collect(response)

    is_async = type(http).__name__.startswith("Async")
    http.event_hooks = {"response": [collect_async if is_async else collect]}
    return reports


@pytest.fixture
def url(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The address of an SDK's provider in the sandbox, of which chatmend knows the provider."""

    def address(sdk: Sdk) -> str:
        pytest.importorskip(sdk.library)
        found: str = sandbox.url(sdk.path)
        monkeypatch.setenv("CHATMEND_HOSTS", f"{found}={sdk.provider}")
        return found

    return address


@pytest.mark.parametrize("sdk", SDKS, ids=named)
def test_a_broken_conversation_is_refused_without_and_accepted_with_the_transport(
    sdk: Sdk, url: Any, sandbox: Any
) -> None:
    address = url(sdk)
    with pytest.raises(Exception, match=r".") as refused:
        sdk.send(address, importlib.import_module(sdk.library).Client())
    assert sandbox.refusals, refused.value
    sandbox.clear()
    http = client(sdk.library)
    reports = reports_of(http)
    assert sdk.send(address, http) is not None
    assert not sandbox.refusals
    [report] = reports
    assert report.target.partition("/")[0] == sdk.provider
    assert [change.applied for change in report.changes if not change.finding]


@pytest.mark.parametrize("sdk", ASYNC, ids=named)
def test_asynchronous_clients_repair_too(sdk: Sdk, url: Any, sandbox: Any) -> None:
    address = url(sdk)
    http = async_client(sdk.library)
    reports = reports_of(http)
    assert asyncio.run(sdk.send_async(address, http)) is not None  # type: ignore[misc]
    assert not sandbox.refusals
    assert reports[0].changes


@pytest.mark.parametrize("sdk", STREAMS, ids=named)
def test_a_stream_of_a_repaired_request_arrives_whole(sdk: Sdk, url: Any, sandbox: Any) -> None:
    events = sdk.streams(url(sdk), client(sdk.library))  # type: ignore[misc]
    assert len(events) > 1
    assert not sandbox.refusals


@pytest.mark.parametrize(
    ("package", "sdk"), [("openai", SDKS[0]), ("anthropic", SDKS[3])], ids=["openai", "anthropic"]
)
def test_the_default_client_of_an_sdk_keeps_its_settings(
    package: str, sdk: Sdk, url: Any, sandbox: Any
) -> None:
    address = url(sdk)
    default = pytest.importorskip(package).DefaultHttpxClient()
    timeout, hooks = default.timeout, default.event_hooks
    http = repair_client(default)
    assert http is default
    assert (http.timeout, http.event_hooks, http.follow_redirects) == (timeout, hooks, True)
    assert sdk.send(address, http) is not None
    assert not sandbox.refusals
