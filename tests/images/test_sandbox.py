"""A dozen images, repaired, at every endpoint that looks at images; ``make judge`` sends all of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("litellm")

from tests.images.sandboxed import ROUTES, refused
from tests.sandbox.conftest import sandbox, sandbox_server
from tests.scale import sampled

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

__all__ = ["sandbox", "sandbox_server"]

NAMES = [
    "large screenshot", "large on its side", "tall page", "small alpha", "cmyk photo", "bmp", "still gif",
    "animated gif", "png called jpeg", "jpeg of no type", "truncated jpeg", "empty", "html",
]  # fmt: skip
"""In a quick run each target gets every sixth, beginning with another than the target before."""
REFUSED = ("truncated jpeg", "empty", "bmp")


@pytest.mark.parametrize("target", ROUTES)
def test_what_was_refused_is_accepted_once_repaired(sandbox: Sandbox, target: str) -> None:
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    wrong = (
        ("flat bomb",) if target.startswith("mistral/") else REFUSED
    )  # sides are all that is recorded of Mistral
    assert refused(sandbox, target, wrong, repair=False), "the server does not look"
    names = sampled(NAMES, NAMES[list(ROUTES).index(target) % 6 :: 6])
    assert refused(sandbox, target, names, repair=True) == {}
