"""Arguments with a ``Decimal``, as a history that was read from DynamoDB holds them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("langchain_anthropic")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from chatmend.transcript import is_unchanged
from tests.langchain.classes import DESTINATIONS


@pytest.mark.parametrize("place", ["tool_calls", "content"])
@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "gemini", "bedrock nova"])
def test_a_decimal_in_arguments_is_sent_as_a_number(sandbox: Any, name: str, place: str) -> None:
    args = {"count": Decimal(2), "share": [Decimal("1.5")]}
    call = {"name": "look", "args": args, "id": "call_abcd1", "type": "tool_call"}
    use = {"type": "tool_use", "id": "call_abcd1", "name": "look", "input": args}
    content = [{"type": "text", "text": "I look."}, use] if place == "content" else ""
    history = [
        HumanMessage("q"),
        AIMessage(content, tool_calls=[call]),
        ToolMessage("r", tool_call_id="call_abcd1"),
    ]
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    once = list(prepare(model, history, {}).messages)
    assert is_unchanged(once, prepare(model, once, {}).messages)
    report = model.invoke(history).response_metadata["chatmend"]
    assert ("TOOL013", True) in [(one["code"], one["applied"]) for one in report["changes"]]
    body = json.dumps(sandbox.requests[-1].body).replace("\\", "")
    assert '"count": 2' in body
    assert '"share": [1.5]' in body
    kept = history[1].tool_calls[0]["args"]  # type: ignore[attr-defined]
    assert isinstance(kept["count"], Decimal)
