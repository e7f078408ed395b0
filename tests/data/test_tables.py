"""``repair_table``: Arrow in, Arrow out; valid rows stay identical, and what does not fit is quarantined."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chatmend
from chatmend.data import (
    LayoutError,
    changes_table,
    check_table,
    repair_rows,
    repair_table,
    replay_rows,
)
from chatmend.data.arrow import BATCH_ROWS
from chatmend.data.arrow_values import values_of
from chatmend.data.wire import without_nulls
from chatmend.placeholders import NO_RESULT
from tests.broken.strategies import transcripts
from tests.scale import examples

QWEN = "hosted_vllm/Qwen/Qwen3-8B"
CALL = {"id": "call_0001", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
VALID = [
    {"role": "user", "content": "What is it?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "42", "tool_call_id": "call_0001"},
    {"role": "assistant", "content": "It is 42."},
]
OPEN = [message for message in VALID if message["role"] != "tool"]
"""The model answers although its call has no result."""


def table(*conversations: Any) -> pa.Table:
    return pa.Table.from_pylist(
        [{"messages": messages} for messages in conversations]
    ).append_column("id", pa.array(range(len(conversations))))


def statuses(repaired: pa.Table) -> list[str]:
    return [report["status"] for report in repaired["chatmend"].to_pylist()]


def test_valid_rows_with_the_nulls_of_their_schema_stay_identical() -> None:
    given_table = table(
        VALID, [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    )
    done = repair_table(given_table, target=QWEN)
    assert done.drop_columns(["chatmend"]).equals(given_table, check_metadata=True)
    assert statuses(done) == ["valid", "valid"]


def test_only_broken_rows_change_and_the_report_says_how() -> None:
    given_table = table(VALID, OPEN)
    done = repair_table(given_table, target=QWEN)
    assert done.schema.remove(done.schema.get_field_index("chatmend")) == given_table.schema
    assert done["messages"][0] == given_table["messages"][0]
    repaired = done["messages"][1].as_py()
    assert [message["role"] for message in repaired] == ["user", "assistant", "tool", "assistant"]
    assert repaired[2]["tool_call_id"] == "call_0001"
    assert done["chatmend"][1].as_py() == {
        "status": "repaired",
        "changes": 1,
        "effect": "adds",
        "rules": [{"code": "TOOL007", "count": 1}],
        "error": None,
    }


def test_a_record_batch_comes_back_as_a_record_batch() -> None:
    batch = table(VALID, OPEN).to_batches()[0]
    done = repair_table(batch, target=QWEN)
    assert isinstance(done, pa.RecordBatch)
    assert done.num_rows == batch.num_rows


def test_a_repaired_table_is_valid_and_its_report_is_replaced() -> None:
    once = repair_table(table(VALID, OPEN), target=QWEN)
    twice = repair_table(once, target=QWEN)
    assert statuses(twice) == ["valid", "valid"]
    assert twice["messages"].equals(once["messages"])


def test_the_choice_for_incomplete_exchanges_quarantines_with_the_original() -> None:
    given_table = table(VALID, OPEN)
    done = repair_table(given_table, target=QWEN, incomplete="quarantine")
    assert statuses(done) == ["valid", "quarantined"]
    assert done["messages"].equals(given_table["messages"])
    assert (
        done["chatmend"][1]
        .as_py()["error"]
        .startswith("incomplete tool exchange: messages[1]: TOOL007")
    )


def test_a_repair_that_the_schema_cannot_hold_is_quarantined() -> None:
    rows = [{"messages": [{k: v for k, v in m.items() if k != "tool_call_id"} for m in OPEN]}]
    done = repair_table(pa.Table.from_pylist(rows), target=QWEN)
    report = done["chatmend"][0].as_py()
    assert report["status"] == "quarantined"
    assert report["error"] == (
        "the repair does not fit the schema: messages[2] has no key 'tool_call_id'"
    )
    assert done["messages"].to_pylist()[0] == pa.Table.from_pylist(rows)["messages"].to_pylist()[0]


TRL = [
    {"role": "user", "content": "Turn on the lights."},
    {
        "role": "assistant",
        "tool_calls": [
            {"type": "function", "function": {"name": "light", "arguments": {"state": "on"}}},
            {"type": "function", "function": {"name": "door", "arguments": {"state": "shut"}}},
        ],
    },
    {"role": "tool", "name": "light", "content": "on"},
    {"role": "tool", "name": "door", "content": "shut"},
    {"role": "assistant", "content": "Done!"},
]
"""TRL's format for calls of tools has no ids."""


