"""Every entry point of LiteLLM: refused without chatmend, accepted with it.

``python -m tests.litellm_adapter.matrix`` prints the results as a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.litellm_adapter import entry_points, matrix

if TYPE_CHECKING:
    from tests.litellm_adapter.entry_points import Entry
    from tests.litellm_adapter.proxy import Proxy


@pytest.mark.parametrize("entry", entry_points.SDK, ids=lambda entry: entry.name)
def test_an_entry_point_is_repaired_reported_and_counted(entry: Entry, sandbox: Any) -> None:
    if not matrix.has_dialect(entry):
        pytest.skip(f"no dialect {entry.dialect} here")
    outcome = matrix.run(entry, sandbox)
    assert outcome.deviations == "", outcome.line


@pytest.mark.parametrize("entry", entry_points.PROXY, ids=lambda entry: entry.name)
def test_an_entry_point_of_the_proxy_is_repaired_reported_and_counted(
    entry: Entry, sandbox: Any, proxy: Proxy
) -> None:
    if not matrix.has_dialect(entry):
        pytest.skip(f"no dialect {entry.dialect} here")
    outcome = matrix.run_proxied(entry, sandbox, proxy)
    assert outcome.deviations == "", outcome.line
