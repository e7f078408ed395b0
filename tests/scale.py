"""How much a property tries: a few examples in ``make test``, many in ``make nightly``. The code is the same."""

from __future__ import annotations

import os
from typing import TypeVar

import pytest

T = TypeVar("T")

IS_NIGHTLY = bool(os.environ.get("CHATMEND_NIGHTLY"))
"""Whether this is a nightly run."""
nightly = pytest.mark.skipif(not IS_NIGHTLY, reason="only the nightly run tests it")
"""The mark of a test that takes many seconds and is like another one, which is always run."""


def examples(quick: int, nightly: int) -> int:
    """The number of examples for this run."""
    return nightly if IS_NIGHTLY else quick


def seeds(quick: int, nightly: int, case: int = 0) -> range:
    """The seeds for this run. In a quick run each case of a test, by its number, has other seeds than the one before."""
    if IS_NIGHTLY:
        return range(nightly)
    first = case * quick % (nightly - quick + 1)
    return range(first, first + quick)


def sampled(every: list[T], quick: list[T]) -> list[T]:
    """The parameters of a test for this run: ``quick``, which is part of ``every``, or all of them."""
    missing = [item for item in quick if item not in every]
    if missing:
        raise ValueError(f"not among the parameters of the nightly run: {missing}")
    return every if IS_NIGHTLY else quick
