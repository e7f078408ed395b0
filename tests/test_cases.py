"""Cases that went wrong elsewhere, read from the corpus by id; what must hold is asserted here, on content."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from chatmend.placeholders import CONTINUED, NO_RESULT, NOTE, RAW_ARGUMENTS, SYSTEM_NOTE
from tests import corpus
from tests.judges import judge
from tests.scale import examples, sampled

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]
ROWS: dict[str, Row] = {row["id"]: row for row in corpus.rows("repair_cases")}
OPENAI, CLAUDE, MISTRAL = "openai/gpt-4o", "anthropic/claude-sonnet-4-5", "mistral/open-mistral-7b"
TARGETS = {
    "any": (OPENAI, CLAUDE, MISTRAL, "strict"),
    "openai": (OPENAI,),
    "anthropic": (CLAUDE,),
    "mistral": (MISTRAL,),
    "gemini": ("gemini/gemini-2.5-flash",),
    "bedrock": ("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",),
    "deepseek": ("deepseek/deepseek-chat",),
    "kimi-k2": ("moonshot/kimi-k2-0905-preview",),
    "openai-responses": ("openai/responses/gpt-5",),
    "gemini-openrouter": ("openrouter/google/gemini-2.5-pro",),
    "github-copilot-claude": ("github_copilot/claude-opus-4.6",),
}
NOT_HERE = {
    "IMG-02": "about images: tested with the images",
    "IMG-04": "about images: tested with the images",
}
TESTED: set[str] = set()


def case(name: str, *targets: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on one case of the corpus, for the targets given or else those that the case names."""
    TESTED.add(name)
    row = ROWS.get(name)
    if row is None:
        gone = pytest.mark.skip(reason="the corpus of repair cases is not at hand")
        return pytest.mark.parametrize(
            ("row", "target"), [pytest.param(None, "", marks=gone, id=name)]
        )
    places = targets or TARGETS[row["provider"]]
    return pytest.mark.parametrize(
        ("row", "target"), [pytest.param(row, t, id=f"{name}-{t}") for t in places]
    )


@pytest.mark.skipif(not ROWS, reason="the corpus of repair cases is not at hand")
def test_every_case_is_tested_or_listed_with_a_reason() -> None:
    assert set(ROWS) - TESTED - set(NOT_HERE) == set()
    assert (TESTED | set(NOT_HERE)) - set(ROWS) == set()
    assert TESTED & set(NOT_HERE) == set()


def mended(row: Row, target: str, **choices: Any) -> list[Any]:
    """What would be sent; nothing of the promises that hold for every repair may be broken on the way."""
    before = copy.deepcopy(row["messages"])
    done = chatmend.repair(row["messages"], target, **choices)
    assert row["messages"] == before
    assert chatmend.replay(row["messages"], done.changes) == done.messages
    assert chatmend.repair(done.messages, target, **choices).messages is done.messages
    assert_paired(done.messages)
    return done.messages


def assert_paired(messages: list[Any]) -> None:
    """Each call is answered once, right behind it; each result has its call."""
    due: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in due
            due.remove(message["tool_call_id"])
        else:
            assert due == []
            due = [call["id"] for call in message.get("tool_calls") or ()]
            assert len(set(due)) == len(due)
    assert due == []


def text_of(message: Any) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content or ""]
    return "".join(part if isinstance(part, str) else part.get("text") or "" for part in parts)


def said(messages: list[Any]) -> list[tuple[str, str]]:
    return [(message["role"], text_of(message)) for message in messages]


def whole(messages: list[Any]) -> str:
    return json.dumps(messages, ensure_ascii=False)


def calls(messages: list[Any]) -> list[tuple[str, str]]:
    return [(c["id"], c["function"]["name"]) for m in messages for c in m.get("tool_calls") or ()]


def results(messages: list[Any]) -> list[tuple[str, str]]:
    return [(m["tool_call_id"], text_of(m)) for m in messages if m["role"] == "tool"]


