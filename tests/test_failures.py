"""A failure is explained without a word of the transcript."""

from __future__ import annotations

import re
from typing import Any

import pytest

import chatmend
from chatmend.errors import TargetError
from chatmend.failures import reason_of

TEXT = "the customer's card number"


def test_an_exception_from_elsewhere_is_its_type_alone() -> None:
    assert reason_of(ValueError(TEXT)) == "ValueError"


def test_an_exception_inside_chatmend_has_its_position_and_not_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> None:
        raise KeyError(TEXT)

    monkeypatch.setattr("chatmend.engine.rules_for", fails)
    with pytest.raises(KeyError) as caught:
        chatmend.repair(
            [{"role": "tool", "tool_call_id": "gone", "content": TEXT}], "openai/gpt-4o"
        )
    assert re.fullmatch(r"KeyError in engine\.py, line \d+", reason_of(caught.value))


def test_wrong_options_are_quoted_on_one_line() -> None:
    reason = reason_of(TargetError("no table for 'a\nb'" + "x" * 999))
    assert reason.startswith("TargetError: no table for 'a?b'x")
    assert len(reason) < 400
