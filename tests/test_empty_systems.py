"""An empty text in the system prompt next to the messages: removed from request bodies, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import litellm
import pytest

import chatmend
from chatmend.litellm import ChatMend
from chatmend.litellm.attempt import repair_attempt
from chatmend.litellm.shapes import MESSAGES
from chatmend.transport import client
from tests.judges import judge
from tests.sandbox.posting import post

CLAUDE, NOVA = "anthropic/claude-opus-4-8", "bedrock/us.amazon.nova-pro-v1:0"
CLAUDE_ON_BEDROCK = "bedrock/us.anthropic.claude-opus-4-8"
USER = {"role": "user", "content": "hi"}
ASK = {"role": "user", "content": [{"text": "hi"}]}
KIND, MARKER = {"type": "text", "text": "Be kind."}, {"cache_control": {"type": "ephemeral"}}
POINT = {"cachePoint": {"type": "default"}}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def body(system: Any, **more: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-4-8",
        "max_tokens": 9,
        "system": system,
        "messages": [USER],
        **more,
    }


def converse(system: Any) -> dict[str, Any]:
    return {"inferenceConfig": {"maxTokens": 9}, "system": system, "messages": [ASK]}


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (body("Be kind."), CLAUDE),
        (body([KIND]), CLAUDE),
        (body([KIND, text(" x ", **MARKER)]), CLAUDE),
        (body([]), CLAUDE),
        (body(None), CLAUDE),
        # No refusal of these servers is known.
        (body(""), "minimax/MiniMax-M2"),
        (body([text("")]), "ollama/llama3.1"),
        (body("", model="gpt-5"), "openai/gpt-5"),
        (converse([{"text": "Be kind."}, POINT]), NOVA),
        (converse([{"text": " "}]), NOVA),
        (converse([{"guardContent": {"text": {"text": ""}}}]), CLAUDE_ON_BEDROCK),
        ({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
          "systemInstruction": {"parts": [{"text": ""}]}}, "gemini/gemini-2.5-flash"),
    ],
)  # fmt: skip
def test_a_system_prompt_that_is_accepted_stays_the_same_object(given: Any, target: str) -> None:
    done = chatmend.repair_request(given, target)
    assert done.body is given, done.report()


def test_a_stored_conversation_keeps_its_empty_prompt() -> None:
    done = chatmend.repair([USER], CLAUDE, system="")
    assert (done.system, done.changes) == ("", ())


@pytest.mark.parametrize(
    ("system", "left"),
    [
        ("", None),
        (" \n", None),
        ([text("")], None),
        ([text(" "), text("", **MARKER)], None),
        ([text(""), KIND], [KIND]),
        ([KIND, text(" ", **MARKER)], [KIND | MARKER]),
    ],
)
@pytest.mark.parametrize("target", [CLAUDE, "vertex_ai/claude-opus-4-8", "my-server/m"])
def test_empty_texts_of_claudes_system_prompt_are_removed(
    system: Any, left: Any, target: str, own_sandbox: Any
) -> None:
    given = body(system)
    done = chatmend.repair_request(given, target)
    assert [(change.code, change.where) for change in done.changes] == [("SYS002", "system")]
    assert done.body == {key: value for key, value in body(left).items() if value is not None}
    assert done.body["messages"] is given["messages"]
    assert chatmend.repair_request(done.body, target).body is done.body
    assert judge("anthropic_messages", CLAUDE, given["messages"], system=system)
    assert judge("anthropic_messages", CLAUDE, given["messages"], system=left) == []
    url = own_sandbox.url("anthropic/v1/messages")
    assert (post(url, json=given).status_code, post(url, json=done.body).status_code) == (400, 200)


@pytest.mark.parametrize(
    ("system", "left"),
    [
        ([{"text": ""}], None),
        ([{"text": ""}, POINT], None),
        ([{"text": ""}, POINT, {"text": "Be kind."}, POINT], [{"text": "Be kind."}, POINT]),
        ([{"text": "Be kind."}, {"text": ""}, POINT], [{"text": "Be kind."}, POINT]),
    ],
)
@pytest.mark.parametrize("target", [NOVA, CLAUDE_ON_BEDROCK])
def test_empty_blocks_of_converse_are_removed(
    system: Any, left: Any, target: str, own_sandbox: Any
) -> None:
    given = converse(system)
    done = chatmend.repair_request(given, target)
    assert [change.code for change in done.changes] == ["SYS002"]
    assert done.body.get("system") == left
    assert ("system" in done.body) is (left is not None)
    assert judge("bedrock_converse", target, [ASK], system=system)
    assert judge("bedrock_converse", target, [ASK], system=left) == []
    url = own_sandbox.url(f"bedrock/model/{target.removeprefix('bedrock/')}/converse")
    assert (post(url, json=given).status_code, post(url, json=done.body).status_code) == (400, 200)


def test_white_space_is_refused_by_claude_behind_converse_too() -> None:
    done = chatmend.repair_request(converse([{"text": " "}]), CLAUDE_ON_BEDROCK)
    assert "system" not in done.body


def test_a_text_that_moves_to_an_empty_prompt_is_kept() -> None:
    rule = {"role": "system", "content": "Be brief."}
    done = chatmend.repair_request(body([text("")], messages=[rule, USER]), CLAUDE)
    assert done.body["system"] == [text("Be brief.")]
    assert done.body["messages"] == [USER]


def test_a_refusal_leads_to_the_removal_at_a_server_of_which_none_is_known() -> None:
    error = "system: text content blocks must be non-empty"
    reaction = chatmend.react(body(""), "minimax/MiniMax-M2", error)
    assert reaction is not None
    assert "system" not in reaction.body
    assert reaction.lesson is not None


@pytest.mark.parametrize("marker", [{"type": "ephemeral"}, None])
def test_the_marker_of_an_empty_text_replaces_no_other(marker: Any) -> None:
    kept = text("long", cache_control={"type": "ephemeral", "ttl": "1h"})
    done = chatmend.repair_request(body([kept, text("", cache_control=marker)]), CLAUDE)
    assert done.body["system"] == [kept]


def test_the_transport_sends_no_empty_prompt(own_sandbox: Any) -> None:
    with client(target=CLAUDE) as http:
        answer = http.post(own_sandbox.url("anthropic/v1/messages"), json=body(""))
    assert answer.status_code == 200
    assert "system" not in own_sandbox.requests[-1].body


@pytest.mark.parametrize("system", ["", [text("")]])
def test_litellms_callback_sends_no_empty_prompt(system: Any, own_sandbox: Any) -> None:
    made = repair_attempt(body(system), MESSAGES, CLAUDE)
    assert made.request is not None
    assert "system" not in made.request

    async def ask() -> Any:
        return await litellm.anthropic_messages(
            model=CLAUDE, messages=[USER], max_tokens=9, system=system, api_key="k",
            api_base=own_sandbox.url("anthropic"),
        )  # fmt: skip

    kept, litellm.callbacks = litellm.callbacks, [ChatMend()]
    try:
        assert asyncio.run(ask())
    finally:
        litellm.callbacks = kept
    assert not own_sandbox.requests[-1].body.get("system")
    assert not own_sandbox.refusals


OPUS = "anthropic/claude-opus-5"
ASKED, ANSWERED = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
EFFORT = {"role": "system", "content": [], "output_config": {"effort": "low"}}
NEW_RULE = {"role": "system", "content": "rule"}
REMINDER = {"role": "system", "content": "reminder", "clear_at": "next_user_message"}


@pytest.mark.parametrize(
    "messages",
    [
        [ASKED, NEW_RULE, REMINDER],
        [ASKED, {**NEW_RULE, "output_config": {"effort": "low"}}, REMINDER, ANSWERED, ASKED],
        [ASKED, EFFORT],
        [EFFORT, ASKED],
        [ASKED, ANSWERED, EFFORT, ASKED],
        [ASKED, EFFORT, NEW_RULE, ANSWERED, ASKED],
        [ASKED, NEW_RULE, EFFORT, ANSWERED, ASKED],
        [ASKED, EFFORT, ASKED, NEW_RULE, REMINDER],
    ],
)
@pytest.mark.parametrize("target", [OPUS, "anthropic/claude-fable-5-1", "vertex_ai/claude-opus-5"])
def test_system_messages_that_claude_accepts_in_a_row_or_without_content_stay(
    messages: list[Any], target: str
) -> None:
    for dialect in (None, "anthropic_messages"):
        assert chatmend.repair(messages, target, dialect=dialect).messages is messages


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            [ASKED, ANSWERED, NEW_RULE, REMINDER, ASKED],
            [ASKED, ANSWERED, ASKED, NEW_RULE, REMINDER],
        ),
        ([ASKED, ANSWERED, NEW_RULE, EFFORT, ASKED], [ASKED, ANSWERED, EFFORT, ASKED, NEW_RULE]),
        ([ASKED, ANSWERED, NEW_RULE, ASKED, EFFORT], [ASKED, ANSWERED, ASKED, NEW_RULE, EFFORT]),
    ],
)
def test_system_messages_that_move_behind_the_user_stay_separate(
    messages: list[Any], expected: list[Any]
) -> None:
    done = chatmend.repair(messages, OPUS, dialect="anthropic_messages")
    assert done.messages == expected
    assert chatmend.repair(expected, OPUS, dialect="anthropic_messages").messages is expected


def test_a_message_that_only_sets_the_effort_is_no_turn() -> None:
    messages = [ASKED, ANSWERED, EFFORT]
    done = chatmend.repair(messages, OPUS, dialect="anthropic_messages")
    assert done.messages == [*messages, {"role": "user", "content": "[continued]"}]


@pytest.mark.parametrize(
    ("message", "target"),
    [
        ({"role": "system", "content": []}, OPUS),
        ({**EFFORT, "output_config": {}}, OPUS),
        (EFFORT, "anthropic/claude-opus-4-8"),
        (EFFORT, "anthropic/claude-fable-5"),
    ],
)
def test_an_empty_system_message_that_sets_no_effort_is_dropped(
    message: dict[str, Any], target: str
) -> None:
    for _ in range(2):
        done = chatmend.repair([ASKED, message], target, dialect="anthropic_messages")
        assert done.messages == [ASKED]
        chatmend.repair([ASKED, EFFORT], OPUS, dialect="anthropic_messages")
