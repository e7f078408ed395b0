"""The comparison with others counts what it says it counts."""

from __future__ import annotations

import pytest
from benchmarks.compare import (
    CHATMEND,
    DIALECT,
    NATIVE,
    TARGETS,
    UNREPAIRED,
    Score,
    changes_prefix,
    full_table,
    lost_tokens,
    scores_of,
    summary_table,
    transcript,
)
from benchmarks.peers import PEERS

from tests.judges import judge
from tests.scale import examples

CALL = {
    "id": "abcdefghi",
    "type": "function",
    "function": {"name": "f", "arguments": '{"a": "tok00001x"}'},
}
SAID = {"role": "user", "content": "go tok00002x"}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CAME = {"role": "tool", "tool_call_id": "abcdefghi", "content": "tok00003x"}
VALID = [SAID, CALLED, CAME, {"role": "assistant", "content": "done tok00004x"}, SAID]
JOINED = "langchain-core `merge_message_runs`"


@pytest.mark.parametrize("peer", PEERS)
def test_what_is_valid_stays_valid_and_whole_with_everybody(peer: str) -> None:
    run, target = PEERS[peer], TARGETS["OpenAI"]
    done = run(VALID, target)
    assert judge(DIALECT, target, done) == []
    assert lost_tokens(VALID, done, []) == set()
    assert not changes_prefix(run, target, VALID, done)


def test_a_text_that_is_not_sent_is_lost_unless_a_report_has_it() -> None:
    assert lost_tokens(VALID, VALID[:-2], []) == {"tok00004x"}
    assert lost_tokens(VALID, VALID[:-2], VALID[-2:]) == set()


def test_a_result_that_arrives_late_moves_the_prefix_of_those_that_wait_for_it() -> None:
    late = [SAID, CALLED, SAID, {"role": "assistant", "content": "wait"}, CAME]
    moved = {
        peer: changes_prefix(run, "openai/gpt-4o", late, run(late, "openai/gpt-4o"))
        for peer, run in PEERS.items()
    }
    assert moved["turnsafe `repair`"]
    assert not moved[CHATMEND]


def test_ours_is_accepted_everywhere_and_the_tables_have_a_row_for_everybody() -> None:
    tried = examples(3, 6)
    scores = {key: Score() for key in scores_of(0)}
    for number in range(tried):
        scores = {key: scores[key] + one for key, one in scores_of(number).items()}
    assert all(scores[CHATMEND, name] == Score() for name in (*TARGETS, *NATIVE))
    for names in (TARGETS, NATIVE):
        assert sum(scores[UNREPAIRED, name].refused for name in names) > 0
    assert all(f"| {peer} |" in summary_table(scores, tried) for peer in PEERS)
    rows = {tuple(row.split(" | ")[:2]) for row in full_table(scores, tried).splitlines()[2:]}
    by_all = {(f"| {name}", peer) for name in TARGETS for peer in PEERS}
    assert rows == by_all | {
        (f"| {name}", peer) for name in NATIVE for peer in (UNREPAIRED, CHATMEND)
    }


def test_every_second_transcript_has_one_defect() -> None:
    assert transcript(0) != transcript(2)
    assert transcript(0) == transcript(0)
