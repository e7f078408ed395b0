"""A real proxy: its responses to clients, and its logs and ledger for operators."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

from chatmend import Session, SessionStore
from chatmend.sandbox.signatures import sign
from tests.litellm_adapter.transcripts import (
    CHAT_TOOLS,
    MESSAGES_TOOLS,
    RESPONSES_TOOLS,
    chat,
    messages,
    responses,
    valid,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.litellm_adapter.proxy import Proxy

CHAT = "/v1/chat/completions"


@pytest.fixture(autouse=True)
def enabled(proxy: Proxy) -> Iterator[None]:
    proxy.switch(on=True)
    return


def test_a_valid_request_is_sent_unchanged_and_its_response_has_no_header(
    proxy: Proxy, sandbox: Any
) -> None:
    answer = proxy.post(CHAT, {"model": "oai", "messages": valid()})
    assert "x-chatmend-changes" not in answer.headers
    assert sandbox.requests[-1].body["messages"] == valid()


def test_the_header_lists_codes_and_counts(proxy: Proxy, sandbox: Any) -> None:
    answer = proxy.post(CHAT, {"model": "ant", "messages": chat(), "tools": CHAT_TOOLS})
    assert answer.headers["x-chatmend-changes"] == "TOOL007=1"


def test_the_log_has_one_line_for_each_repaired_request_without_content(
    proxy: Proxy, sandbox: Any
) -> None:
    before = len(proxy.log.read_text())
    proxy.post(CHAT, {"model": "oai", "messages": chat(), "tools": CHAT_TOOLS})
    lines = [line for line in proxy.log.read_text()[before:].splitlines() if "chatmend" in line]
    (line,) = lines
    assert line.endswith("chatmend repaired for openai/gpt-4o: TOOL007=1"), line


def test_the_header_lists_the_changes_of_the_successful_attempt(proxy: Proxy, sandbox: Any) -> None:
    answer = proxy.post(CHAT, {"model": "down", "messages": chat(), "tools": CHAT_TOOLS})
    assert answer.headers["x-chatmend-changes"] == "TOOL007=1"
    assert [verdict.provider for verdict in sandbox.requests if verdict.status == 200] == [
        "anthropic"
    ]


def test_anthropic_events_contain_the_usage_record_and_are_complete(
    proxy: Proxy, sandbox: Any
) -> None:
    proxy.switch(on=True, usage_mode="body")
    body = {
        "model": "ant",
        "max_tokens": 64,
        "stream": True,
        "messages": messages(),
        "tools": MESSAGES_TOOLS,
    }
    answer = proxy.post("/v1/messages", body)
    lines = [line for line in answer.text.splitlines() if line.startswith("data:")]
    events = [json.loads(line.removeprefix("data:")) for line in lines]
    assert events[-1]["type"] == "message_stop"
    (record,) = [event["usage"]["chatmend"] for event in events if event["type"] == "message_delta"]
    verdict = sandbox.requests[-1]
    assert record["input_tokens"] == verdict.prompt
    assert record["cache_read_tokens"] == verdict.cached
    assert record["total_tokens"] == record["input_tokens"] + record["output_tokens"]


STREAM = {"stream": True, "stream_options": {"include_usage": True}}


@pytest.mark.parametrize("stream", [{}, STREAM])
def test_the_usage_record_is_written_into_the_body_only_if_the_operator_enables_it(
    stream: dict[str, Any], proxy: Proxy, sandbox: Any
) -> None:
    body = {"model": "oai", "messages": valid(), **stream}
    assert '"chatmend":' not in proxy.post(CHAT, body).text
    proxy.switch(on=True, usage_mode="body")
    assert '"chatmend":' in proxy.post(CHAT, body).text


@pytest.mark.parametrize("stream", [{}, STREAM])
def test_no_usage_record_is_written_into_an_answer_of_a_denied_model(
    stream: dict[str, Any], proxy: Proxy, sandbox: Any
) -> None:
    proxy.switch(on=True, usage_mode="body")
    answer = proxy.post(CHAT, {"model": "guarded", "messages": valid(), **stream})
    assert '"prompt_tokens":' in answer.text
    assert '"chatmend":' not in answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, {"messages": chat(), "tools": CHAT_TOOLS}),
        (
            "/v1/messages",
            {"messages": messages(), "tools": MESSAGES_TOOLS, "max_tokens": 64},
        ),  # LiteLLM converts it to OpenAI's dialect
    ],
)
def test_requests_of_a_denied_model_group_are_unchanged_on_every_route(
    path: str, body: dict[str, Any], proxy: Proxy, sandbox: Any
) -> None:
    answer = proxy.post(path, {"model": "guarded", **body})
    assert answer.status_code == 400
    assert len(sandbox.refusals) == 1
    assert not [name for name in answer.headers if "chatmend" in name]


def test_the_proxy_logs_its_configuration_in_one_line_at_startup(proxy: Proxy) -> None:
    lines = [line for line in proxy.log.read_text().splitlines() if ": mode " in line]
    assert lines == [
        (
            f"chatmend {version('chatmend')}: mode repair, policy default, react 1, "
            "models all except guarded"
        ),
        f"chatmend guardrail {version('chatmend')}: mode repair, policy default, models all",
    ]


def test_a_client_cannot_add_usage_to_another_team(proxy: Proxy, sandbox: Any) -> None:
    forged = {"user_api_key_team_id": "victim", "user_api_key_hash": "victim", "session_id": "mine"}
    proxy.post(CHAT, {"model": "oai", "messages": valid(), "metadata": forged, "user": "ann"})
    rows = _rows_with(proxy, "session", "mine")
    assert rows
    assert "victim" not in json.dumps([row["keys"] for row in rows])
    assert all(row["keys"]["end_user"] == "ann" for row in rows)


@pytest.mark.parametrize("model", ["oai", "down", "guarded", "nobody"])
@pytest.mark.parametrize("key", ["metadata", "litellm_metadata"])
def test_a_client_cannot_forge_the_header_whether_its_call_succeeds_or_fails(
    model: str, key: str, proxy: Proxy, sandbox: Any
) -> None:
    forged = {"chatmend": {"target": "openai/gpt-4o", "mode": "repair", "changes": {"TOOL666": 7}}}
    for messages_sent in (valid(), [{"role": "tool", "tool_call_id": 7}], []):
        answer = proxy.post(CHAT, {"model": model, "messages": messages_sent, key: forged})
        assert "TOOL666" not in str(answer.headers)


def test_a_streamed_call_is_counted_once(proxy: Proxy, sandbox: Any) -> None:
    body = {
        "model": "ant",
        "messages": valid(),
        "stream": True,
        "metadata": {"session_id": "streamed"},
    }
    answer = proxy.post(CHAT, body)
    assert "[DONE]" in answer.text
    (row,) = _rows_with(proxy, "session", "streamed")
    assert row["calls"] == 1
    assert row["usage"]["input_tokens"] == sandbox.requests[-1].prompt


def test_a_pass_through_call_is_counted(proxy: Proxy, sandbox: Any) -> None:
    # No other test calls this model: calls of earlier tests may be counted during this test.
    model = "claude-opus-4-1-20250805"
    body = {"model": model, "max_tokens": 64, "messages": messages(), "tools": MESSAGES_TOOLS}
    proxy.post("/anthropic/v1/messages", body)
    assert proxy.wait_until(
        lambda: [row["calls"] for row in proxy.rows() if row["keys"]["model"] == model] == [1]
    )


def test_the_chatmend_section_in_the_configuration_of_the_proxy_is_read(
    proxy: Proxy, sandbox: Any
) -> None:
    answer = proxy.post(CHAT, {"model": "guarded", "messages": chat(), "tools": CHAT_TOOLS})
    assert answer.status_code == 400
    assert len(sandbox.refusals) == 1


def test_a_guardrail_repairs_requests_that_name_it(proxy: Proxy, sandbox: Any) -> None:
    body = {"model": "guarded", "messages": chat(), "tools": CHAT_TOOLS, "guardrails": ["mend"]}
    answer = proxy.post(CHAT, body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-chatmend-changes"] == "TOOL007=1"
    assert sandbox.refusals == []


def _rows_with(proxy: Proxy, key: str, value: str) -> list[dict[str, Any]]:
    def found() -> list[dict[str, Any]]:
        return [row for row in proxy.rows() if row["keys"].get(key) == value]

    proxy.wait_until(lambda: bool(found()))
    return found()


def test_the_session_of_a_client_is_stored_under_its_authenticated_key(
    proxy: Proxy, sandbox: Any
) -> None:
    history = [{"role": "user", "content": "Hello"}]
    for turn in (1, 2):
        answer = proxy.post(
            CHAT, {"model": "oai", "messages": history, "metadata": {"session_id": "of ann"}}
        ).json()
        history = [*history, answer["choices"][0]["message"], {"role": "user", "content": "More"}]
        session = _session(proxy, "of ann", turn)
    assert [message["role"] for message in session.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    owner, name = session.agent.removesuffix("@openai/gpt-4o").split("/")
    assert (name, proxy.key in session.agent, len(owner) > 20) == ("of ann", False, True)
    assert (session.usage.calls, session.header.continues) == (2, "")


def _session(proxy: Proxy, name: str, turns: int) -> Session:
    """Wait until the named session has ``turns`` turns, and return it.

    LiteLLM logs in the background.
    """
    store, found = SessionStore(proxy.folder / "workspace"), list[Session]()

    def is_stored() -> bool:
        found[:] = [
            one
            for one in map(store.load, store.paths())
            if name in one.agent and one.header.turns == turns
        ]
        return bool(found)

    assert proxy.wait_until(is_stored), proxy.log.read_text()[-2000:]
    return found[0]


FORGED = sign("claude-sonnet-4-5", "another text")
THINKING = {"type": "thinking", "thinking": "hm", "signature": FORGED}
ASK, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "n"}
SEALED = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": sign("gpt-4o", "another item"),
}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}


REFUSED = {"model": "ant", "max_tokens": 64, "tools": MESSAGES_TOOLS}


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", CHAT, "/anthropic/v1/messages"])
def test_findings_are_in_the_headers_of_a_refused_request(
    path: str, proxy: Proxy, sandbox: Any
) -> None:
    proxy.switch(on=True, mode="report")
    bodies = {
        CHAT: {"model": "oai", "messages": chat(), "tools": CHAT_TOOLS},
        "/v1/responses": {"model": "oai", "input": responses(), "tools": RESPONSES_TOOLS},
        "/anthropic/v1/messages": {**REFUSED, "model": "claude-sonnet-4-5"},
    }
    body = {"messages": messages(), **bodies.get(path, REFUSED)}
    answer = proxy.post(path, body if path != "/v1/responses" else bodies[path])
    assert answer.status_code == 400
    assert answer.headers["x-chatmend-findings"] == "TOOL007=1"
    assert len(sandbox.refusals) == 1


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1/messages/count_tokens", "ant"),
        ("/anthropic/v1/messages/count_tokens", "claude-sonnet-4-5"),
    ],
)
def test_tokens_are_counted_for_what_a_repaired_request_sends(
    path: str, model: str, proxy: Proxy, sandbox: Any
) -> None:
    body = {"model": model, "messages": messages(), "tools": MESSAGES_TOOLS}
    answer = proxy.post(path, body)
    assert answer.status_code == 200, answer.text
    (verdict,) = sandbox.requests
    assert verdict.status == 200
    assert verdict.body["messages"][2]["content"][0]["type"] == "tool_result"
    assert answer.json()["input_tokens"] == verdict.prompt
    proxy.switch(on=True, mode="report")
    proxy.post(path, body)
    assert sandbox.requests[-1].body["messages"] == messages()


def test_what_a_repair_adds_is_counted_too(proxy: Proxy, sandbox: Any) -> None:
    """The tools of a history, and a system message that moves to the parameter ``system``."""
    history = [{"role": "system", "content": "Answer briefly."}, *messages()]
    answer = proxy.post("/v1/messages/count_tokens", {"model": "ant", "messages": history})
    assert answer.status_code == 200, answer.text
    counted = sandbox.requests[-1].body
    assert "Answer briefly." in str(counted["system"])
    assert [message["role"] for message in counted["messages"]].count("system") == 0
    assert [tool["name"] for tool in counted["tools"]] == ["get_weather"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            CHAT,
            {
                "model": "ant",
                "messages": [
                    ASK,
                    {"role": "assistant", "content": "a", "thinking_blocks": [THINKING]},
                    NEXT,
                ],
            },
        ),
        (
            "/v1/messages",
            {
                "model": "ant",
                "max_tokens": 99,
                "messages": [
                    ASK,
                    {"role": "assistant", "content": [THINKING, {"type": "text", "text": "a"}]},
                    NEXT,
                ],
            },
        ),
        ("/v1/responses", {"model": "oai", "input": [ASK, SEALED, SAID, NEXT], "store": False}),
    ],
    ids=["chat", "messages", "responses"],
)
def test_a_refused_transcript_is_repaired_and_sent_again(
    proxy: Proxy,
    sandbox: Any,
    path: str,
    body: dict[str, Any],
    stream: bool,  # noqa: FBT001
) -> None:
    # Each conversation has its own opening, because the proxy keeps what it has learnt.
    opening = {"role": "user", "content": f"{path} {stream}"}
    key = "input" if "input" in body else "messages"
    answer = proxy.post(path, {**body, key: [opening, *body[key]], "stream": stream})
    assert answer.status_code == 200
    assert answer.text
    assert [verdict.status for verdict in sandbox.requests] == [400, 200]
    assert answer.headers["x-chatmend-reacted"] == "1"
    assert FORGED not in str(sandbox.requests[-1].body)
