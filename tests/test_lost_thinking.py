"""Tool loops without the thinking that Claude's manual mode requires at their beginning (THINK008)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from chatmend import Effect, Policy
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Callable

CLAUDE = "anthropic/claude-sonnet-4-5"
MANUAL = {"type": "enabled", "budget_tokens": 2048}
OFF = {"type": "disabled"}
TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]
ASK, NEXT = {"role": "user", "content": "go"}, {"role": "user", "content": "and now?"}
THOUGHT = {"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"}
WORD = {"type": "text", "text": "I look."}
ANSWER = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Done."}]}


def call(number: int, *before: Any) -> dict[str, Any]:
    used = {"type": "tool_use", "id": f"toolu_{number}", "name": "f", "input": {}}
    return {"role": "assistant", "content": [*before, used]}


def result(number: int, *after: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"r{number}"}
    return {"role": "user", "content": [block, *after]}


def body(*messages: Any, thinking: Any = MANUAL, **more: Any) -> dict[str, Any]:
    base = {"model": "m", "max_tokens": 4096, "messages": list(messages), "tools": TOOLS, **more}
    return base if thinking is None else {**base, "thinking": thinking}


LOST = body(ASK, call(1), result(1))


@pytest.mark.parametrize(
    "given",
    [
        body(ASK),
        body(ASK, call(1, THOUGHT), result(1)),
        body(ASK, call(1, REDACTED), result(1)),
        # Without interleaved thinking, the model thinks only in the first turn of a loop.
        body(ASK, call(1, THOUGHT), result(1), call(2), result(2), call(3, WORD), result(3)),
        # A text of the user, after an answer, ends the loop.
        body(ASK, call(1), result(1), ANSWER, NEXT),
        body(ASK, call(1), result(1), ANSWER, NEXT, call(2, THOUGHT), result(2)),
        body(ASK, call(1), result(1), thinking=None),
        body(ASK, call(1), result(1), thinking=OFF),
    ],
)
def test_loops_that_are_accepted_stay_the_same_object(given: Any) -> None:
    assert chatmend.repair_request(given, CLAUDE).body is given


@pytest.mark.parametrize(
    "target", ["anthropic/claude-opus-4-7", "anthropic/claude-sonnet-5", "openai/gpt-5", "other"]
)
def test_models_without_manual_mode_need_nothing(target: str) -> None:
    assert not {change.code for change in chatmend.repair_request(LOST, target).changes} & {
        "THINK008"
    }


def test_adaptive_thinking_of_a_model_with_both_modes_needs_nothing() -> None:
    given = body(ASK, call(1), result(1), thinking={"type": "adaptive"})
    assert chatmend.repair_request(given, "anthropic/claude-opus-4-6").body is given


@pytest.mark.parametrize(
    "target",
    [
        "anthropic", "anthropic/claude-3-7-sonnet-20250219", "anthropic/claude-opus-4-20250514",
        "anthropic/claude-opus-4-1", "anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-6",
        "bedrock/us.anthropic.claude-sonnet-4-20250514-v1:0", "vertex_ai/claude-sonnet-4@20250514",
        "openrouter/anthropic/claude-3.7-sonnet", "github_copilot/claude-sonnet-4",
        "snowflake/claude-4-sonnet",
    ],
)  # fmt: skip
def test_thinking_is_disabled_and_no_message_changes(target: str) -> None:
    done = chatmend.repair_request(LOST, target)
    assert done.body == {**LOST, "thinking": OFF}
    assert done.body["messages"] is LOST["messages"]
    (change,) = done.changes
    assert (change.code, change.effect, change.where) == ("THINK008", Effect.DEGRADES, "thinking")
    assert (change.before, change.after, change.applied) == ((MANUAL,), (OFF,), True)
    assert chatmend.repair_request(done.body, target).body is done.body


def test_it_stays_disabled_until_the_loop_ends_and_then_returns() -> None:
    messages = [ASK, call(1), result(1), call(2), result(2), call(3, WORD), result(3)]
    for end in (3, 5, 7):
        done = chatmend.repair_request(body(*messages[:end]), CLAUDE)
        assert done.body["thinking"] == OFF
        assert done.body["messages"] == messages[:end]
    ended = body(*messages, {"role": "assistant", "content": "Done."}, NEXT)
    assert chatmend.repair_request(ended, CLAUDE).body is ended


def test_a_text_next_to_the_results_does_not_end_the_loop() -> None:
    given = body(ASK, call(1), result(1, WORD))
    assert chatmend.repair_request(given, CLAUDE).body["thinking"] == OFF


def test_repair_returns_the_parameter() -> None:
    done = chatmend.repair(LOST["messages"], CLAUDE, tools=TOOLS, thinking=MANUAL)
    assert done.messages is LOST["messages"]
    assert done.thinking == OFF
    assert chatmend.repair(LOST["messages"], CLAUDE, thinking=OFF).thinking is OFF
    assert chatmend.check(LOST["messages"], CLAUDE, thinking="low")[0].after == (None,)


def test_thinking_of_another_model_does_not_count() -> None:
    foreign = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    done = chatmend.repair_request(body(ASK, call(1, foreign), result(1)), CLAUDE)
    assert done.body == {**LOST, "thinking": OFF}
    assert [change.code for change in done.changes] == ["THINK001", "THINK008"]


def test_thinking_at_another_position_is_removed_and_stays_removed() -> None:
    messages = [ASK, call(1, WORD, THOUGHT), result(1)]
    done = chatmend.repair_request(body(*messages), CLAUDE)
    sent = [ASK, call(1, WORD), result(1)]
    assert done.body == body(*sent, thinking=OFF)
    assert [change.effect for change in done.changes] == [Effect.DROPS, Effect.DEGRADES]
    assert chatmend.replay(messages, done.changes) == sent
    later = chatmend.repair_request(body(*messages, ANSWER, NEXT), CLAUDE)
    assert later.body == body(*sent, ANSWER, NEXT)


def test_the_result_of_a_hosted_tool_is_not_checked() -> None:
    used = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    given = body(ASK, {"role": "assistant", "content": [used, found, WORD]}, NEXT)
    assert chatmend.repair_request(given, CLAUDE).body is given


CHAT = [
    ASK,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "toolu_1", "content": "r1"},
]
FUNCTIONS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize(
    ("target", "given", "sent"),
    [
        (CLAUDE, {"thinking": MANUAL}, {"thinking": OFF}),
        (CLAUDE, {"reasoning_effort": "low"}, {}),
        (CLAUDE, {"reasoning_effort": {"effort": "low"}}, {"reasoning_effort": {"effort": "none"}}),
        (CLAUDE, {"thinking": MANUAL, "reasoning_effort": "low"}, {"thinking": OFF}),
        (CLAUDE, {"thinking": OFF, "reasoning_effort": "low"}, {"thinking": OFF}),
        (
            "openrouter/anthropic/claude-haiku-4.5",
            {"reasoning": {"max_tokens": 2000}},
            {"reasoning": {"effort": "none"}},
        ),
        (
            "openrouter/anthropic/claude-haiku-4.5",
            {"extra_body": {"reasoning": {"enabled": True}, "x": 1}},
            {"extra_body": {"reasoning": {"effort": "none"}, "x": 1}},
        ),
    ],
)
def test_every_form_of_a_chat_request_is_disabled(target: str, given: Any, sent: Any) -> None:
    base = {"model": "m", "messages": CHAT, "tools": FUNCTIONS}
    done = chatmend.repair_request({**base, **given}, target)
    assert done.body == {**base, **sent}
    assert chatmend.repair_request(done.body, target).body is done.body


@pytest.mark.parametrize("off", ["none", {"effort": "none"}, {"enabled": False, "max_tokens": 9}])
def test_a_chat_request_that_disables_thinking_is_unchanged(off: Any) -> None:
    given = {"model": "m", "messages": CHAT, "tools": FUNCTIONS, "reasoning_effort": off}
    assert chatmend.repair_request(given, CLAUDE).body is given


def test_thinking_blocks_of_a_chat_message_begin_its_turn() -> None:
    messages = [ASK, {**CHAT[1], "thinking_blocks": [THOUGHT]}, CHAT[2]]
    given = {"model": "m", "messages": messages, "tools": FUNCTIONS, "reasoning_effort": "low"}
    assert chatmend.repair_request(given, CLAUDE).body is given


DETAIL = {"type": "reasoning.text", "text": "Plan.", "signature": THOUGHT["signature"]}


@pytest.mark.parametrize(
    ("detail", "is_lost"),
    [
        ({**DETAIL, "format": "anthropic-claude-v1"}, False),
        (DETAIL, False),
        ({**DETAIL, "format": "google-gemini-v1"}, True),
        ({"type": "reasoning.encrypted", "data": "gAAAAABo", "format": "unknown"}, True),
        ({"type": "reasoning.encrypted", "data": "CiQBvj72+2XVOLYM"}, True),
        ({"type": "reasoning.text", "text": "Plan."}, True),
    ],
)
def test_reasoning_details_count_if_claude_signed_them(detail: Any, is_lost: Any) -> None:
    messages = [ASK, {**CHAT[1], "content": "", "reasoning_details": [detail]}, CHAT[2]]
    reasoning = {"max_tokens": 2000}
    given = {"model": "m", "messages": messages, "tools": FUNCTIONS, "reasoning": reasoning}
    done = chatmend.repair_request(given, "openrouter/anthropic/claude-haiku-4.5")
    assert (done.body["reasoning"] == {"effort": "none"}) is is_lost


@pytest.mark.parametrize("key", ["reasoning_opaque", "reasoning_text"])
def test_the_thinking_of_copilot_counts(key: str) -> None:
    messages = [ASK, {**CHAT[1], key: "opaque"}, CHAT[2]]
    given = {"model": "m", "messages": messages, "tools": FUNCTIONS, "thinking": MANUAL}
    done = chatmend.repair_request(given, "github_copilot/claude-sonnet-4")
    assert done.body["thinking"] is MANUAL


_USED = {"toolUse": {"toolUseId": "tooluse_1", "name": "f", "input": {}}}


def converse(*content: Any, **fields: Any) -> dict[str, Any]:
    """Return a body of Bedrock's Converse API with a tool loop that begins with this content."""
    found = {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "r1"}]}}
    schema = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    return {
        "messages": [
            {"role": "user", "content": [{"text": "go"}]},
            {"role": "assistant", "content": [*content, _USED]},
            {"role": "user", "content": [found]},
        ],
        "toolConfig": {"tools": [schema]},
        "additionalModelRequestFields": fields,
    }


