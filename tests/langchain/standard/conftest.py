"""What the sandbox is to answer where it cannot know, and the comparison of bare and mended at the end."""

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
"""Tests that ask the model to think of something: the sandbox makes arguments from their schema."""

_outcomes: dict[tuple[str, str], str] = {}


@pytest.fixture(autouse=True)
def _scripted(request: pytest.FixtureRequest) -> Iterator[None]:
    name = request.node.name.partition("[")[0]
    SERVER.script(_ANSWERS.get(name, []))
    yield
    SERVER.clear()


def pytest_runtest_logreport(report: Any) -> None:
    """Remember how each test of each class ended."""
    if report.when == "call" or report.outcome != "passed":
        cls, _, name = report.nodeid.split("::", 1)[1].partition("::")
        _outcomes[cls, name] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail unless each test ended the same way for the mended class as for the bare one."""
    bare = {(cls.replace("Bare", "Mended"), name): how for (cls, name), how in _outcomes.items() if "Bare" in cls}
    other = [key for key, how in bare.items() if _outcomes.get(key) != how]
    print(f"\n{len(bare)} tests, each bare and mended: {len(other)} end differently")  # noqa: T201 - the result
    for cls, name in other:
        print(f"  {cls}::{name}: bare {bare[cls, name]}, mended {_outcomes.get((cls, name))}")  # noqa: T201
    if other:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
