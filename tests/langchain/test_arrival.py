"""Additions that a report lists as applied are in the request body, for every partner class."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from chatmend.langchain import mend
from chatmend.placeholders import NO_RESULT
from tests.langchain.damage import DAMAGE
from tests.langchain.test_damage import look
from tests.langchain.test_reasoning import sender
from tests.sandbox.test_langchain_clients import CLASSES, model_of
from tests.scale import sampled

SOME = ("mistral to deepseek", "openai to kimi", "litellm to kimi")
SENT = list(product([*CLASSES, *SOME], DAMAGE))


@pytest.mark.parametrize(("name", "row"), sampled(SENT, SENT[::9]))
def test_additions_that_are_reported_as_applied_are_in_the_body(
    sandbox: Any, name: str, row: str
) -> None:
    model, target = (model_of(sandbox, name), None) if name in CLASSES else sender(sandbox, name)
    wrapped = mend(model, target=target, on_error="raise", report="all")
    answer = wrapped.bind_tools([look]).invoke(DAMAGE[row])
    assert not sandbox.refusals
    body = sandbox.requests[-1].body
    reported = answer.response_metadata.get("chatmend", {"changes": []})["changes"]
    applied = Counter(change["code"] for change in reported if change["applied"])
    assert json.dumps(body).count(json.dumps(NO_RESULT)) == applied["TOOL007"]
    thoughts = [message.get("reasoning_content") for message in body.get("messages", [])]
    assert thoughts.count(" ") == applied["THINK002"]