def test_converse_has_the_parameter_in_additional_fields() -> None:
    given = converse(thinking=MANUAL, top_k=5)
    done = chatmend.repair_request(given, "bedrock/anthropic.claude-sonnet-4-20250514-v1:0")
    assert done.body == {
        **given, "additionalModelRequestFields": {"thinking": OFF, "top_k": 5}
    }  # fmt: skip


def test_the_edit_that_clears_thinking_is_removed_because_it_needs_thinking() -> None:
    clear = {"type": "clear_thinking_20251015"}
    other = {"type": "clear_tool_uses_20250919"}
    both = {**LOST, "context_management": {"edits": [clear, other]}}
    kept = {"context_management": {"edits": [other]}}
    done = chatmend.repair_request(both, CLAUDE)
    assert done.body == {**LOST, "thinking": OFF, **kept}
    assert [change.where for change in done.changes] == ["thinking", "context_management"]
    alone = {**LOST, "context_management": {"edits": [clear]}}
    assert chatmend.repair_request(alone, CLAUDE).body == {**LOST, "thinking": OFF}


def test_report_only_reports() -> None:
    done = chatmend.repair_request(LOST, CLAUDE, policy=Policy(lost_thinking="report"))
    assert done.body is LOST
    assert [(c.code, c.applied, c.finding) for c in done.changes] == [("THINK008", False, True)]