def answers(messages: list[Any]) -> list[tuple[str, str]]:
    """Name of the call and text of its result, in the order of the results."""
    asked: dict[str, str] = {}
    found = []
    for message in messages:
        asked |= dict(calls([message]))
        found += [(asked[call_id], text) for call_id, text in results([message])]
    return found


def holder(messages: list[Any], words: str) -> Any:
    (found,) = [message for message in messages if words in text_of(message)]
    return found


@case("PAIR-01")
def test_a_result_without_a_call_is_told_as_a_note(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert results(sent) == []
    assert "call_gone" not in whole(sent)
    note = holder(sent, "Transfer 123 completed")
    assert note["role"] == "user"
    assert f'{NOTE}"Transfer 123 completed"' in text_of(note)
    (change,) = [
        c for c in chatmend.check(row["messages"], target) if c.rule == "orphan-tool-result"
    ]
    assert change.index == 1


@case("PAIR-01")
def test_a_result_without_a_call_is_dropped_on_request_and_named_in_the_report(
    row: Row, target: str
) -> None:
    done = chatmend.repair(row["messages"], target, policy=chatmend.Policy.drop_instead_of_note())
    assert "Transfer 123 completed" not in whole(done.messages)
    (gone,) = [change for change in done.changes if change.effect is chatmend.Effect.DROPS]
    assert gone.before[0]["tool_call_id"] == "call_gone"


@case("PAIR-03")
def test_a_user_between_a_call_and_its_result_steps_behind_it(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert results(sent) == [("call_a", "real")]
    assert [text for _, text in said(sent)] == ["go", "", "real", "hurry!"]
    assert NO_RESULT not in whole(sent)


@case("PAIR-05")
def test_a_foreign_placeholder_stays_and_the_real_result_is_told_behind_it(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    assert [text for _, text in results(sent)] == [row["messages"][2]["content"]]
    assert f'{NOTE}"REAL"' in text_of(holder(sent, "REAL"))


@case("PAIR-05")
def test_a_real_result_wins_over_our_own_placeholder_in_the_same_window(
    row: Row, target: str
) -> None:
    messages = copy.deepcopy(row["messages"])
    messages[2] = {"role": "tool", "tool_call_id": "call_a", "content": NO_RESULT}
    sent = mended({"messages": messages}, target)
    assert [text for _, text in results(sent)] == ["REAL"]


@case("PAIR-05")
def test_an_error_that_resembles_our_placeholder_is_a_result(row: Row, target: str) -> None:
    messages = copy.deepcopy(row["messages"])
    messages[2] = {"role": "tool", "tool_call_id": "call_a", "content": f"{NO_RESULT} (timeout)"}
    sent = mended({"messages": messages}, target)
    assert [text for _, text in results(sent)] == [f"{NO_RESULT} (timeout)"]
    assert "REAL" in whole(sent)


@case("PAIR-06")
def test_a_reused_id_does_not_hide_that_the_second_call_has_no_result(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    first, second = results(sent)
    assert (first[1], second[1]) == ("r1", NO_RESULT)
    if target != OPENAI:
        assert first[0] != second[0]
    if target != MISTRAL:
        assert first[0] == "call_0"


@case("PAIR-08")
def test_two_results_of_a_reused_id_each_stay_with_their_own_call(row: Row, target: str) -> None:
    sent = mended(row, target)
    turns = [words for _, words in said(sent) if words not in ("", CONTINUED)]
    assert turns == ["1", "r1", "2", "r2", "3"]
    assert len(results(sent)) == 2


@case("PAIR-10")
def test_a_conversation_that_begins_with_a_call_keeps_the_call_and_all_words(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    words = [words for _, words in said(sent) if words != CONTINUED]
    assert words == ["I'll search", "hit", "found", "thanks"]
    if target == "strict":
        assert sent[0]["role"] == "user"
    assert judge("openai_chat", target, sent) == []


@case("PAIR-11")
def test_the_result_of_an_aborted_turn_keeps_its_call(row: Row, target: str) -> None:
    assert answers(mended(row, target)) == [("read_file", "REAL")]


@case("PAIR-13")
def test_a_result_with_an_unknown_id_is_never_given_to_another_call(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert answers(sent) == [("weather", "a-content"), ("stocks", NO_RESULT)]
    assert holder(sent, "zz-content")["role"] == "user"


@case("PAIR-15")
def test_a_second_result_of_one_call_is_told_as_a_note(row: Row, target: str) -> None:
    done = chatmend.repair(row["messages"], target)
    assert results(mended(row, target)) == [("a1", "first")]
    assert f'{NOTE}"second"' in text_of(holder(done.messages, "second"))
    (change,) = done.changes
    assert change.before[0]["content"] == "second"


@case("PAIR-15")
@pytest.mark.parametrize("nothing", ["", NO_RESULT])
def test_neither_an_empty_result_nor_a_placeholder_wins_over_a_real_one(
    row: Row, target: str, nothing: str
) -> None:
    messages = copy.deepcopy(row["messages"])
    messages[2]["content"] = nothing
    assert results(mended({"messages": messages}, target)) == [("a1", "second")]


@case("PAIR-16")
def test_two_calls_of_one_turn_with_one_id_both_survive_with_their_own_results(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    assert answers(sent) == [("read", "READ"), ("write", "WRITE")]
    assert len({call_id for call_id, _ in calls(sent)}) == 2


@case("PAIR-18", *TARGETS["any"], *TARGETS["gemini"])
def test_parallel_results_are_put_in_order_only_where_the_order_counts(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    came = [text for _, text in results(sent)]
    assert came == (["A", "B", "C"] if target.startswith("gemini/") else ["C", "A", "B"])
    if target in (OPENAI, CLAUDE):
        assert sent is row["messages"]


@case("PAIR-20")
def test_the_question_beside_a_stale_result_survives(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert ("user", "real question") in said(sent)
    assert results(sent) == []
    assert holder(sent, "stale")["role"] == "user"


@case("PAIR-21")
@pytest.mark.parametrize(
    "policy", [chatmend.Policy(), chatmend.Policy.offline(), chatmend.Policy.drop_instead_of_note()]
)
def test_words_beside_an_unanswered_call_survive(
    row: Row, target: str, policy: chatmend.Policy
) -> None:
    sent = mended(row, target, policy=policy)
    assert holder(sent, "I will check the logs first.")["role"] == "assistant"
    assert answers(sent) == [("logs", NO_RESULT)]


@case("PAIR-23")
def test_a_call_without_an_id_gets_one_and_its_result_the_same(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert answers(sent) == [("f", "r")]
    assert calls(sent) == calls(chatmend.repair(copy.deepcopy(row["messages"]), target).messages)
    assert "missing-call-id" in {change.rule for change in chatmend.check(row["messages"], target)}


@case("PAIR-25")
def test_a_result_after_the_next_turn_survives_and_leaves_no_call_open(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    assert answers(sent) == [("read_file", NO_RESULT)]
    assert f'{NOTE}"late real"' in text_of(holder(sent, "late real"))


@case("PAIR-26")
def test_a_reasoning_item_stays_before_its_closed_call(row: Row, target: str) -> None:
    assert results(mended(row, target)) == [("call_1", NO_RESULT)]
    first, answer, last = row["messages"]
    (call,), (thought,) = answer["tool_calls"], answer["content"]
    items = [
        first,
        thought,
        {"type": "function_call", "call_id": call["id"], **call["function"]},
        last,
    ]
    sent = chatmend.repair(items, target, dialect="openai_responses").messages
    assert sent[:3] == [
        first,
        {**thought, "summary": []},
        items[2],
    ]  # without a summary it is refused
    assert sent[3] == {"type": "function_call_output", "call_id": "call_1", "output": NO_RESULT}


@case("ID-02")
def test_ids_that_begin_alike_stay_apart_when_they_are_shortened(row: Row, target: str) -> None:
    sent = mended(row, target)
    ids = [call_id for call_id, _ in calls(sent)]
    assert all(re.fullmatch("[A-Za-z0-9]{9}", call_id) for call_id in ids)
    assert results(sent) == [(ids[0], "x"), (ids[1], "y")]
    assert ids[0] != ids[1]
    alone = copy.deepcopy(row["messages"])
    del alone[1]["tool_calls"][1], alone[3]
    assert [call_id for call_id, _ in calls(chatmend.repair(alone, target).messages)] == ids[:1]


@case("ID-04")
def test_a_valid_mistral_id_is_left_alone(row: Row, target: str) -> None:
    done = chatmend.repair(row["messages"], target)
    assert [id(message) for message in done.messages[:3]] == list(map(id, row["messages"][:3]))
    assert [change.rule for change in done.changes] == ["consecutive-roles"]


@case("ID-05")
def test_a_later_native_id_yields_to_one_that_was_given_before(row: Row, target: str) -> None:
    first = mended(row, target)
    given = calls(first)[1][0]
    assert given != "a"
    grown = [*row["messages"], *row["then"]]
    assert mended({"messages": grown}, target)[: len(first)] == first
    colliding = json.loads(json.dumps(grown).replace('"a_2"', json.dumps(given)))
    sent = mended({"messages": colliding}, target)
    assert sent[: len(first)] == first
    assert calls(sent)[2][0] not in ("a", given)
    assert results(sent)[2] == (calls(sent)[2][0], "3")


@case("ID-07", "moonshot/kimi-k2-0905-preview", CLAUDE)
def test_an_id_with_dots_and_colons_stays_where_it_means_something(row: Row, target: str) -> None:
    sent = mended(row, target)
    (call_id,) = [call_id for call_id, _ in calls(sent)]
    assert results(sent) == [(call_id, "ok")]
    if target == CLAUDE:
        assert re.fullmatch("[a-zA-Z0-9_-]+", call_id)
    else:
        assert sent is row["messages"]


@case("ID-09", OPENAI, "gemini/gemini-2.5-flash")
def test_an_id_that_carries_a_signature_is_shortened_or_left_to_the_target_that_reads_it(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    (call_id,) = [call_id for call_id, _ in calls(sent)]
    assert results(sent) == [(call_id, "r")]
    if target == OPENAI:
        assert len(call_id) <= 40
    else:  # LiteLLM takes the signature out of the id on its way to Gemini
        assert sent is row["messages"]


@case("ID-10", "openai/responses/gpt-5", OPENAI, CLAUDE, MISTRAL)
def test_a_composite_id_is_kept_or_made_legal(row: Row, target: str) -> None:
    sent = mended(row, target)
    (call_id,) = [call_id for call_id, _ in calls(sent)]
    legal = {CLAUDE: "[a-zA-Z0-9_-]+", MISTRAL: "[a-zA-Z0-9]{9}", OPENAI: ".{1,40}"}
    assert re.fullmatch(legal.get(target, re.escape("call_abc|fc_def")), call_id)
    assert results(sent) == [(call_id, "r")]


@case("ID-10", OPENAI, CLAUDE, MISTRAL)
def test_composite_ids_that_share_their_first_half_are_not_merged(row: Row, target: str) -> None:
    other = json.loads(json.dumps(row["messages"]).replace("fc_def", "fc_other"))
    sent = mended({"messages": [*row["messages"], *other]}, target)
    assert len({call_id for call_id, _ in calls(sent)}) == 2


@case("ID-12")
def test_a_reused_id_is_made_unique_and_its_first_use_keeps_it(row: Row, target: str) -> None:
    first, second = calls(mended(row, target))
    assert first[0] == "call_0"
    assert second[0] != "call_0"
    assert [text for _, text in results(mended(row, target))] == ["1", "2"]


@case("EMPTY-02")
def test_a_blank_text_beside_an_image_goes_and_the_image_stays(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert sent[0]["content"] == row["messages"][0]["content"][1:]
    assert CONTINUED not in whole(sent)


@case("EMPTY-03")
def test_an_empty_user_message_does_not_join_the_answers_around_it(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert [words for _, words in said(sent)] == ["hi", "hello", CONTINUED, "are you there?", "yes"]
    assert [role for role, _ in said(sent)] == ["user", "assistant", "user", "assistant", "user"]


@case("EMPTY-05")
def test_an_answer_that_failed_does_not_stand_at_the_end(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert sent[0] == row["messages"][0]
    assert sent[-1]["role"] in ("user", "tool")


@case("EMPTY-07")
def test_an_empty_list_of_calls_is_left_out(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert [sorted(message) for message in sent] == [["content", "role"]] * 3
    assert said(sent) == said(row["messages"])


@case("EMPTY-08", "gemini/gemini-2.5-flash", OPENAI)
def test_a_turn_of_calls_without_words_is_no_empty_turn(row: Row, target: str) -> None:
    assert mended(row, target) is row["messages"]


@case("EMPTY-10")
def test_the_cache_marker_of_a_blank_text_moves_to_the_text_before_it(
    row: Row, target: str
) -> None:
    (block,) = mended(row, target)[0]["content"]
    assert block == {"type": "text", "text": "question", "cache_control": {"type": "ephemeral"}}


@case("TURN-02")
def test_a_string_and_a_list_of_one_role_both_survive(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert [words for _, words in said(sent)] == ["plain string", "block", "ok", "k"]


@case("TURN-03")
def test_signed_thinking_after_words_keeps_its_bytes_and_its_place(row: Row, target: str) -> None:
    sent = mended(row, target)
    blocks = whole(row["messages"][2]["content"])
    assert blocks.strip("[]") in whole(sent)
    assert whole(sent).index('"one"') < whole(sent).index('"SIG"') < whole(sent).index("tool_calls")


@case("TURN-05")
def test_a_new_system_message_is_told_where_it_stands(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert said(sent[:3]) == [("system", "base"), ("user", "a"), ("assistant", "b")]
    assert said(sent[3:]) == [("user", f"{SYSTEM_NOTE}new rule"), ("user", "c")]
    before = chatmend.repair(row["messages"][:2], target).messages
    assert sent[: len(before)] == before


@case("TURN-07")
def test_two_system_messages_both_survive(row: Row, target: str) -> None:
    text = whole(mended(row, target))
    assert '"s1"' in text
    assert f'{SYSTEM_NOTE}s2"' in text


@case("TURN-08")
def test_a_system_message_behind_an_answer_is_told_to_mistral_by_the_user(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    assert holder(sent, "note")["role"] == "user"
    assert judge("openai_chat", target, sent) == []


@case("TURN-10")
def test_a_system_message_between_call_and_result_steps_behind_the_result(
    row: Row, target: str
) -> None:
    sent = mended(row, target)
    assert [words for _, words in said(sent)] == ["go", "", "r", f"{SYSTEM_NOTE}reminder", "k"]


@case("TURN-12")
def test_with_thinking_a_conversation_does_not_end_with_the_assistant(
    row: Row, target: str
) -> None:
    sent = mended(row, target, thinking=True)
    assert said(sent) == [("user", "go"), ("assistant", "partial answer"), ("user", CONTINUED)]


@case("TURN-13")
def test_an_unfinished_answer_for_mistral_is_followed_by_a_user(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert said(sent) == [("user", "go"), ("assistant", "partial"), ("user", CONTINUED)]
    assert judge("openai_chat", target, sent) == []


@case("TURN-15")
def test_parallel_results_stand_together_before_the_user(row: Row, target: str) -> None:
    assert [words for _, words in said(mended(row, target))] == ["go", "", "A", "B", "k"]


@case("TURN-17")
def test_a_role_that_nobody_knows_is_told_by_the_user_with_its_name(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert {role for role, _ in said(sent)} == {"user", "assistant"}
    assert "critic: bad answer" in text_of(holder(sent, "bad answer"))
    assert "unknown-role" in {change.rule for change in chatmend.check(row["messages"], target)}


@case("TURN-18", MISTRAL, OPENAI)
def test_the_name_of_a_user_is_said_where_it_may_not_stand_as_a_key(row: Row, target: str) -> None:
    sent = mended(row, target)
    if target == OPENAI:
        assert sent is row["messages"]
    else:
        assert sent[0] == {"role": "user", "content": "alice@x: hi"}


@case("TURN-20")
def test_the_objects_of_the_caller_stay_as_they_were(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert [m for m in sent if any(m is old for old in row["messages"])][-2:] == row["messages"][1:]


@case("THINK-02")
def test_unsigned_thinking_is_not_sent_and_the_answer_is(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert sent[1]["content"] == row["messages"][1]["content"][1:]
    assert said(sent)[1] == ("assistant", "answer")
    signed = {"type": "thinking", "thinking": "u", "signature": "SIG"}
    other = {"role": "assistant", "content": [signed, {"type": "text", "text": "b"}]}
    assert any(
        message is other
        for message in mended({"messages": [*row["messages"], other, sent[0]]}, target)
    )


@case("THINK-03")
def test_signed_thinking_without_words_is_kept(row: Row, target: str) -> None:
    assert mended(row, target) is row["messages"]


@case("THINK-05")
def test_the_thinking_of_another_model_does_not_become_an_answer(row: Row, target: str) -> None:
    done = chatmend.repair(row["messages"], target)
    assert "secret plan" not in whole(mended(row, target))
    assert said(done.messages)[1] == ("assistant", "hi")
    assert "secret plan" in whole(
        [c.before for c in done.changes if c.effect is chatmend.Effect.DROPS]
    )


@case("THINK-07")
def test_a_reasoning_item_of_an_aborted_answer_does_not_become_words(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert [words for role, words in said(sent) if role == "user"] == ["1", "2"]
    assert "rs_a" not in whole(sent)


@case("THINK-08", "openai/gpt-5.2")
def test_an_item_whose_reasoning_was_filtered_is_sent_without_its_id(row: Row, target: str) -> None:
    ((first, answer, last), (part,)) = row["messages"], row["messages"][1]["content"]
    said = [{"type": "output_text", "text": part["text"]}]
    item = {
        "type": "message",
        "id": part["id"],
        "role": answer["role"],
        "status": "completed",
        "content": said,
    }
    sent = chatmend.repair([first, item, last], target, dialect="openai_responses").messages
    assert sent == [first, {"type": "message", "role": "assistant", "content": said}, last]
    assert judge("openai_responses", target, sent) == []


@case("THINK-10")
def test_a_thought_signature_that_cannot_be_one_is_left_out(row: Row, target: str) -> None:
    assert "msg_not_base64!" not in whole(mended(row, target))
    valid = json.loads(
        whole(row["messages"]).replace("msg_not_base64!", "c2lnbmVkIGJ5IGdlbWluaQ==")
    )
    assert chatmend.repair(valid, target).messages is valid


@case("THINK-12")
def test_signed_thinking_of_earlier_turns_stays_in_place(row: Row, target: str) -> None:
    assert mended(row, target) is row["messages"]
    grown = [*row["messages"], *row["then"]]
    assert chatmend.repair(grown, target).messages is grown


@case("THINK-13", OPENAI, "gemini/gemini-2.5-flash", CLAUDE)
def test_redacted_thinking_goes_only_to_its_own_provider(row: Row, target: str) -> None:
    sent = mended(row, target)
    kept = row["messages"][1]["content"]
    assert sent[1]["content"] == (kept if target == CLAUDE else kept[1:])


@case("THINK-13", MISTRAL)
def test_redacted_thinking_does_not_go_to_mistral(row: Row, target: str) -> None:
    assert mended(row, target)[1]["content"] == row["messages"][1]["content"][1:]


@case("ARG-01")
def test_arguments_that_were_cut_off_stay_whole_under_a_key(row: Row, target: str) -> None:
    sent = mended(row, target)
    arguments = json.loads(sent[1]["tool_calls"][0]["function"]["arguments"])
    assert arguments == {
        RAW_ARGUMENTS: row["messages"][1]["tool_calls"][0]["function"]["arguments"]
    }
    assert results(sent) == [("a", "error: bad args")]


@case("ARG-03")
def test_a_call_with_empty_arguments_is_kept(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert answers(sent) == [("f", "r")]
    needs_object = target in (
        CLAUDE,
        "strict",
    )  # the others take an empty text: then it is left alone
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == ("{}" if needs_object else "")


@case("ARG-05")
def test_calls_to_a_tool_that_is_no_longer_offered_are_kept_and_closed(
    row: Row, target: str
) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in row["options"]["tools"]]
    assert answers(mended(row, target, tools=tools)) == [("removed_tool", "done")]
    dangling = {"messages": [message for message in row["messages"] if message["role"] != "tool"]}
    assert answers(mended(dangling, target, tools=tools)) == [("removed_tool", NO_RESULT)]


@case("ARG-06")
def test_halves_of_characters_are_replaced_everywhere_and_whole_ones_are_not(
    row: Row, target: str
) -> None:
    messages = [*row["messages"][:-1], {"role": "user", "content": "k 🙂"}]
    sent = mended({"messages": messages}, target)
    whole(sent).encode()
    assert [words for _, words in said(sent)] == [
        "go \ufffd",
        "bad \ufffd text",
        "r \ufffd",
        "k 🙂",
    ]
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"q": "x\ufffdy"}


@case("META-01", OPENAI, CLAUDE, "strict")
def test_a_valid_transcript_is_the_same_object(row: Row, target: str) -> None:
    done = chatmend.repair(row["messages"], target)
    assert done.messages is row["messages"]
    assert done.changes == ()


@case("META-03")
def test_what_was_sent_is_a_prefix_of_what_is_sent_next_also_when_a_late_result_comes(
    row: Row, target: str
) -> None:
    first = mended(row, target)
    assert answers(first) == [("read_file", NO_RESULT)]
    second = mended({"messages": [*row["messages"], *row["then"]]}, target)
    assert whole(second).startswith(whole(first)[:-1])
    assert f'{NOTE}"LATE"' in text_of(holder(second, "LATE"))
    late = chatmend.check([*row["messages"], *row["then"]], target)
    assert [change.index for change in late if change.rule == "late-tool-result"] == [4]


@case("META-04")
def test_two_processes_with_other_hash_seeds_write_the_same_bytes(row: Row, target: str) -> None:
    script = "import json, sys, chatmend as c; print(json.dumps(c.repair(json.load(sys.stdin), sys.argv[1]).messages))"
    written = {
        subprocess.run(  # noqa: S603 - our own interpreter and script
            [sys.executable, "-c", script, target],
            input=json.dumps(row["messages"]),
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in sampled(["1", "2"], ["1"])  # and that of this process
    }
    assert written == {json.dumps(mended(row, target)) + "\n"}


@case("META-06")
def test_one_id_for_ever_costs_no_recursion_and_mixes_no_results(row: Row, target: str) -> None:
    turns = examples(1_500, 5_000)
    messages: list[Any] = []
    for turn in range(turns):
        asked, called, came = row["messages"][:3]
        messages += [asked, called, {**came, "content": f"r{turn}"}]
    sent = chatmend.repair(messages, target).messages
    assert_paired(sent)
    assert [text for _, text in results(sent)] == [f"r{turn}" for turn in range(turns)]
    if target != OPENAI:
        assert len({call_id for call_id, _ in calls(sent)}) == turns


@case("META-08", MISTRAL, "hosted_vllm/mistralai/Mistral-7B-Instruct-v0.3")
def test_mistrals_own_validator_takes_the_repair(row: Row, target: str) -> None:
    sent = mended(row, target)
    assert judge("openai_chat", target, sent) == []
    assert [words for _, words in said(sent) if words not in ("", CONTINUED)] == [
        "s", "u", "both", "r", "mid", "tail", f"{SYSTEM_NOTE}late", "x", "k",
    ]  # fmt: skip