@pytest.mark.parametrize(
    "messages",
    [
        TRL,
        [*TRL[:2], TRL[3], TRL[2], TRL[4]],
        [*TRL, *TRL],
        [TRL[0], {"role": "assistant", "content": "<tool_call>f</tool_call>"}, *TRL[2:]],
    ],
)
@pytest.mark.parametrize("target", [QWEN, "strict", "hosted_vllm/openai/gpt-oss-20b"])
def test_calls_without_ids_stay_unchanged_in_rows_and_tables(
    messages: list[Any], target: str
) -> None:
    rows = [{"messages": messages}]
    (result,) = repair_rows(rows, target=target)
    assert (result.status, result.error) == ("valid", None)
    assert result.row is rows[0]
    given_table = pa.Table.from_pylist(rows)
    done = repair_table(given_table, target=target)
    assert statuses(done) == ["valid"]
    assert done.drop_columns(["chatmend"]).equals(given_table)


def test_results_of_calls_in_a_text_stay_unchanged_where_calls_are_single() -> None:
    rows = [{"messages": [TRL[0], {"role": "assistant", "content": "f(), g()"}, *TRL[2:]]}]
    (result,) = repair_rows(rows, target="hosted_vllm/meta-llama/Llama-3.3-70B")
    assert result.row is rows[0]


def test_a_repair_of_calls_without_ids_adds_none() -> None:
    rows = [{"messages": [*TRL[:2], TRL[3], TRL[4]]}, {"messages": TRL}]
    given_table = pa.Table.from_pylist(rows)
    done = repair_table(given_table, target=QWEN)
    assert statuses(done) == ["repaired", "valid"]
    (first, *_) = results = list(repair_rows(rows, target=QWEN))
    (added,) = [one for one in first.row["messages"] if one not in TRL]
    assert added == {"role": "tool", "content": NO_RESULT}
    assert [replayed.row for replayed in replay_rows(rows, changes_table(results))] == [
        result.row for result in results
    ]
    (again,) = repair_rows([first.row], target=QWEN)
    assert again.row is first.row


@pytest.mark.parametrize(
    ("target", "purpose"),
    [("openai/gpt-4o", "train"), ("hosted_vllm/mistralai/Mistral-7B-Instruct-v0.3", "train"), (QWEN, "serve")],
)  # fmt: skip
def test_ids_are_added_where_a_request_or_a_template_needs_them(target: str, purpose: str) -> None:
    (result,) = repair_rows([{"messages": TRL}], target=target, purpose=purpose)
    assert result.status == "repaired"
    _, calling, *results, _ = result.row["messages"]
    ids = [call["id"] for call in calling["tool_calls"]]
    assert [one["tool_call_id"] for one in results] == ids


def test_arguments_that_are_objects_stay_objects() -> None:
    call = {**CALL, "function": {"name": "f", "arguments": {"x": 1}}}
    whole = [VALID[0], {**VALID[1], "tool_calls": [call]}, *VALID[2:]]
    given_table = table(whole, [message for message in whole if message["role"] != "tool"])
    done = repair_table(given_table, target=QWEN)
    assert statuses(done) == ["valid", "repaired"]
    repaired = done["messages"][1].as_py()
    assert repaired[1] == given_table["messages"][1].as_py()[1]
    assert repaired[1]["tool_calls"][0]["function"]["arguments"] == {"x": 1}


