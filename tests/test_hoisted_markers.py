"""Cache markers of a system message that moves to the system prompt next to the messages."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

CLAUDE, BEDROCK = "anthropic/claude-sonnet-4-6", "bedrock/anthropic.claude-sonnet-4-6"
MARKER = {"type": "ephemeral"}
MARKED = {"type": "text", "text": "Be brief.", "cache_control": MARKER}
USER = {"role": "user", "content": [{"type": "text", "text": "q"}]}


def sent(content: Any, **body: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": content}, USER]
    given = {"max_tokens": 9, **body, "messages": messages}
    done = chatmend.repair_request(given, CLAUDE, dialect="anthropic_messages")
    assert done.body["messages"] == [USER]
    assert (
        chatmend.repair_request(done.body, CLAUDE, dialect="anthropic_messages").body is done.body
    )
    return done.body


def test_a_system_message_without_a_marker_becomes_a_text() -> None:
    assert sent("Be brief.")["system"] == "Be brief."
    assert sent([{"type": "text", "text": "Be brief."}])["system"] == "Be brief."


def test_the_marker_moves_with_its_text() -> None:
    assert sent([MARKED])["system"] == [MARKED]


def test_texts_without_a_marker_keep_their_order() -> None:
    assert sent([{"type": "text", "text": "One."}, MARKED])["system"] == [
        {"type": "text", "text": "One."},
        MARKED,
    ]


@pytest.mark.parametrize("own", ["First.", [{"type": "text", "text": "First."}]])
def test_the_system_prompt_of_the_request_stays_first(own: object) -> None:
    assert sent([MARKED], system=own)["system"] == [{"type": "text", "text": "First."}, MARKED]


def test_no_more_markers_are_sent_than_the_target_accepts() -> None:
    full = [{**MARKED, "text": f"{n}"} for n in range(4)]
    system = sent([MARKED], system=full)["system"]
    assert len(system) == 5
    assert sum("cache_control" in block for block in system) == 4


def test_a_cache_point_of_converse_moves_with_its_text() -> None:
    point = {"cachePoint": {"type": "default"}}
    user = {"role": "user", "content": [{"text": "q"}]}
    body = {"messages": [{"role": "system", "content": [{"text": "Be brief."}, point]}, user]}
    done = chatmend.repair_request(body, BEDROCK, dialect="bedrock_converse")
    assert done.body == {"messages": [user], "system": [{"text": "Be brief."}, point]}


def test_a_cache_point_without_a_text_is_not_sent() -> None:
    point = {"cachePoint": {"type": "default"}}
    user = {"role": "user", "content": [{"text": "q"}]}
    body = {"messages": [{"role": "system", "content": [{"text": ""}, point]}, user]}
    done = chatmend.repair_request(body, BEDROCK, dialect="bedrock_converse")
    assert "cachePoint" not in str(done.body)
