"""A tool message that holds the block of its own result, as histories for Claude do, for every partner class."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import ToolMessage

from chatmend.langchain import mend
from tests.langchain.classes import DESTINATIONS
from tests.langchain.damage import NEXT, ONE, Q, assistant_calls
from tests.langchain.test_damage import look

BLOCKS: list[Any] = [
    {"type": "tool_result", "tool_use_id": ONE, "content": "18 degrees"},
    {
        "type": "tool_result",
        "tool_use_id": ONE,
        "content": [{"type": "text", "text": "18 degrees"}],
    },
    {"toolResult": {"toolUseId": ONE, "content": [{"text": "18 degrees"}], "status": "success"}},
]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("name", DESTINATIONS)
def test_the_content_of_the_block_is_sent_as_the_result(
    sandbox: Any, name: str, block: Any
) -> None:
    history = [Q, assistant_calls(ONE), ToolMessage([block], tool_call_id=ONE), NEXT]
    model = DESTINATIONS[name].model(sandbox)
    mend(model, on_error="raise").bind_tools([look]).invoke(history)
    assert not sandbox.refusals
    sent = json.dumps(sandbox.requests[-1].body)
    assert sent.count("18 degrees") == 1
    assert r"\"tool_result\"" not in sent
    assert r"\"toolResult\"" not in sent


@pytest.mark.parametrize("name", DESTINATIONS)
def test_the_block_of_another_call_beside_a_text_is_sent_as_text(sandbox: Any, name: str) -> None:
    blocks: Any = [
        {"type": "text", "text": "18 degrees"},
        {"type": "tool_result", "tool_use_id": "zzzzzzzz9", "content": "19 degrees"},
    ]
    history = [Q, assistant_calls(ONE), ToolMessage(blocks, tool_call_id=ONE), NEXT]
    model = DESTINATIONS[name].model(sandbox)
    mend(model, on_error="raise").bind_tools([look]).invoke(history)
    assert not sandbox.refusals
    sent = json.dumps(sandbox.requests[-1].body)
    assert "18 degrees" in sent
    assert "19 degrees" in sent
