"""The sandbox refuses from now on what it accepted before, so that reactions can be tested."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import chatmend
from chatmend.sandbox import Reply
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


def test_a_change_ends_with_its_block_or_its_removal(
    sandbox: Sandbox, client: httpx.Client
) -> None:
    sent = body([USER, USER])
    with sandbox.refuse(two_users, "first {at}"):
        change = sandbox.refuse(two_users, "second {at}")
        assert "first messages[1]" in client.post(sandbox.url(CHAT), json=sent).text
    assert "second messages[1]" in client.post(sandbox.url(CHAT), json=sent).text
    change.remove()
    change.remove()
    assert client.post(sandbox.url(CHAT), json=sent).status_code == 200


def test_a_change_can_be_limited_to_a_provider(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.refuse(two_users, "no", provider="openai")
    sent = body([USER, USER])
    assert client.post(sandbox.url(CHAT), json=sent).status_code == 400
    azure = sandbox.url("azure/openai/v1/chat/completions")
    assert client.post(azure, json=sent).status_code == 200


STATUSES = {"not_found_error": 404, "api_error": 500}


@pytest.mark.parametrize(
    ("path", "model", "error"),
    [
        (MESSAGES, "claude-opus-4-8", {"type": "invalid_request_error", "message": "no"}),
        (MESSAGES, "claude-opus-4-8", {"type": "not_found_error", "message": "no"}),
        (MESSAGES, "claude-opus-4-8", {"type": "api_error", "message": "no"}),
        (
            "gemini/v1beta/models/gemini-2.5-flash:generateContent",
            "",
            {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"},
        ),
        ("openrouter/api/v1/chat/completions", "x/y", {"message": "no", "code": 400}),
    ],
)
def test_the_error_type_fits_the_status(
    sandbox: Sandbox, client: httpx.Client, path: str, model: str, error: Any
) -> None:
    status = STATUSES.get(error.get("type"), 400)
    sandbox.refuse(lambda _: True, "no", status=status)
    contents = {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}
    answer = client.post(sandbox.url(path), json=body([USER], model) if model else contents)
    assert (answer.status_code, answer.json()["error"]) == (status, error)


def test_a_status_without_an_error_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="status must be 400 to 599, not 200"):
        sandbox.refuse(two_users, "no", status=200)


RESPONSES = "openai/v1/responses"


def respond(sandbox: Sandbox, client: httpx.Client, items: Any, **more: Any) -> httpx.Response:
    return client.post(
        sandbox.url(RESPONSES), json={"model": "gpt-5", "input": items, "reasoning": {}, **more}
    )


def stored(sandbox: Sandbox, client: httpx.Client, **more: Any) -> dict[str, Any]:
    """An answer with reasoning and a message."""
    sandbox.script([Reply(text="a", thought="t")])
    answer: dict[str, Any] = respond(sandbox, client, "q", **more).json()
    return answer


def test_an_expired_item_is_not_found(sandbox: Sandbox, client: httpx.Client) -> None:
    output = stored(sandbox, client)["output"]
    items = [USER, *output, USER]
    name = output[0]["id"]
    assert name.startswith("rs_")
    assert respond(sandbox, client, items).status_code == 200
    with sandbox.expire(name):
        answer = respond(sandbox, client, items)
        assert (answer.status_code, answer.json()["error"]["message"]) == (
            404,
            f"Item with id '{name}' not found.",
        )
        reference = [USER, {"type": "item_reference", "id": name}, output[1], USER]
        assert respond(sandbox, client, reference).status_code == 404
        assert respond(sandbox, client, [USER, *output[1:], USER]).status_code == 200
    assert respond(sandbox, client, items).status_code == 200


def test_encrypted_reasoning_does_not_expire_where_nothing_is_stored(
    sandbox: Sandbox, client: httpx.Client
) -> None:
    more = {"store": False, "include": ["reasoning.encrypted_content"]}
    output = stored(sandbox, client, **more)["output"]
    sandbox.expire(output[0]["id"])
    assert respond(sandbox, client, [USER, *output, USER], **more).status_code == 200


def test_an_expired_response_is_not_found(sandbox: Sandbox, client: httpx.Client) -> None:
    name = stored(sandbox, client)["id"]
    assert respond(sandbox, client, "q", previous_response_id=name).status_code == 200
    sandbox.expire(name)
    answer = respond(sandbox, client, "q", previous_response_id=name).json()["error"]
    assert answer["message"] == f"Previous response with id '{name}' not found."
    assert answer["code"] == "previous_response_not_found"


def document(name: str) -> dict[str, Any]:
    source = {"type": "file", "file_id": name}
    return {"role": "user", "content": [{"type": "document", "source": source}]}


FILES = {
    "openai": (
        RESPONSES,
        {
            "model": "gpt-5",
            "input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}],
        },
        (404, "No such File object: file-1"),
    ),
    "openai-chat": (
        CHAT,
        body([{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]),
        (404, "No such File object: file-1"),
    ),
    "anthropic": (
        MESSAGES,
        body([document("file-1")], "claude-opus-4-8"),
        (404, "File not found: file-1"),
    ),
    "gemini": (
        "gemini/v1beta/models/gemini-2.5-flash:generateContent",
        {
            "contents": [
                {
                    "role": "user",
                    "parts": [
                        {
                            "fileData": {
                                "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/file-1",
                                "mimeType": "image/png",
                            }
                        }
                    ],
                }
            ]
        },
        (
            403,
            "You do not have permission to access the File file-1 or it may not exist.",
        ),
    ),
}


@pytest.mark.parametrize("provider", FILES)
def test_an_expired_file_is_not_found(
    sandbox: Sandbox, client: httpx.Client, provider: str
) -> None:
    path, sent, expected = FILES[provider]
    sandbox.expire("file-2")
    accepted = client.post(sandbox.url(path), json=sent)
    assert accepted.status_code == 200, accepted.text
    sandbox.expire("file-1")
    answer = client.post(sandbox.url(path), json=sent)
    assert (answer.status_code, answer.json()["error"]["message"]) == expected
