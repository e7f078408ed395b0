"""The inspector recognises what was pasted, and says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatmend.inspect.recognition import recognise
from chatmend.inspect.target_choices import choices, guess
from chatmend.targets import resolve

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
BODY = {"model": "gpt-4o", "messages": CHAT}
REFUSAL = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
)


def har(*entries: tuple[str, object, int, str]) -> str:
    return json.dumps(
        {
            "log": {
                "entries": [
                    {
                        "request": {"url": url, "postData": {"text": json.dumps(body)}},
                        "response": {"status": status, "content": {"text": answer}},
                    }
                    for url, body, status, answer in entries
                ]
            }
        }
    )


@pytest.mark.parametrize(
    ("pasted", "kind", "said"),
    [
        ("", "nothing", "Nothing to inspect"),
        ("  \n", "nothing", "Nothing to inspect"),
        (json.dumps(CHAT), "conversation", "OpenAI Chat Completions: 2 messages"),
        ("\ufeff" + json.dumps(CHAT), "conversation", "2 messages"),
        (json.dumps(BODY), "conversation", "A request body in the format of OpenAI Chat"),
        (json.dumps(CHAT[0]), "conversation", "1 message."),
        (
            json.dumps({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
            "conversation",
            "Gemini",
        ),
        (
            json.dumps({"input": [{"type": "function_call_output", "call_id": "c"}]}),
            "conversation",
            "OpenAI Responses",
        ),
        (
            json.dumps([{"type": "human", "data": {"content": "hi"}}]),
            "conversation",
            "stored by LangChain: 1 message",
        ),
        (json.dumps({"request": BODY, "time": 1}), "conversation", "found inside a log"),
        (REFUSAL, "error", "error text"),
        (f"Error code: 400 - {{'error': {{'message': {REFUSAL!r}}}}}", "error", "error text"),
        (json.dumps({"type": "error", "error": {"message": REFUSAL}}), "error", "error text"),
        (json.dumps({"usage": {"input_tokens": 3, "output_tokens": 4}}), "usage", "one response"),
        ("nonsense", "unknown", "Not recognised"),
        ("[1, 2, 3]", "unknown", "Not recognised"),
        ("[]", "unknown", "the list is empty"),
        ('{"messages": [}', "unknown", "line 1, column 15"),
        ("[" * 100_000, "unknown", "Not recognised"),
        ("curl https://api.openai.com/v1/models", "unknown", "without a request body"),
        (json.dumps({"log": {"entries": []}}), "unknown", "HAR file without a request"),
    ],
)
def test_what_was_pasted_is_recognised(pasted: str, kind: str, said: str) -> None:
    found = recognise(pasted)
    assert found.kind == kind
    assert said in found.said


def test_a_request_and_an_error_below_it_are_both_read() -> None:
    found = recognise(json.dumps(BODY, indent=2) + "\n\n" + REFUSAL)
    assert found.conversation == BODY
    assert found.error == REFUSAL


def test_a_request_and_the_answer_that_refused_it_are_both_read() -> None:
    answer = json.dumps({"type": "error", "error": {"message": REFUSAL}})
    for pasted in (f"{json.dumps(BODY)}\n{answer}", f"{json.dumps(BODY, indent=1)}\n{answer}"):
        found = recognise(pasted)
        assert found.conversation == BODY
        assert found.error == answer
        assert found.rows is None


MANY = [{"messages": [*CHAT, {"role": "user", "content": str(number)}]} for number in range(3)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("\n".join(map(json.dumps, MANY)), "line"),
        ("\ufeff" + "\r\n\n".join(map(json.dumps, MANY)) + "\n", "line"),
        ("\n".join(json.dumps(row["messages"]) for row in MANY), "line"),
        ("\n".join(json.dumps(row, indent=2) for row in MANY), "item"),
        (json.dumps(MANY), "item"),
        (json.dumps([row["messages"] for row in MANY]), "item"),
        (json.dumps([{"custom_id": "a", "body": row} for row in MANY]), "item"),
    ],
)
def test_each_conversation_of_a_text_is_a_row(text: str, what: str) -> None:
    assert "3 messages" in recognise(text).said
    for row in range(3):
        found = recognise(text, row)
        assert found.rows is not None
        assert (found.rows.what, len(found.rows.texts), found.rows.at) == (what, 3, row)
        assert found.said.startswith(f"{what.capitalize()} {row + 1} of 3. ")
        assert f'"content": "{row}"' in json.dumps(found.conversation)
        assert recognise(found.rows.texts[row]).conversation == found.conversation
    assert recognise(text, 99).rows == recognise(text, 2).rows


def test_lines_before_the_first_conversation_are_passed_over() -> None:
    text = "\n".join(['{"version": 1}', json.dumps(MANY[0]), '{"messages": [{"role": "us'])
    assert recognise(text).conversation == MANY[0]
    assert recognise(text).said.startswith("Line 2 of 3. ")
    assert recognise(text, 2).kind == "unknown"
    assert "Line 3 of 3. The JSON cannot be read" in recognise(text, 2).said


def test_lines_without_a_conversation_are_no_rows() -> None:
    usage = json.dumps({"usage": {"input_tokens": 3, "output_tokens": 4}})
    found = recognise(f"{usage}\n{usage}")
    assert (found.kind, found.rows, len(found.usages)) == ("usage", None, 2)


def test_of_a_har_file_the_refused_request_is_read() -> None:
    text = har(
        ("https://api.openai.com/v1/chat/completions", {**BODY, "model": "other"}, 200, "{}"),
        ("https://api.mistral.ai/v1/chat/completions", BODY, 400, REFUSAL),
        ("https://api.openai.com/v1/chat/completions", {**BODY, "model": "later"}, 200, "{}"),
        ("https://telemetry.example/event", {"event": "click"}, 200, "{}"),
    )
    found = recognise(text)
    assert found.conversation == BODY
    assert found.error == REFUSAL
    assert found.said.startswith("Request 2 of 3. ")
    assert guess(found, "").target == "mistral/gpt-4o"
    last = recognise(text, 2)
    assert last.conversation == {**BODY, "model": "later"}
    assert (last.error, last.url) == ("", "https://api.openai.com/v1/chat/completions")


def test_of_a_har_file_with_one_request_there_are_no_rows() -> None:
    found = recognise(har(("https://api.mistral.ai/v1/chat/completions", BODY, 400, REFUSAL)))
    assert (found.conversation, found.error, found.rows) == (BODY, REFUSAL, None)
    assert "Read from a HAR file; headers were ignored" in found.said


@pytest.mark.parametrize(
    "command",
    [
        "curl https://api.openai.com/v1/chat/completions -H 'Authorization: Bearer sk-secret' -d '{}'",
        "$ curl -X POST https://api.openai.com/v1/chat/completions \\\n  --data-raw '{}'",
        "curl 'https://api.openai.com/v1/chat/completions' --json '{}' --compressed",
        "curl --url https://api.openai.com/v1/chat/completions --data='{}'",
        "curl https://api.openai.com/v1/chat/completions --data-binary $'{}'",
    ],
)
def test_curl_commands_are_read_without_their_headers(command: str) -> None:
    found = recognise(command.replace("{}", json.dumps(BODY)))
    assert found.conversation == BODY
    assert found.url == "https://api.openai.com/v1/chat/completions"
    assert "secret" not in repr(found)


def test_quotes_that_browsers_escape_are_read() -> None:
    body = {"messages": [{"role": "user", "content": "it's\n50 % ä"}]}
    escaped = json.dumps(body).replace("\\", "\\\\").replace("'", "\\'")
    assert recognise(f"curl https://a.example -d $'{escaped}'").conversation == body


def test_messages_that_langchain_serialised_are_read() -> None:
    from langchain_core.load import dumps  # noqa: PLC0415 - slow to import
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: PLC0415

    call = {"name": "f", "args": {}, "id": "c1"}
    chat = [
        HumanMessage("hi"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("1", tool_call_id="c1"),
    ]
    found = recognise(dumps(chat))
    assert "LangChain: 3 messages" in found.said
    assert [entry["type"] for entry in found.conversation or ()] == ["human", "ai", "tool"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("value", "error", "target"),
    [
        (BODY, "", "openai/gpt-4o"),
        (
            {**BODY, "model": "openrouter/google/gemini-2.5-pro"},
            "",
            "openrouter/google/gemini-2.5-pro",
        ),
        ({**BODY, "model": "llama-of-mine"}, "", "openai_compatible/llama-of-mine"),
        (
            BODY,
            "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.",
            "mistral/gpt-4o",
        ),
        (CHAT, "", "openai"),
        (CHAT, REFUSAL, "anthropic"),
        ({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, "", "gemini"),
        (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}],
            "",
            "anthropic",
        ),
    ],
)
def test_the_target_is_guessed(value: Any, error: str, target: str) -> None:
    assert guess(recognise(json.dumps(value)), error).target == target


def test_the_picker_offers_every_host_and_maker() -> None:
    offered = choices()
    assert len({one["target"] for one in offered}) == len(offered)
    assert {one["host"] for one in offered} >= {"anthropic", "openrouter", "bedrock", "hosted_vllm"}
    assert {one["maker"] for one in offered} >= {"anthropic", "mistral", "google", "deepseek"}
    for one in offered:
        assert resolve(one["target"]).provider == one["host"]
