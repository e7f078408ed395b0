"""The sandbox refuses from now on what it accepted before, so that reactions can be tested."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import chatmend
from tests.corpus import rows, there

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

HEADERS = {"x-api-key": "any", "authorization": "Bearer any", "anthropic-version": "2023-06-01"}
CHAT, MESSAGES = "openai/v1/chat/completions", "anthropic/v1/messages"
USER = {"role": "user", "content": "q"}


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(headers=HEADERS, timeout=30) as made:
        yield made


def body(messages: list[Any], model: str = "gpt-4o") -> dict[str, Any]:
    return {"model": model, "messages": messages, "max_tokens": 99}


def two_users(request: dict[str, Any]) -> str | None:
    """The position of a message of the user directly after another one."""
    roles = [message["role"] for message in request["messages"]]
    pairs = [at for at in range(1, len(roles)) if roles[at - 1] == roles[at] == "user"]
    return f"messages[{pairs[0]}]" if pairs else None


def test_other_requests_stay_accepted(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.refuse(two_users, "never {at}", model="gpt-4o*")
    assert client.post(sandbox.url(CHAT), json=body([USER])).status_code == 200
    assert client.post(sandbox.url(CHAT), json=body([USER, USER], "gpt-4.1")).status_code == 200


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_refusal_has_the_format_of_the_provider_and_lasts(
    sandbox: Sandbox, client: httpx.Client, path: str
) -> None:
    model = "gpt-4o" if path == CHAT else "claude-opus-4-8"
    sandbox.refuse(two_users, "{at}: roles must alternate", status=422)
    for _ in range(2):
        answer = client.post(sandbox.url(path), json=body([USER, USER], model))
        assert answer.status_code == 422
        assert answer.json()["error"]["message"] == "messages[1]: roles must alternate"
    assert [verdict.rule for verdict in sandbox.refusals] == ["scripted", "scripted"]


def test_clear_ends_it(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.refuse(two_users, "{at}: roles must alternate")
    sandbox.clear()
    assert client.post(sandbox.url(CHAT), json=body([USER, USER])).status_code == 200


def test_a_reaction_is_accepted(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.refuse(two_users, "{at}: conversation roles must alternate user/assistant")
    sent = body([USER, USER])
    refused = client.post(sandbox.url(CHAT), json=sent)
    reaction = chatmend.react(sent, "openai/gpt-4o", refused.json())
    assert reaction is not None
    assert client.post(sandbox.url(CHAT), json=reaction.body).status_code == 200


PATHS = {
    "anthropic_messages": (MESSAGES, "messages", "anthropic"),
    "openai_responses": ("openai/v1/responses", "input", "openai"),
}
CASES = [case for case in rows("field_cases") if case["needs"] == "answer"]


@pytest.mark.skipif(not there("field_cases"), reason="the corpus is not on this machine")
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_reported_failures_that_only_the_answer_shows_end_accepted(
    sandbox: Sandbox, client: httpx.Client, case: dict[str, Any]
) -> None:
    """The sandbox refuses the request as it was, with the text of the report."""
    path, key, _ = PATHS[case["format"]]
    model = case["target"].rpartition("/")[2]
    repaired = chatmend.repair_request(case["body"], case["target"]).body
    sent = {**repaired, "model": model, **({"max_tokens": 99} if key == "messages" else {})}
    sandbox.refuse(lambda request: request[key] == sent[key], case["error"])
    refused = client.post(sandbox.url(path), json=sent)
    assert refused.status_code == 400
    reaction = chatmend.react(sent, case["target"], case["error"], dialect=case["format"])
    assert reaction is not None
    answer = client.post(sandbox.url(path), json=reaction.body)
    assert answer.status_code == 200, answer.text
    assert all(word in json.dumps(reaction.body) for word in case["kept"])
