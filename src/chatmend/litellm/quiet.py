"""Lookups in LiteLLM that print nothing.

LiteLLM prints a "Provider List" to standard output for a model that it does not know, such as the
name of a deployment on Azure.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

import litellm

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = RLock()
"""Held while the setting differs: otherwise a second thread would restore a changed value."""


@contextmanager
def without_prints() -> Iterator[None]:
    """Look something up in LiteLLM without its debug information on standard output."""
    with _LOCK:
        given = litellm.suppress_debug_info
        litellm.suppress_debug_info = True
        try:
            yield
        finally:
            litellm.suppress_debug_info = given
