"""The exact text of the messages that users see most often."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable

GPT, CLAUDE = "openai/gpt-4o", "anthropic/claude-sonnet-4-5"
USER: dict[str, Any] = {"role": "user", "content": "go"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWER = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
WORDS = {"role": "assistant", "content": "x"}
MISNAMED = {**CALL, "function": {"name": "a b", "arguments": "{}"}}
THINKING = [
    {"type": "thinking", "thinking": "x", "signature": "abc"},
    {"type": "text", "text": "y"},
]


def picture(width: int, height: int) -> dict[str, Any]:
    data = io.BytesIO()
    Image.new("RGB", (width, height)).save(data, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


REPORTS: dict[str, tuple[list[Any], str, str]] = {
    "clean": ([USER], GPT, "nothing to repair"),
    "missing result": (
        [USER, ANSWER, USER],
        GPT,
        (
            "1 change (1 added)\n"
            "messages[1]: TOOL007 missing-tool-result (adds): the call has no result; adds a tool message"
        ),
    ),
    "late result": (
        [USER, ANSWER, USER, RESULT],
        GPT,
        (
            "1 change (1 reshaped)\n"
            "messages[2]: TOOL006 late-tool-result (reshapes): the result does not directly follow its call; "
            "reorders the user message and the tool message"
        ),
    ),
    "result of an earlier turn": (
        [USER, ANSWER, USER, WORDS, USER, WORDS, RESULT],
        GPT,
        (
            "2 changes (1 added, 1 degraded)\n"
            "messages[1]: TOOL007 missing-tool-result (adds): the call has no result; adds a tool message\n"
            "messages[6]: TOOL006 late-tool-result (degrades): its call belongs to an earlier turn; "
            "turns the tool message into a user message"
        ),
    ),
    "orphan result": (
        [USER, {**RESULT, "tool_call_id": "gone"}],
        GPT,
        (
            "1 change (1 degraded)\n"
            "messages[1]: TOOL005 orphan-tool-result (degrades): its call is not in the transcript; "
            "turns the tool message into a user message"
        ),
    ),
    "duplicate result": (
        [USER, ANSWER, RESULT, RESULT],
        GPT,
        (
            "1 change (1 reshaped)\n"
            "messages[3]: TOOL004 duplicate-tool-result (reshapes): the call already has a result; "
            "drops the tool message"
        ),
    ),
    "invalid id": (
        [
            USER,
            {**ANSWER, "tool_calls": [{**CALL, "id": "a.b"}]},
            {**RESULT, "tool_call_id": "a.b"},
        ],
        CLAUDE,
        (
            "2 changes (2 reshaped)\n"
            "messages[1]: TOOL010 invalid-call-id (reshapes): the target refuses the call id; "
            "rewrites tool_calls of the assistant message\n"
            "messages[2]: TOOL010 invalid-call-id (reshapes): the target refuses the call id; "
            "rewrites tool_call_id of the tool message"
        ),
    ),
    "invalid tool name": (
        [USER, {**ANSWER, "tool_calls": [MISNAMED]}, RESULT],
        GPT,
        (
            "1 change (1 reshaped)\n"
            "messages[1]: TOOL012 invalid-tool-name (reshapes): the target refuses the tool name; "
            "rewrites tool_calls of the assistant message"
        ),
    ),
    "empty message": (
        [USER, {"role": "assistant", "content": ""}, USER],
        CLAUDE,
        (
            "1 change (1 added)\n"
            "messages[1]: TEXT004 empty-text (adds): the target refuses empty messages; "
            "rewrites content of the assistant message"
        ),
    ),
    "prefill": (
        [USER, WORDS],
        "anthropic/claude-opus-4-6",
        (
            "1 change (1 added)\n"
            "messages[1]: TURN005 trailing-assistant (adds): the target does not accept an assistant "
            "message at the end; adds a user message"
        ),
    ),
    "consecutive roles": (
        [USER, USER],
        "strict",
        (
            "1 change (1 reshaped)\n"
            "messages[0]: TURN004 consecutive-roles (reshapes): the target requires user and assistant "
            "messages to alternate; joins 2 user messages into one"
        ),
    ),
    "system message in the middle": (
        [USER, WORDS, {"role": "system", "content": "s"}, USER],
        CLAUDE,
        (
            "1 change (1 reshaped)\n"
            "messages[2]: SYS001 misplaced-system (reshapes): the target does not accept a system message "
            "at this position; turns the system message into a user message"
        ),
    ),
    "foreign thinking": (
        [USER, {"role": "assistant", "content": THINKING}, USER],
        GPT,
        (
            "1 change (1 dropped)\n"
            "messages[1]: THINK001 foreign-thinking (drops): the target does not accept this thinking; "
            "rewrites content of the assistant message"
        ),
    ),
    "lone surrogate": (
        [{"role": "user", "content": "a\ud83d"}],
        GPT,
        (
            "1 change (1 degraded)\n"
            "messages[0]: TEXT001 lone-surrogate (degrades): a lone surrogate cannot be encoded as UTF-8; "
            "rewrites content of the user message"
        ),
    ),
    "unknown part": (
        [{"role": "user", "content": [{"type": "weird"}]}],
        GPT,
        (
            "1 change (1 degraded)\n"
            "messages[0]: PART001 unknown-part (degrades): the target does not accept a content part of "
            "this type; rewrites content of the user message"
        ),
    ),
}

ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a text for messages": (
        lambda: chatmend.repair("x", GPT),  # type: ignore[arg-type]
        chatmend.TranscriptError,
        "messages must be a list, not str; pass a request body to repair_request",
    ),
    "a body without messages": (
        lambda: chatmend.repair_request({"model": "x"}, GPT),
        chatmend.TranscriptError,
        (
            "a request body must be a dict with a list under 'messages'; "
            "pass a list of messages to repair"
        ),
    ),
    "training data": (
        lambda: chatmend.repair([{"from": "human", "value": "x"}], GPT),
        chatmend.TranscriptError,
        (
            "these are rows of the ShareGPT layout ('from' and 'value'), not messages of a request; "
            "write each as {'role': ..., 'content': ...}: human is user, gpt is assistant"
        ),
    ),
    "an unknown dialect": (
        lambda: chatmend.repair([USER], GPT, dialect="x"),
        chatmend.TranscriptError,
        (
            "unknown dialect 'x'; use one of openai_chat, anthropic_messages, openai_responses, "
            "gemini_contents, bedrock_converse, ollama_chat"
        ),
    ),
    "a number for a target": (
        lambda: chatmend.repair([USER], 3),  # type: ignore[arg-type]
        chatmend.TargetError,
        "a target is a name such as 'anthropic/claude-sonnet-4-5', not int",
    ),
    "an invalid option": (
        lambda: chatmend.Policy(turns="x"),
        chatmend.PolicyError,
        "turns='x': choose one of 'merge', 'insert'",
    ),
    "an unknown policy": (
        lambda: chatmend.repair([USER], GPT, policy="nix"),
        chatmend.PolicyError,
        (
            "policy: 'nix' is not a policy; pass a chatmend.Policy, one of the names strict_alternation, "
            "provider_hygiene, drop_instead_of_note, offline, train, or a dict of fields"
        ),
    ),
    "changes of another transcript": (
        lambda: chatmend.replay([USER], chatmend.repair([USER, ANSWER, USER], GPT).changes),
        chatmend.ReplayError,
        "cannot replay TOOL007 at messages[1]: the change was recorded on a different transcript",
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_the_report_of_a_change(name: str) -> None:
    messages, target, report = REPORTS[name]
    assert chatmend.repair(messages, target).report() == report


@pytest.mark.parametrize("name", ERRORS)
def test_the_text_of_an_error(name: str) -> None:
    call, kind, text = ERRORS[name]
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == text


def test_the_report_of_a_scaled_image() -> None:
    policy = chatmend.Policy(tall="scale")
    report = chatmend.repair([picture(9000, 40)], CLAUDE, policy=policy).report()
    assert report.startswith(
        "1 change (1 degraded)\nmessages[0]: IMG007 oversized-image (degrades): "
    )
    assert "PNG, 9000 x 40, " in report
    assert "became PNG, 2000 x 8, " in report


def test_the_report_of_an_image_that_is_cut_into_tiles() -> None:
    report = chatmend.repair([picture(9000, 40)], CLAUDE).report()
    assert report.startswith(
        "1 change (1 degraded)\nmessages[0]: IMG013 illegible-image (degrades): PNG, 9000 x 40, "
    )
    assert "became 5 tiles of 1568 x 33 (PNG, together " in report
    assert "about 560 tokens instead of 56" in report


def test_the_report_of_a_change_that_the_policy_does_not_allow() -> None:
    policy = chatmend.Policy(allow=chatmend.Effect.RESHAPES)
    done = chatmend.repair([USER, {**RESULT, "tool_call_id": "gone"}], GPT, policy=policy)
    assert done.report() == (
        "1 defect left unchanged\n"
        "messages[1]: TOOL005 orphan-tool-result (degrades): its call is not in the transcript; "
        "left unchanged: the policy does not allow this change"
    )