@pytest.mark.parametrize(
    ("target", "purpose"),
    [("openai/gpt-4o", "train"), ("openai/gpt-4o", "serve"), (QWEN, "serve")],
)
def test_arguments_that_are_objects_become_texts_where_a_request_contains_texts(
    target: str, purpose: str
) -> None:
    call = {**CALL, "function": {"name": "f", "arguments": {"x": 1}}}
    rows = [{"messages": [VALID[0], {**VALID[1], "tool_calls": [call]}, *VALID[2:]]}]
    (result,) = results = list(repair_rows(rows, target=target, purpose=purpose))
    assert result.status == "repaired"
    assert result.rules["TOOL013"] == 1
    assert result.row["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'
    (again,) = repair_rows([result.row], target=target, purpose=purpose)
    assert (again.status, again.row) == ("valid", result.row)
    (replayed,) = replay_rows(rows, changes_table(results))
    assert replayed.row == result.row


@pytest.mark.parametrize(
    ("target", "status"), [(QWEN, "valid"), ("other", "valid"), ("openai/gpt-4o", "repaired")]
)
def test_an_empty_list_of_calls_is_a_defect_only_of_requests(target: str, status: str) -> None:
    rows = [{"messages": [*VALID[:3], {**VALID[3], "tool_calls": []}]}]
    (result,) = repair_rows(rows, target=target)
    assert result.status == status
    assert (result.row is rows[0]) is (status == "valid")


def test_a_column_of_objects_cannot_hold_arguments_as_texts() -> None:
    call = {**CALL, "function": {"name": "f", "arguments": {"x": 1}}}
    whole = [VALID[0], {**VALID[1], "tool_calls": [call]}, *VALID[2:]]
    done = repair_table(table(whole), target="openai/gpt-4o")
    assert done["chatmend"][0].as_py()["error"] == (
        "the repair does not fit the schema: "
        "messages[1].tool_calls[0].function.arguments is not an object"
    )


@pytest.mark.parametrize("end", [{"role": "assistant", "content": ""}, {"role": "assistant"}])
def test_a_row_without_an_answer_to_learn_is_quarantined(end: dict[str, Any]) -> None:
    (result,) = repair_rows([{"messages": [*VALID[:1], end]}], target="strict")
    assert result.status == "quarantined"
    assert "placeholder" in (result.error or "")
    assert result.row["messages"][-1] is end


def test_an_answer_that_is_null_is_nothing_to_learn() -> None:
    rows = [{"messages": [*VALID[:3], {"role": "assistant", "content": None}]}]
    (result,) = repair_rows(rows, target=QWEN)
    assert result.error == "nothing to learn: the last answer is empty"


def test_thinking_is_kept() -> None:
    messages = [*VALID[:3], {**VALID[3], "reasoning_content": "Six times seven."}]
    (result,) = repair_rows([{"messages": messages}], target="openai/gpt-4o")
    assert result.status == "valid"


def test_serving_ends_with_a_message_to_answer() -> None:
    (result,) = repair_rows([{"messages": VALID}], target="strict", purpose="serve")
    assert result.row["messages"][-1]["role"] == "user"


def test_the_policy_may_be_changed_by_field() -> None:
    rows = [{"messages": [*VALID[:2], VALID[0], VALID[3]]}]
    (kept,) = repair_rows(rows, target=QWEN, policy={"allow": "reshapes"})
    assert kept.status == "quarantined"
    assert (kept.error or "").startswith("left unchanged: messages[1]: TOOL007")


def test_rows_are_repaired_one_after_the_other_without_reading_ahead() -> None:
    taken = []

    def rows() -> Any:
        for number in range(3):
            taken.append(number)
            yield {"messages": VALID}

    results = repair_rows(rows(), target=QWEN)
    first = next(results)
    assert taken == [0]
    assert first.row["messages"] is VALID


def test_check_table_returns_the_report_alone() -> None:
    assert check_table(table(VALID, OPEN), target=QWEN).column_names == ["chatmend"]


def test_a_column_with_another_name_can_be_named() -> None:
    given_table = table(VALID, OPEN).rename_columns(["dialogue", "id"])
    done = repair_table(given_table, target=QWEN, column="dialogue")
    assert statuses(done) == ["valid", "repaired"]
    with pytest.raises(LayoutError, match="no column 'talk'; the columns are dialogue, id"):
        repair_table(given_table, target=QWEN, column="talk")


def test_an_unknown_layout_is_an_error_that_lists_the_known_ones() -> None:
    rows = pa.table({"instruction": ["Say hi"], "output": ["hi"]})
    with pytest.raises(LayoutError, match=r"'instruction', 'output'; known layouts: .*sharegpt \("):
        repair_table(rows, target=QWEN)


def test_an_empty_table_gets_an_empty_report() -> None:
    done = repair_table(table(VALID).slice(0, 0), target=QWEN)
    assert done.column_names == ["messages", "id", "chatmend"]
    assert done.num_rows == 0
    batch = repair_table(table(VALID).to_batches()[0].slice(0, 0), target=QWEN)
    assert (batch.schema, batch.num_rows) == (done.schema, 0)


@pytest.mark.parametrize("kind", ["text", "null"])
def test_a_table_whose_first_batch_has_no_messages_is_recognised_later(kind: str) -> None:
    empty = pa.table({"messages": pa.array([None] * (BATCH_ROWS + 1), pa.string())})
    text = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    later = pa.table({"messages": pa.array([text if kind == "text" else None], pa.string())})
    done = repair_table(pa.concat_tables([empty, later]).to_reader(), target=QWEN).read_all()
    statuses = [report["status"] for report in done["chatmend"].to_pylist()]
    assert statuses[:-1] == ["quarantined"] * (BATCH_ROWS + 1)
    assert statuses[-1] == ("valid" if kind == "text" else "quarantined")


def test_rows_of_an_unknown_layout_are_an_error_although_messages_are_null() -> None:
    table = pa.table({"prompt": ["a"], "messages": pa.array([None], pa.string())})
    with pytest.raises(LayoutError, match="unknown layout"):
        repair_table(table, target=QWEN)


def test_null_and_empty_cells_are_quarantined() -> None:
    done = repair_table(table(None, [], VALID), target=QWEN)
    assert statuses(done) == ["quarantined", "quarantined", "valid"]


def test_wrong_options_are_errors_before_any_row_is_read() -> None:
    with pytest.raises(
        chatmend.PolicyError, match="purpose='learn': choose one of 'serve', 'train'"
    ):
        repair_table(table(VALID), target=QWEN, purpose="learn")
    with pytest.raises(chatmend.PolicyError, match="incomplete='drop'"):
        repair_rows([], target=QWEN, incomplete="drop")
    with pytest.raises(chatmend.TranscriptError, match="pass a list of dicts to repair_rows"):
        repair_table([{"messages": VALID}], target=QWEN)  # type: ignore[type-var]


def test_pyarrow_is_imported_with_the_first_table_and_its_absence_names_the_extra() -> None:
    code = """
import sys
import chatmend.data
assert "pyarrow" not in sys.modules
sys.modules["pyarrow"] = None
try:
    chatmend.data.repair_table(None, target="openai/gpt-4o")
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stdout.endswith("pip install 'chatmend[data]'\n"), done.stderr


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4), min_size=1, max_size=6
    )
)
@settings(max_examples=examples(60, 2000))
def test_values_are_those_of_arrow_without_null_keys(rows: list[dict[str, Any]]) -> None:
    try:
        array = pa.array(rows)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return  # Arrow cannot store these rows in one column
    for part in (array, array.slice(1), array.slice(0, len(array) - 1)):
        assert values_of(part) == without_nulls(part.to_pylist())


@given(messages=st.lists(transcripts("openai_chat"), min_size=1, max_size=3))
@settings(max_examples=examples(25, 500), suppress_health_check=list(HealthCheck))
def test_tables_and_rows_are_repaired_alike(messages: list[Any]) -> None:
    rows = [{"messages": conversation} for conversation in messages]
    try:
        given_table = pa.Table.from_pylist(rows)
        stored = given_table.to_pylist()
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        return
    try:
        results = list(repair_rows(stored, target=QWEN))
    except LayoutError:
        return
    done = repair_table(given_table, target=QWEN)
    for result, value, report in zip(
        results, done["messages"].to_pylist(), done["chatmend"].to_pylist(), strict=True
    ):
        if report["error"] and "fit the schema" in report["error"]:
            continue
        assert result.status == report["status"], (result.error, report)
        assert without_nulls(value) == without_nulls(result.row["messages"])


def test_a_reader_is_repaired_while_it_is_read() -> None:
    taken = []

    def source() -> Any:
        for batch in table(VALID, OPEN, VALID).to_batches(max_chunksize=1):
            taken.append(batch.num_rows)
            yield batch

    reader = pa.RecordBatchReader.from_batches(table(VALID).schema, source())
    done = repair_table(reader, target=QWEN)
    assert taken == []
    assert done.read_next_batch()["chatmend"][0].as_py()["status"] == "valid"
    assert taken == [1]
    assert statuses(done.read_all()) == ["repaired", "valid"]


def test_an_unexpected_exception_quarantines_one_row_without_its_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("Secret 123")

    monkeypatch.setattr("chatmend.data.rows.repair", fail)
    (result,) = repair_rows([{"messages": VALID}], target=QWEN)
    assert result.error == "internal error of chatmend (ZeroDivisionError); please report it"
    assert result.row["messages"] is VALID
