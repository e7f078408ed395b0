"""Scripted answers for the standard suites, and a final comparison of bare and wrapped classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chatmend.sandbox import Reply
from tests.langchain.standard.test_standard import SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = Reply(calls=(("magic_function", {"input": 3}),))
_NAME = Reply(calls=(("unicode_customer", {"customer_name": "你好啊集团"}),))
_NAME_JP = Reply(calls=(("unicode_customer", {"customer_name": "こんにちは株式会社"}),))
_JOKE = Reply(text='{"setup": "Knock knock.", "punchline": "Who is there?"}')
_ANSWERS = {
    "test_json_mode": [_JOKE] * 6,
    "test_tool_calling": [_MAGIC, _MAGIC],
    "test_tool_calling_async": [_MAGIC, _MAGIC],
    "test_unicode_tool_call_integration": [_NAME, _NAME_JP],
}
"""Answers for tests that expect certain content; otherwise the sandbox follows the schemas."""

_outcomes: dict[tuple[str, str], str] = {}


@pytest.fixture(autouse=True)
def _scripted(request: pytest.FixtureRequest) -> Iterator[None]:
    name = request.node.name.partition("[")[0]
    SERVER.script(_ANSWERS.get(name, []))
    yield
    SERVER.clear()


def pytest_runtest_logreport(report: Any) -> None:
    """Record the outcome of each test of each class."""
    if report.when == "call" or report.outcome != "passed":
        cls, _, name = report.nodeid.split("::", 1)[1].partition("::")
        _outcomes[cls, name] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail unless each test has the same outcome for the wrapped class as for the bare one."""
    bare = {
        (cls.replace("Bare", "Mended"), name): how
        for (cls, name), how in _outcomes.items()
        if "Bare" in cls
    }
    other = [key for key, how in bare.items() if _outcomes.get(key) != how]
    print(f"\n{len(bare)} tests, each bare and wrapped: {len(other)} outcomes differ")  # noqa: T201
    for cls, name in other:
        print(f"  {cls}::{name}: bare {bare[cls, name]}, wrapped {_outcomes.get((cls, name))}")  # noqa: T201
    if other:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