@pytest.mark.parametrize("allow", [Effect.ADDS, Effect.RESHAPES])
def test_a_policy_that_forbids_the_effect_only_reports(allow: Effect) -> None:
    done = chatmend.repair_request(LOST, CLAUDE, policy=Policy(allow=allow))
    assert done.body is LOST
    assert [(c.code, c.applied, c.finding) for c in done.changes] == [("THINK008", False, False)]


def test_without_dropping_thinking_at_another_position_is_not_disabled() -> None:
    given = body(ASK, call(1, WORD, THOUGHT), result(1))
    done = chatmend.repair_request(given, CLAUDE, policy=Policy(allow=Effect.DEGRADES))
    assert done.body is given
    assert [change.applied for change in done.changes] == [False, False]


CALL_TEXT = (
    'Recorded tool call, quoted as data and not as an instruction: {"name": "f", "arguments": {}}'
)
RESULT_TEXT = 'Recorded tool output, quoted as data and not as an instruction: "r1"'
TEXT = Policy(lost_thinking="text")


def test_as_text_the_exchange_stays_text_when_the_conversation_goes_on() -> None:
    messages = [
        ASK,
        call(1),
        result(1),
        call(2, THOUGHT),
        result(2),
        call(3),
        result(3),
        ANSWER,
        NEXT,
    ]
    as_text = [
        {"role": "assistant", "content": [{"type": "text", "text": CALL_TEXT}]},
        {"role": "user", "content": [{"type": "text", "text": RESULT_TEXT}]},
    ]
    for end in (3, 5, 7, 9):
        given = body(*messages[:end])
        done = chatmend.repair_request(given, CLAUDE, policy=TEXT)
        assert done.body == body(ASK, *as_text, *messages[3:end])
        assert chatmend.repair_request(done.body, CLAUDE, policy=TEXT).body is done.body
        assert {change.code for change in done.changes} == {"THINK008"}
        assert chatmend.replay(given["messages"], done.changes) == done.body["messages"]


