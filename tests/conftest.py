"""Settings for every test: Hypothesis, the garbage collector, and what is printed when a test about a transcript fails."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from tests.scale import IS_NIGHTLY

try:
    from hypothesis import settings
except ImportError:  # the environment with the oldest LiteLLM runs no properties
    pass
else:
    # A quick run draws the same examples every time; a nightly run draws new ones.
    settings.register_profile("quick", deadline=None, derandomize=True, max_examples=30)
    settings.register_profile("nightly", deadline=None, print_blob=True, max_examples=500)
    settings.load_profile("nightly" if IS_NIGHTLY else "quick")

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

PROXIED = (
    "tests/litellm_adapter/test_matrix.py",
    "tests/litellm_adapter/test_proxy.py",
    "tests/litellm_adapter/test_lost_thinking.py",
)
"""The files that share one LiteLLM proxy, which takes ten seconds to start."""


@pytest.fixture
def own_sandbox() -> Iterator[Any]:
    """The sandbox, also where its pytest plugin is off because coverage is measured."""
    from chatmend.sandbox import Sandbox  # noqa: PLC0415 - not in every environment

    with Sandbox() as sandbox:
        yield sandbox


def pytest_collection() -> None:
    """Import the test files without garbage collection, which would take a third of the time."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Exclude what was imported from garbage collection, and collect more seldom: it saves a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests that need the shared proxy to `make check`."""
    for item in items:
        if "proxy" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.showpiece)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests of a file in one process, and those of ``PROXIED`` in one, too."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - not in every environment

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return PROXIED[0] if file in PROXIED else file

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the transcript of a failing test, as commands that can be pasted into a shell."""
    report = yield
    if report.failed and call.excinfo is not None:
        from tests.pasteable import from_traceback  # noqa: PLC0415 - coverage must see chatmend being imported

        if text := from_traceback(call.excinfo.tb):
            report.sections.append(("the transcript, to paste into a shell", text))
    return report
