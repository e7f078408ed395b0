"""The failures that people reported in public threads: what is repaired today stays repaired."""

from __future__ import annotations

import pytest

from tests.field import ABRIDGED, cases, faults, is_refused
from tests.field_turns import Turn, pairing, turns_of

CASES = {case["id"]: case for case in cases()}
_REPAIRED = """
F001 F004 F005 F006 F007 F011 F012 F013 F023 F027 F032 F033 F039 F040 F041 F046 F047 F048 F053 F054 F058 F059 F060
F066 F068 F069 F071 F074 F082 F083 F084 F087 F088 F089 F090 F098 F099 F100 F102 F108 F109 F111 F113 F116 F117 F119
F124 F125 F126 F127 F129 F130 F137 F139 F141 F142 F144 F148 F149 F152 F153 F157 F161 F162 F163 F165 F169 F170 F171
F173 F175 F178 F181 F182 F183 F185 F186 F187 F188 F189 F190 F193 F195 F196 F197 F199 F203 F205 F206 F207 F208 F209
F210 F211 F212 F213 F214 F219 F220 F222 F225 F227 F228 F229 F230 F233 F234 F235
"""
REPAIRED = _REPAIRED.split()
"""What ``make field`` counts as repaired; add what is repaired anew."""

at_hand = pytest.mark.skipif(
    not CASES, reason="corpus/field_cases.jsonl is not at hand; see tests/corpus.py"
)


@at_hand
def test_each_predicate_refuses_what_the_provider_refused() -> None:
    assert [name for name, case in CASES.items() if not is_refused(case)] == []


@at_hand
@pytest.mark.parametrize("name", REPAIRED)
def test_what_is_repaired_stays_repaired(name: str) -> None:
    assert faults(CASES[name]) == []


@at_hand
def test_no_failure_is_an_exception() -> None:
    found = {name: faults(case) for name, case in CASES.items()}
    assert [name for name, why in found.items() if why and why[0].startswith("exception")] == []
    assert CASES.keys() >= ABRIDGED.keys()


def _pairing(*said: dict[str, object]) -> tuple[list[object], list[object]]:
    turns: list[Turn] = turns_of("anthropic_messages", {"messages": list(said)})
    return pairing(turns)


def _use(*ids: str) -> dict[str, object]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": one, "name": "n", "input": {}} for one in ids],
    }


def _result(*ids: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": one} for one in ids]}


def test_a_call_is_answered_only_directly_after_it() -> None:
    user = {"role": "user", "content": "b"}
    assert _pairing(_use("1", "2"), _result("2"), _result("1"), user) == ([], [])
    assert _pairing(_use("1"), _use("2"), _result("1", "2")) == ([], [])
    assert _pairing(_use("1", "2"), _result("2"), user, _result("1")) == (["1"], ["1"])
    assert _pairing(_use("1"), {"role": "assistant", "content": "x"}, _result("1")) == (
        ["1"],
        ["1"],
    )
    assert _pairing(user, _result("9")) == ([], ["9"])
    assert _pairing(_use("1"), _result("1", "1")) == ([], ["1"])
    assert _pairing(_use("1"), _result("1"), _use("1"), user) == (["1"], [])