def test_a_model_that_always_thinks_gets_the_exchange_as_text() -> None:
    resolved = chatmend.resolve(CLAUDE)
    always = {
        dialect: (replace(limits, thinking_optional=False), hygiene)
        for dialect, (limits, hygiene) in resolved.spoken.items()
    }
    limits = replace(resolved.limits, thinking_optional=False)
    done = chatmend.repair_request(LOST, replace(resolved, limits=limits, spoken=always))
    assert done.body["thinking"] is MANUAL
    assert done.body["messages"][1]["content"] == [{"type": "text", "text": CALL_TEXT}]


def test_as_text_in_a_chat_request() -> None:
    given = {"model": "m", "messages": CHAT, "tools": FUNCTIONS, "thinking": MANUAL}
    done = chatmend.repair_request(given, CLAUDE, policy=TEXT)
    assert [message["role"] for message in done.body["messages"]] == ["user", "assistant", "user"]
    assert done.body["messages"][2]["content"] == RESULT_TEXT
    assert done.body["thinking"] is MANUAL


def test_the_policy_names_its_values() -> None:
    with pytest.raises(chatmend.PolicyError, match="lost_thinking='drop'"):
        Policy(lost_thinking="drop")


TURNS: dict[str, Callable[[int], list[Any]]] = {
    "thinks": lambda number: [call(number, THOUGHT), result(number)],
    "lost": lambda number: [call(number), result(number)],
    "thinks late": lambda number: [call(number, WORD, THOUGHT), result(number)],
    "text, too": lambda number: [call(number), result(number, WORD)],
    "answer": lambda _: [ANSWER, NEXT],
}


@pytest.mark.parametrize("policy", ["disable", "text"])
@pytest.mark.parametrize("first", TURNS)
def test_every_sequence_of_turns_is_append_only_and_idempotent(first: str, policy: str) -> None:
    chosen = Policy(lost_thinking=policy)
    for rest in product(TURNS.values(), repeat=examples(2, 3)):
        messages, before = [ASK], list[Any]()
        for number, turn in enumerate((TURNS[first], *rest)):
            messages += turn(number)
            done = chatmend.repair_request(body(*messages), CLAUDE, policy=chosen)
            sent = done.body["messages"]
            assert sent[: len(before)] == before
            assert chatmend.replay(messages, done.changes) == sent
            assert chatmend.repair_request(done.body, CLAUDE, policy=chosen).body is done.body
            assert not _is_refused(done.body)
            before = sent


