"""From the error text to an accepted request, with the commands of the README."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chatmend.sandbox import Sandbox
from tests.front_door import TASKS, Task, run

if TYPE_CHECKING:
    from collections.abc import Iterator

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as found:
        yield found


@pytest.mark.showpiece
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_an_error_text_leads_to_an_accepted_request(task: Task, sandbox: Sandbox) -> None:
    assert len(task.commands) <= 3
    run(task, sandbox)


def test_the_commands_and_lines_of_the_tasks_are_in_the_readme() -> None:
    for words in (
        "chatmend explain '",
        "chatmend repair chat.json --target anthropic/claude-sonnet-4-6 > repaired.json",
        "chatmend.litellm.install()",
        "from chatmend.langchain import mend",
        "http_client=chatmend.transport.client()",
    ):
        assert words in README
