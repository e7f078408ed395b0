"""The sandbox fixtures for the LangChain tests, and the shared tables of botocore."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from chatmend.sandbox.pytest_plugin import sandbox, sandbox_server

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["sandbox", "sandbox_server"]


@pytest.fixture(scope="session", autouse=True)
def _tables_of_botocore() -> Iterator[None]:
    """Read each table of botocore once; every model of ``langchain_aws`` would read 2 MB of them again."""
    try:
        from botocore.loaders import JSONFileLoader  # noqa: PLC0415 - not in every environment
    except ImportError:
        yield
        return
    load = cache(JSONFileLoader().load_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONFileLoader, "load_file", lambda _, path: load(path))
        yield