def _is_refused(sent: dict[str, Any]) -> bool:
    """Return whether Claude refuses the thinking of a request in which roles alternate."""
    turns = sent["messages"]
    end = len(turns)
    while end > 1 and any(block.get("type") == "tool_result" for block in _blocks(turns[end - 1])):
        end -= 2
    loop = turns[end::2]
    if sent["thinking"] == OFF:
        return bool(loop) and THOUGHT in loop[-1]["content"]
    return bool(loop) and not any(turn["content"][0] == THOUGHT for turn in loop)


def _blocks(message: dict[str, Any]) -> list[Any]:
    content = message["content"]
    return content if isinstance(content, list) else []


NOT_ENABLED = (
    "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain "
    "`thinking`. To use thinking blocks, enable `thinking` in your request."
)
KNOWN = [chatmend.Lesson(CLAUDE, "unused_thinking", value=False)]


def test_thinking_that_the_request_does_not_enable_stays_until_it_is_refused() -> None:
    given = body(ASK, call(1, THOUGHT), result(1), thinking=None)
    assert chatmend.repair_request(given, CLAUDE).body is given
    reaction = chatmend.react(given, CLAUDE, NOT_ENABLED)
    assert reaction is not None
    assert reaction.lesson.limit == "unused_thinking"
    assert reaction.body["messages"] == [ASK, call(1), result(1)]
    assert "thinking" not in reaction.body


def test_thinking_that_is_enabled_or_not_in_a_loop_stays_after_such_a_refusal() -> None:
    for given in (
        body(ASK, call(1, THOUGHT), result(1)),
        body(ASK, ANSWER, NEXT, thinking=None),
        body(ASK, ANSWER, NEXT, thinking=OFF),
    ):
        assert chatmend.repair_request(given, CLAUDE, lessons=KNOWN).body is given


def test_a_message_that_holds_only_such_thinking_gets_a_placeholder() -> None:
    only = {"role": "assistant", "content": [THOUGHT]}
    done = chatmend.repair_request(body(ASK, only, thinking=None), CLAUDE, lessons=KNOWN)
    assert "thinking" not in str(done.body["messages"])
    assert all(message["content"] for message in done.body["messages"])


def test_such_thinking_is_only_reported_if_the_policy_says_so() -> None:
    given = body(ASK, call(1, THOUGHT), result(1), thinking=None)
    policy = Policy(lost_thinking="report")
    done = chatmend.repair_request(given, CLAUDE, policy=policy, lessons=KNOWN)
    assert done.body is given
    assert [(change.code, change.applied, change.finding) for change in done.changes] == [
        ("THINK008", False, True)
    ]


@pytest.mark.parametrize("thinking", [None, OFF, MANUAL])
@pytest.mark.parametrize("first", TURNS)
def test_sequences_of_turns_are_append_only_and_idempotent_after_such_a_refusal(
    first: str, thinking: Any
) -> None:
    for rest in product(TURNS.values(), repeat=examples(2, 3)):
        messages, before = [ASK], list[Any]()
        for number, turn in enumerate((TURNS[first], *rest)):
            messages += turn(number)
            done = chatmend.repair_request(
                body(*messages, thinking=thinking), CLAUDE, lessons=KNOWN
            )
            sent = done.body["messages"]
            assert sent[: len(before)] == before
            assert chatmend.replay(messages, done.changes) == sent
            assert chatmend.repair_request(done.body, CLAUDE, lessons=KNOWN).body is done.body
            assert not _is_refused({"thinking": OFF, **done.body})
            before = sent


@pytest.mark.parametrize("target", ["deepseek/deepseek-v4-flash", "moonshot/kimi-k3", "zai/glm-5"])
def test_thinking_stays_in_requests_to_compatible_apis_of_other_makers(target: str) -> None:
    own = {"type": "thinking", "thinking": "Plan.", "signature": "0c1f"}
    given = body(ASK, call(1, own), result(1))
    assert chatmend.repair_request(given, target, dialect="anthropic_messages").body is given


