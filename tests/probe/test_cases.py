"""The conversations that `chatmend probe` sends test one limit each, and nothing else."""

from __future__ import annotations

import json

import pytest

import chatmend
from chatmend.probe.cases import Case, cases, controls
from chatmend.probe.endpoint import Endpoint, find_endpoint
from chatmend.probe.requests import body_of
from chatmend.probe.run import plan
from chatmend.targets.tables import host_tables

MODEL = "llama3.1"
"""For servers whose table names no model."""
HOSTS = [
    host["host"] if "model" in host["probe"] else f"{host['host']}/{MODEL}"
    for host in host_tables()
    if "probe" in host
]
NOT_SEEN = {"thinking with a signature of another provider"}
"""Forms that only the provider can tell from sound ones."""


def changes(endpoint: Endpoint, case: Case) -> list[str]:
    """The codes of what chatmend would change in the request of a case."""
    body = body_of(case, endpoint.dialect, endpoint.model, endpoint.tokens_key)
    done = chatmend.repair_request(body, endpoint.target.name, dialect=endpoint.dialect)
    return [change.code for change in done.changes]


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_is_found_in_a_case_unless_its_own_limit_forbids_it(host: str) -> None:
    endpoint = find_endpoint(host)
    for case in plan(endpoint).cases:
        found = changes(endpoint, case)
        assert bool(found) is case.is_refused or case.form in NOT_SEEN, (case.name, found)


@pytest.mark.parametrize("host", HOSTS)
def test_the_controls_are_sound_everywhere(host: str) -> None:
    endpoint = find_endpoint(host)
    for case in controls(endpoint.limits):
        assert changes(endpoint, case) == []


@pytest.mark.parametrize("host", HOSTS)
def test_every_case_has_a_name_of_its_own_and_one_output_token(host: str) -> None:
    endpoint = find_endpoint(host)
    todo = plan(endpoint)
    names = [case.name for case in todo.cases]
    assert len(set(names)) == len(names)
    for case in todo.cases:
        body = todo.body(case)
        asked = body.get(endpoint.tokens_key) or body["generationConfig"]["maxOutputTokens"]
        assert asked == 1
        assert json.loads(json.dumps(body)) == body


def test_a_case_is_the_same_in_every_format() -> None:
    (case,) = [
        case
        for case in cases(chatmend.resolve("openai/gpt-4o").limits, "openai_chat")
        if case.form == "two results in the other order"
    ]
    bodies = {
        dialect: body_of(case, dialect, "m", "max_tokens")
        for dialect in ("openai_chat", "anthropic_messages", "gemini_contents")
    }
    assert [message["role"] for message in bodies["openai_chat"]["messages"]] == [
        *("user", "assistant", "tool", "tool", "assistant", "user"),
    ]
    asked, heard = bodies["anthropic_messages"]["messages"][1:3]
    assert [block["id"] for block in asked["content"]] == ["abcdEFG12", "hijkLMN34"]
    assert [block["tool_use_id"] for block in heard["content"]] == ["hijkLMN34", "abcdEFG12"]
    asked, heard = bodies["gemini_contents"]["contents"][1:3]
    assert [part["functionCall"]["name"] for part in asked["parts"]] == ["read_file", "list_files"]
    assert [part["functionResponse"]["name"] for part in heard["parts"]] == [
        *("list_files", "read_file"),
    ]
