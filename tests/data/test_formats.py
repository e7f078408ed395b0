"""Layouts of training data and logs are read and written back in kind."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chatmend.data import LayoutError, RowResult, changes_table, repair_rows, replay_rows
from chatmend.data.formats import FORMATS, recognise
from chatmend.placeholders import NO_RESULT
from tests.broken.strategies import transcripts
from tests.scale import examples

QWEN = "hosted_vllm/Qwen/Qwen3-8B"
STRICT = "strict"
CALL = {"id": "call_0001", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
ASK = {"role": "user", "content": "What is it?"}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_0001", "content": "42"}
ANSWER = {"role": "assistant", "content": "It is 42."}
OTHER = {"role": "assistant", "content": "I do not know."}
PLACEHOLDER = {"role": "tool", "tool_call_id": "call_0001", "content": NO_RESULT}
LOGGED_CALL = {"name": "f", "args": {"x": 1}, "id": "call_0001", "type": "tool_call"}


def turn(name: str, value: str) -> dict[str, str]:
    return {"from": name, "value": value}


def constructor(name: str, **kwargs: Any) -> dict[str, Any]:
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", name],
        "kwargs": kwargs,
    }


SHAREGPT_CALL = turn("function_call", '{"name": "f", "arguments": {"x": 1}}')
VALID: dict[str, dict[str, Any]] = {
    "messages": {"messages": [ASK, CALLING, RESULT, ANSWER], "source": "a"},
    "trl-prompt-completion": {"prompt": [ASK], "completion": [CALLING, RESULT, ANSWER]},
    "trl-preference": {"prompt": [ASK], "chosen": [ANSWER], "rejected": [OTHER], "score": 1},
    "sharegpt": {
        "conversations": [
            turn("system", "Be brief."),
            turn("human", "What is it?"),
            SHAREGPT_CALL,
            turn("observation", "42"),
            turn("gpt", "It is 42."),
        ]
    },
    "ms-swift": {
        "tools": "[]",
        "messages": [
            ASK,
            {"role": "tool_call", "content": '{"name": "f", "arguments": {"x": 1}}'},
            {"role": "tool_call", "content": '{"name": "f", "arguments": {"x": 2}}'},
            {"role": "tool_response", "content": "42"},
            {"role": "tool_response", "content": "43"},
            {**ANSWER, "loss": True},
        ],
    },
    "openai-preference": {
        "input": {"messages": [ASK], "tools": []},
        "preferred_output": [ANSWER],
        "non_preferred_output": [OTHER],
    },
    "batch": {
        "custom_id": "1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "gpt-4o", "messages": [ASK]},
    },
    "langsmith": {"run_type": "llm", "inputs": {"messages": [ASK, CALLING, RESULT]}, "outputs": {}},
    "langfuse": {
        "id": "o1",
        "traceId": "t1",
        "type": "GENERATION",
        "input": [ASK],
        "output": ANSWER,
    },
    "litellm-spend-logs": {
        "request_id": "r1",
        "call_type": "acompletion",
        "messages": {},
        "proxy_server_request": {"model": "gpt-4o", "messages": [ASK]},
        "response": {},
    },
}


def repaired(row: dict[str, Any], target: str = QWEN, **options: Any) -> RowResult:
    (result,) = repair_rows([row], target=target, **options)
    return result


def test_each_layout_has_an_example() -> None:
    assert set(VALID) == set(FORMATS)


@pytest.mark.parametrize("name", VALID)
def test_a_valid_row_is_recognised_and_stays_the_same_object(name: str) -> None:
    row = VALID[name]
    found = recognise(row)
    assert name == found.NAME
    assert repaired(row) == RowResult(row, "valid")
    assert repaired(row).row is row


BROKEN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "trl-prompt-completion",
        {"prompt": [ASK], "completion": [CALLING, ANSWER]},
        {"prompt": [ASK], "completion": [CALLING, PLACEHOLDER, ANSWER]},
    ),
    (
        "trl-prompt-completion",
        {"prompt": [ASK, CALLING, ASK], "completion": [ANSWER]},
        {"prompt": [ASK, CALLING, PLACEHOLDER, ASK], "completion": [ANSWER]},
    ),
    (
        "trl-preference",
        {"prompt": [ASK, CALLING, ASK], "chosen": [ANSWER], "rejected": [OTHER]},
        {"prompt": [ASK, CALLING, PLACEHOLDER, ASK], "chosen": [ANSWER], "rejected": [OTHER]},
    ),
    (
        "trl-preference",
        {"chosen": [ASK, CALLING, ASK, ANSWER], "rejected": [ASK, CALLING, ASK, OTHER]},
        {
            "chosen": [ASK, CALLING, PLACEHOLDER, ASK, ANSWER],
            "rejected": [ASK, CALLING, PLACEHOLDER, ASK, OTHER],
        },
    ),
    (
        "openai-preference",
        {"input": {"messages": [ASK, CALLING, ASK]}, "preferred_output": [ANSWER], "non_preferred_output": [OTHER]},
        {
            "input": {"messages": [ASK, CALLING, PLACEHOLDER, ASK]},
            "preferred_output": [ANSWER],
            "non_preferred_output": [OTHER],
        },
    ),
    (
        "sharegpt",
        {"conversations": [turn("user", "Go"), SHAREGPT_CALL, turn("assistant", "Done")]},
        {
            "conversations": [
                turn("user", "Go"),
                SHAREGPT_CALL,
                turn("observation", NO_RESULT),
                turn("assistant", "Done"),
            ]
        },
    ),
    (
        "ms-swift",
        {"messages": [ASK, {"role": "tool_call", "content": '{"name": "f", "arguments": {}}'}, ANSWER]},
        {
            "messages": [
                ASK,
                {"role": "tool_call", "content": '{"name": "f", "arguments": {}}'},
                {"role": "tool_response", "content": NO_RESULT},
                ANSWER,
            ]
        },
    ),
    (
        "batch",
        {"custom_id": "1", "params": {"model": "claude", "max_tokens": 9, "messages": [ASK, CALLING, ASK]}},
        {
            "custom_id": "1",
            "params": {"model": "claude", "max_tokens": 9, "messages": [ASK, CALLING, PLACEHOLDER, ASK]},
        },
    ),
    (
        "langfuse",
        {"traceId": "t", "input": json.dumps({"messages": [ASK, CALLING, ASK]}), "output": "x"},
        {"traceId": "t", "input": json.dumps({"messages": [ASK, CALLING, PLACEHOLDER, ASK]}), "output": "x"},
    ),
    (
        "litellm-spend-logs",
        {"request_id": "r", "messages": json.dumps([ASK, CALLING, ASK])},
        {"request_id": "r", "messages": json.dumps([ASK, CALLING, PLACEHOLDER, ASK])},
    ),
    (
        "langsmith",
        {
            "inputs": {
                "messages": [
                    [
                        constructor("HumanMessage", content="Go"),
                        constructor("AIMessage", content="", tool_calls=[LOGGED_CALL]),
                        constructor("HumanMessage", content="Well?"),
                    ]
                ]
            }
        },
        {
            "inputs": {
                "messages": [
                    [
                        constructor("HumanMessage", content="Go"),
                        constructor("AIMessage", content="", tool_calls=[LOGGED_CALL]),
                        constructor(
                            "ToolMessage",
                            additional_kwargs={},
                            response_metadata={},
                            content=NO_RESULT,
                            tool_call_id="call_0001",
                            type="tool",
                        ),
                        constructor("HumanMessage", content="Well?"),
                    ]
                ]
            }
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "row", "expected"), BROKEN)
def test_a_broken_row_is_repaired_in_its_own_layout(
    name: str, row: dict[str, Any], expected: dict[str, Any]
) -> None:
    before = json.dumps(row)
    found = recognise(row)
    assert name == found.NAME
    result = repaired(row)
    assert (result.error, result.row) == (None, expected)
    assert json.dumps(row) == before
    assert repaired(result.row).status == "valid"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("human", "user"),
        ("user", "user"),
        ("gpt", "assistant"),
        ("assistant", "assistant"),
        ("chatgpt", "assistant"),
    ],
)
def test_turns_keep_the_names_that_the_data_set_uses(name: str, role: str) -> None:
    turns = [turn(name, "a"), turn(name, "b"), turn("gpt" if role == "user" else "human", "c")]
    given_turns = turns if role == "user" else [turns[2], *turns[:2]]
    result = repaired({"conversations": given_turns}, STRICT)
    assert turn(name, "a\n\nb") in result.row["conversations"]


@pytest.mark.parametrize("name", ["tool", "observation", "function_response"])
def test_results_of_all_names_belong_to_the_call_before_them(name: str) -> None:
    row = {
        "conversations": [turn("human", "Go"), SHAREGPT_CALL, turn(name, "42"), turn("gpt", "42.")]
    }
    assert repaired(row, "mistral/open-mistral-7b").row is row


TWO_CALLS = turn(
    "function_call", '[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'
)
F_CALL, G_CALL = (turn("tool_call", f'{{"name": "{name}", "arguments": {{}}}}') for name in "fg")
TEXT_CALL = (
    '<think>\nI need it\n</think>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
)


@pytest.mark.parametrize(
    "turns",
    [
        [turn("gpt", TEXT_CALL), turn("tool", "42"), turn("gpt", "Done")],
        [turn("gpt", TEXT_CALL), turn("tool", "42"), turn("tool", "43"), turn("gpt", "Done")],
        [turn("assistant", "[f(a='b')]"), turn("tool", "[42]"), turn("assistant", "Done")],
        [TWO_CALLS, turn("observation", "[1, 2]"), turn("gpt", "Done")],
        [TWO_CALLS, turn("observation", "1"), turn("observation", "2"), turn("gpt", "Done")],
        [
            turn("function_call", '<think>\nhm\n</think>\n\n{"name": "f", "arguments": {}}'),
            turn("observation", "42"),
            turn("gpt", "Done"),
        ],
        [F_CALL, G_CALL, turn("tool_response", "1"), turn("tool_response", "2"), turn("gpt", "3")],
        [F_CALL, turn("tool_response", "1"), G_CALL, turn("tool_response", "2"), turn("gpt", "3")],
    ],
)
@pytest.mark.parametrize("target", [QWEN, STRICT, "mistral/open-mistral-7b", "openai/gpt-4o"])
def test_calls_and_results_as_trainers_read_them_stay_unchanged(
    turns: list[Any], target: str
) -> None:
    row = {"conversations": [turn("human", "Go"), *turns]}
    assert repaired(row, target) == RowResult(row, "valid")


def test_a_missing_result_of_several_calls_is_one_turn() -> None:
    row = {"conversations": [turn("human", "Go"), TWO_CALLS, turn("gpt", "Done")]}
    result = repaired(row)
    assert result.row["conversations"] == [
        turn("human", "Go"), TWO_CALLS, turn("observation", NO_RESULT), turn("gpt", "Done")
    ]  # fmt: skip
    assert repaired(result.row).status == "valid"


def test_a_changed_turn_with_calls_keeps_its_thinking_and_the_turn_after_it() -> None:
    calling = {
        **turn("function_call", '<think>a</think>\n{"name": "f g", "arguments": {}}'),
        "n": 1,
    }
    row = {"conversations": [turn("human", "Go"), calling, G_CALL, turn("tool", "1"), turn("tool", "2"), turn("gpt", "3")]}  # fmt: skip
    result = repaired(row, "openai/gpt-4o")
    _, first, second, *rest = result.row["conversations"]
    assert first == {**calling, "value": '<think>a</think>\n{"name": "f_g", "arguments": {}}'}
    assert (second, rest) == (G_CALL, row["conversations"][3:])
    assert repaired(result.row, "openai/gpt-4o").status == "valid"


def test_a_result_without_a_call_or_text_of_the_model_before_it_becomes_text() -> None:
    row = {"conversations": [turn("human", "Go"), turn("tool", "42"), turn("gpt", "Done")]}
    assert repaired(row).rules == {"TOOL005": 1}


@pytest.mark.parametrize("call", [turn("gpt", TEXT_CALL), TWO_CALLS])
def test_no_call_or_result_is_invented_where_they_become_texts(call: dict[str, str]) -> None:
    rows = [{"conversations": [turn("human", "Go"), call, turn("tool", "42"), turn("gpt", "Done")]}]
    target = "hosted_vllm/google/gemma-3-27b-it"
    (result,) = results = list(repair_rows(rows, target=target))
    texts = [one["value"] for one in result.row["conversations"]]
    assert texts[2] == 'Recorded tool output, quoted as data and not as an instruction: "42"'
    assert "call" not in texts[1].replace(TEXT_CALL, "").replace("Recorded tool call", "")
    (replayed,) = replay_rows(rows, changes_table(results))
    assert replayed.row == result.row


def test_calls_that_a_target_separates_have_a_result_each() -> None:
    rows = [{"conversations": [turn("human", "Go"), TWO_CALLS, turn("observation", "[1, 2]"), turn("gpt", "Done")]}]  # fmt: skip
    target = "hosted_vllm/meta-llama/Llama-3.3-70B"
    (result,) = results = list(repair_rows(rows, target=target))
    assert result.rules == {"TOOL007": 1, "TOOL009": 1}
    names = [one["from"] for one in result.row["conversations"]]
    assert names == ["human", *["function_call", "observation"] * 2, "gpt"]
    assert repaired(result.row, target).row is result.row
    (replayed,) = replay_rows(rows, changes_table(results))
    assert replayed.row == result.row


def test_thinking_before_a_call_stays_there_after_a_text() -> None:
    calling = turn("function_call", '<think>a</think>\n{"name": "f", "arguments": {}}')
    row = {"conversations": [turn("human", "Go"), {**turn("gpt", "So."), "weight": 1}, calling, turn("tool", "1"), turn("gpt", "2")]}  # fmt: skip
    assert repaired(row, STRICT).row is row


def test_a_changed_text_with_a_call_keeps_its_result() -> None:
    turns = [turn("human", "Go"), turn("gpt", f"\ud800{TEXT_CALL}"), turn("tool", "1"), turn("gpt", "2")]  # fmt: skip
    changed = repaired({"conversations": turns}, "openai/gpt-4o").row["conversations"]
    assert changed == [turns[0], turn("gpt", f"\ufffd{TEXT_CALL}"), *turns[2:]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"weight": 0}, {"weight": 1}),
        ({"train": False}, {"train": True}),
        ({"train": False}, {}),
        ({}, {"loss": False}),
        ({"train_detail": [{"begin_offset": 0, "end_offset": 1, "train": True}]}, {}),
    ],
)
def test_messages_that_count_differently_in_the_loss_are_not_joined(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    turns = [turn("human", "q"), {**turn("gpt", "bad"), **one}, {**turn("gpt", "good"), **other}]
    messages = [ASK, {**ANSWER, **one}, {**OTHER, **other}]
    for row in ({"conversations": turns}, {"messages": messages}):
        result = repaired(row, STRICT)
        assert (result.status, result.row) == ("quarantined", row)
        assert "the repair changes which text is learnt" in (result.error or "")
        separate = {key: [*value[:2], value[0], value[2]] for key, value in row.items()}
        assert repaired(separate, STRICT).row is separate


def test_messages_that_count_alike_in_the_loss_are_joined_and_keep_it() -> None:
    turns = [turn("human", "q"), {**turn("gpt", "a"), "weight": 0}, {**turn("gpt", "b"), "weight": 0}]  # fmt: skip
    assert repaired({"conversations": turns}, STRICT).row["conversations"] == [
        turn("human", "q"), {**turn("gpt", "a\n\nb"), "weight": 0}
    ]  # fmt: skip
    rows = {"messages": [ASK, {**ANSWER, "weight": 0}, {**OTHER, "weight": 0}]}
    assert repaired(rows, STRICT).row["messages"][1]["weight"] == 0


def test_a_mask_that_the_target_refuses_is_not_removed() -> None:
    row = {"messages": [ASK, {**ANSWER, "train": False}, ASK, {**OTHER, "train": True}]}
    result = repaired(row, "mistral/mistral-small-latest")
    assert (result.status, result.row) == ("quarantined", row)
    assert "(train)" in (result.error or "")


def test_extra_keys_of_a_changed_turn_are_kept() -> None:
    row = {"conversations": [{**turn("human", "\ud800 Go"), "weight": 0}, turn("gpt", "Done")]}
    (first, _) = repaired(row, "openai/gpt-4o").row["conversations"]
    assert first == {**turn("human", "\ufffd Go"), "weight": 0}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"conversations": [turn("narrator", "Once")]}, "turn 0 has an unknown role under 'from'"),
        ({"conversations": [turn("human", "Go"), turn("function_call", "f(1)")]}, "turn 1 is not the JSON text of a call"),
        ({"prompt": [ASK], "completion": []}, "'completion' is empty"),
        ({"chosen": [ASK, ANSWER], "rejected": [ASK, ANSWER]}, "one of the answers is the beginning of the other"),
        ({"request_id": "r", "call_type": "completion", "messages": "{}"}, "store_prompts_in_spend_logs"),
        (
            {"request_id": "r", "messages": [{"role": "user", "content": "a... (litellm_truncated skipped 9 chars. Note) ...b"}]},
            "LiteLLM truncated a text; raise MAX_STRING_LENGTH_PROMPT_IN_DB",
        ),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_repaired_is_quarantined_unchanged(
    row: dict[str, Any], reason: str
) -> None:
    result = repaired(row)
    assert result.status == "quarantined"
    assert reason in (result.error or "")
    assert result.row is row


@pytest.mark.parametrize("role", ["environment", "ipython", "critic", "Assistant"])
@pytest.mark.parametrize("target", [QWEN, STRICT])
def test_a_message_of_an_unknown_role_is_never_learnt_as_the_user(role: str, target: str) -> None:
    row = {"messages": [ASK, ANSWER, {"role": role, "content": "42"}, ANSWER]}
    result = repaired(row, target)
    assert (result.status, result.row) == ("quarantined", row)
    assert f"messages[2] has the role {role!r}" in (result.error or "")
    assert repaired(row, target, purpose="serve").rules["ROLE001"] == 1


def test_names_of_roles_that_have_the_same_meaning_are_replaced() -> None:
    row = {"messages": [{**ASK, "role": "human"}, {**ANSWER, "role": "model"}]}
    assert repaired(row).row == {"messages": [ASK, ANSWER]}


def test_calls_under_both_forms_are_quarantined() -> None:
    row = {"messages": [ASK, CALLING, {"role": "tool_response", "content": "42"}, ANSWER]}
    assert "has the role 'tool_response'" in (repaired(row).error or "")


def test_a_text_as_prompt_is_kept_next_to_whole_conversations() -> None:
    row = {"prompt": "What is it?", "chosen": [ASK, ANSWER], "rejected": [ASK, OTHER]}
    assert repaired(row) == RowResult(row, "valid")
    broken = {**row, **{key: [ASK, CALLING, *row[key]] for key in ("chosen", "rejected")}}
    result = repaired(broken)
    assert result.row == {
        "prompt": "What is it?",
        "chosen": [ASK, CALLING, PLACEHOLDER, ASK, ANSWER],
        "rejected": [ASK, CALLING, PLACEHOLDER, ASK, OTHER],
    }


def test_a_text_as_prompt_of_bare_answers_is_quarantined() -> None:
    row = {"prompt": "What is it?", "chosen": [ANSWER], "rejected": [OTHER]}
    assert "the prompt is a text" in (repaired(row).error or "")


def test_a_change_of_a_shared_prompt_is_counted_once() -> None:
    row = {"prompt": [ASK, CALLING, ASK], "chosen": [ANSWER], "rejected": [OTHER]}
    assert repaired(row).rules == {"TOOL007": 1}


def test_rows_of_different_layouts_are_each_recognised() -> None:
    rows = [VALID["messages"], VALID["sharegpt"], {"messages": [ASK, CALLING, ASK, ANSWER]}]
    results = list(repair_rows(rows, target=QWEN))
    assert [result.status for result in results] == ["valid", "valid", "repaired"]
    assert [result.status for result in replay_rows(rows, changes_table(results))] == [
        "valid", "valid", "repaired"
    ]  # fmt: skip


def test_a_layout_that_is_named_holds_for_all_rows() -> None:
    rows = [VALID["messages"], VALID["sharegpt"]]
    results = list(repair_rows(rows, target=QWEN, layout="messages"))
    assert [result.status for result in results] == ["valid", "quarantined"]
    assert results[1].error == "empty or not in the layout messages (messages: [{role, content}])"


@pytest.mark.parametrize("empty", [{"messages": None}, {"messages": []}, {}, {"id": 1}])
def test_a_row_without_messages_is_quarantined_also_if_it_is_the_first(empty: Any) -> None:
    results = list(repair_rows([empty, VALID["messages"], empty], target=QWEN))
    assert [result.status for result in results] == ["quarantined", "valid", "quarantined"]
    assert results[0].row is results[2].row is empty


def test_rows_of_which_none_has_a_known_layout_are_an_error_within_bounded_memory() -> None:
    endless = ({"text": str(number)} for number in count())
    with pytest.raises(LayoutError, match="unknown layout with the columns 'text'"):
        next(repair_rows(endless, target=QWEN))


def test_a_repair_across_the_end_of_the_prompt_is_quarantined() -> None:
    row = {"prompt": [ASK], "completion": [{"role": "user", "content": "Quick!"}, ANSWER]}
    result = repaired(row, STRICT)
    assert result.error == "the repair moves content across the end of the prompt"


@pytest.mark.parametrize(
    "row", [{"text": "Once"}, {"prompt": "Once", "completion": "upon"}, {"input": [ASK]}, {}]
)
def test_unknown_layouts_are_errors_that_list_the_known_ones(row: dict[str, Any]) -> None:
    with pytest.raises(LayoutError, match=r"known layouts: litellm-spend-logs .* messages "):
        list(repair_rows([row], target=QWEN))


@given(
    prompt=transcripts("openai_chat"), answers=st.tuples(st.text(min_size=1), st.text(min_size=1))
)
@settings(max_examples=examples(40, 1000), suppress_health_check=list(HealthCheck))
def test_pairs_of_answers_share_their_prompt_after_the_repair(
    prompt: list[Any], answers: tuple[str, str]
) -> None:
    ends = [[{"role": "assistant", "content": text}] for text in answers]
    row = {"chosen": [*prompt, *ends[0]], "rejected": [*prompt, *ends[1]]}
    try:
        result = repaired(row)
    except LayoutError:
        return
    if result.status != "repaired":
        assert result.row is row
        return
    chosen, rejected = result.row["chosen"], result.row["rejected"]
    assert chosen[:-1] == rejected[:-1]
    assert (chosen[-1], rejected[-1]) == (ends[0][0], ends[1][0])
    assert repaired(result.row).status == "valid"


@given(messages=transcripts("openai_chat"))
@settings(max_examples=examples(40, 1000), suppress_health_check=list(HealthCheck))
def test_a_repaired_row_is_valid_and_a_quarantined_one_is_unchanged(messages: list[Any]) -> None:
    row = {"messages": messages}
    try:
        result = repaired(row, STRICT)
    except LayoutError:
        return
    if result.status == "quarantined":
        assert result.row is row
        assert result.error
    else:
        assert repaired(result.row, STRICT).status == "valid"


TURNS = st.lists(
    st.sampled_from(
        [
            turn("human", "Go"),
            turn("human", "\ud800 Go"),
            turn("gpt", "Done"),
            turn("gpt", ""),
            turn("system", "Be brief."),
            F_CALL,
            G_CALL,
            TWO_CALLS,
            turn("function_call", '<think>hm</think>\n{"name": "f g", "arguments": {}}'),
            turn("observation", "42"),
            {**turn("observation", "43"), "id": 7},
            {**turn("gpt", "Well"), "weight": 0},
        ]
    ),
    min_size=1,
    max_size=8,
)
SWIFT_ROLES = {
    "human": "user", "gpt": "assistant", "function_call": "tool_call", "observation": "tool_response"
}  # fmt: skip


def as_swift(one: dict[str, Any]) -> dict[str, Any]:
    role, text, rest = (
        one["from"],
        one["value"],
        {k: one[k] for k in one.keys() - {"from", "value"}},
    )
    return {"role": SWIFT_ROLES.get(role, role), "content": text, **rest}


@pytest.mark.parametrize(
    "target", [QWEN, "mistral/mistral-small-latest", "hosted_vllm/mistralai/Mistral-7B-Instruct-v0.3"]
)  # fmt: skip
@pytest.mark.parametrize("layout", ["sharegpt", "ms-swift"])
@given(turns=TURNS)
@example(turns=[turn("human", "Go"), F_CALL, turn("gpt", ""), TWO_CALLS, turn("gpt", "Done")])
@settings(max_examples=examples(60, 2000), suppress_health_check=list(HealthCheck))
def test_repaired_turns_are_valid_and_can_be_replayed(
    turns: list[Any], layout: str, target: str
) -> None:
    is_swift = layout == "ms-swift"
    row = {"messages": list(map(as_swift, turns))} if is_swift else {"conversations": turns}
    result = repaired(row, target)
    if result.status == "quarantined":
        assert result.row is row
        assert "internal error" not in (result.error or "")
        return
    assert repaired(result.row, target).status == "valid"
    (replayed,) = replay_rows([row], changes_table([result]))
    assert replayed.row == result.row
