"""Some files at some endpoints, and a little of the fuzzing; ``make judge`` and ``make fuzz`` try all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("litellm")

from tests.documents.files import samples
from tests.documents.fuzz import run
from tests.documents.judge import ROUTES, refused
from tests.sandbox.conftest import sandbox, sandbox_server
from tests.scale import examples, sampled

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

__all__ = ["sandbox", "sandbox_server"]

QUICK = ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"]
REFUSED = ("csv", "word")
NAMES = ["csv", "word", "wav", "pdf with a password", "pdf in gemini's form", "file of openai"]


@pytest.mark.parametrize("target", sampled(list(ROUTES), QUICK))
def test_what_was_refused_is_accepted_once_repaired(sandbox: Sandbox, target: str) -> None:
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    if target in QUICK[:2]:
        assert refused(sandbox, target, REFUSED, repair=False).keys() == set(REFUSED)
    if target == QUICK[1]:
        protected = ["pdf with a password", "pdf of unknown encryption"]
        assert refused(sandbox, target, protected, repair=False).keys() == {protected[0]}
    names = sampled(list(samples()), NAMES)
    assert refused(sandbox, target, names, repair=True) == {}


@pytest.mark.filterwarnings("ignore")
def test_no_damaged_file_raises() -> None:
    assert run(examples(8, 400), []) == 0
