"""Reports which tests cost most CPU time: ``python -m pytest -p tests.cpu``, or ``make slow-tests``.

CPU time includes fixtures, threads and finished child processes, and is nearly the same on a busy
machine. The report lists the most expensive files and tests, and the time outside tests: imports,
collection and pytest itself.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

SHOWN = 25


def cpu_time() -> float:
    """The CPU time in seconds of this process and of its finished child processes."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class CpuTimes:
    """The CPU time of each test, also of tests that other processes ran."""

    def __init__(self) -> None:
        self._last = 0.0
        self._by_test: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._last = cpu_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the time since the report before to the report, which xdist sends to its controller."""
        report = yield
        now = cpu_time()
        report.cpu_time, self._last = now - self._last, now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._by_test[report.nodeid] += getattr(report, "cpu_time", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        by_file: Counter[str] = Counter()
        tests: Counter[str] = Counter()
        for nodeid, seconds in self._by_test.items():
            file = nodeid.partition("::")[0]
            by_file[file] += seconds
            tests[file] += 1
        total = by_file.total()
        terminalreporter.section("CPU time in seconds")
        terminalreporter.write_line(f"{total:8.1f}  {len(self._by_test)} tests")
        terminalreporter.write_line(f"{cpu_time() - total:8.1f}  this process outside tests")
        for file, seconds in by_file.most_common(SHOWN * 2):
            terminalreporter.write_line(f"{seconds:8.1f}  {file} ({tests[file]} tests)")
        terminalreporter.section("CPU time of tests")
        for nodeid, seconds in self._by_test.most_common(SHOWN * 2):
            terminalreporter.write_line(f"{seconds:8.2f}  {nodeid}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CpuTimes(), "cpu-times")