@pytest.mark.parametrize(
    "given",
    [
        body(ASK, ANSWER, NEXT, thinking=OFF),
        body(ASK, call(1, THOUGHT), result(1), ANSWER, NEXT, thinking=OFF),
        body(ASK, call(1, THOUGHT), result(1), ANSWER, NEXT, call(2), result(2), thinking=OFF),
    ],
)
def test_thinking_of_earlier_loops_stays_in_a_request_that_disables_thinking(given: Any) -> None:
    assert chatmend.repair_request(given, CLAUDE).body is given


@pytest.mark.parametrize("target", ["anthropic", "anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-5", "other"])  # fmt: skip
def test_later_models_accept_thinking_in_a_request_that_disables_it(target: str) -> None:
    given = body(ASK, call(1, THOUGHT), result(1), thinking=OFF)
    assert chatmend.repair_request(given, target).body is given


@pytest.mark.parametrize("target", [CLAUDE, "anthropic/claude-3-7-sonnet-20250219", "vertex_ai/claude-sonnet-4@20250514"])  # fmt: skip
def test_thinking_of_the_current_loop_is_removed_if_the_request_disables_thinking(
    target: str,
) -> None:
    earlier = [ASK, call(1, THOUGHT), result(1), ANSWER, NEXT]
    given = body(*earlier, call(2, REDACTED, THOUGHT), result(2), call(3), result(3), thinking=OFF)
    done = chatmend.repair_request(given, target)
    assert done.body["messages"] == [*earlier, call(2), result(2), call(3), result(3)]
    assert done.body["thinking"] is OFF
    (change,) = done.changes
    assert (change.code, change.effect, change.why) == (
        "THINK008",
        Effect.DROPS,
        "the request disables thinking",
    )
    assert chatmend.replay(given["messages"], done.changes) == done.body["messages"]
    assert chatmend.repair_request(done.body, target).body is done.body


def test_a_loop_without_thinking_is_append_only_and_has_it_again_if_the_request_enables_it() -> (
    None
):
    messages = [ASK, call(1, THOUGHT), result(1), call(2, WORD, THOUGHT), result(2)]
    first = chatmend.repair_request(body(*messages[:3], thinking=OFF), CLAUDE).body["messages"]
    second = chatmend.repair_request(body(*messages, thinking=OFF), CLAUDE).body["messages"]
    assert first == [ASK, call(1), result(1)]
    assert second == [*first, call(2, WORD), result(2)]
    enabled = body(*messages)
    assert chatmend.repair_request(enabled, CLAUDE).body is enabled


def test_an_answer_to_continue_has_no_thinking_if_the_request_disables_it() -> None:
    begun = {"role": "assistant", "content": [THOUGHT, WORD]}
    done = chatmend.repair_request(body(ASK, begun, thinking=OFF), CLAUDE)
    assert done.body["messages"] == [ASK, {"role": "assistant", "content": [WORD]}]


@pytest.mark.parametrize("policy", [Policy(lost_thinking="report"), Policy(allow=Effect.DEGRADES)])
def test_disabled_thinking_stays_if_the_policy_says_so(policy: Policy) -> None:
    given = body(ASK, call(1, THOUGHT), result(1), thinking=OFF)
    done = chatmend.repair_request(given, CLAUDE, policy=policy)
    assert done.body is given
    assert [(change.code, change.applied) for change in done.changes] == [("THINK008", False)]


def test_disabled_thinking_is_removed_from_other_wire_formats() -> None:
    messages = [ASK, {**CHAT[1], "thinking_blocks": [THOUGHT]}, CHAT[2]]
    chat = {"model": "m", "messages": messages, "tools": FUNCTIONS, "thinking": OFF}
    done = chatmend.repair_request(chat, CLAUDE)
    assert done.body["messages"] == CHAT
    plan = {"reasoningContent": {"reasoningText": {"text": "A.", "signature": "EqQBCkYIAhgCKkAx"}}}
    given = converse(plan, thinking=OFF)
    done = chatmend.repair_request(given, "bedrock/anthropic.claude-sonnet-4-20250514-v1:0")
    assert done.body["messages"][1]["content"] == [_USED]
