"""A pytest plugin with the fixtures ``sandbox`` and ``sandbox_server``.

pytest imports each installed plugin in every run, so this package imports nothing of chatmend
before a test uses a fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox.server import Sandbox


@pytest.fixture(scope="session")
def sandbox_server() -> Iterator[Sandbox]:
    """Run one server for the whole session, in a thread, on a free port."""
    from chatmend.sandbox import Sandbox  # noqa: PLC0415 - see above

    with Sandbox() as server:
        yield server


@pytest.fixture
def sandbox(sandbox_server: Sandbox) -> Iterator[Sandbox]:
    """Provide the server with no recorded requests and an empty script.

    ``sandbox.url("openai/v1")`` is a base URL; ``assert not sandbox.refusals`` checks that every
    request was accepted.
    """
    sandbox_server.clear()
    yield sandbox_server
    sandbox_server.clear()
