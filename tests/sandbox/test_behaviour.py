"""Behaviour of the sandbox: cache accounting, signatures, scripts, limits, transport faults."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from typing import Any

import httpx
import pytest
from PIL import Image

from chatmend.sandbox import Failure, Reply
from tests.sandbox import posting

CHAT, MESSAGES = "openai/v1/chat/completions", "anthropic/v1/messages"
HELLO = {"role": "user", "content": "hello there"}


def post(sandbox: Any, path: str, body: Any, **headers: str) -> httpx.Response:
    return posting.post(sandbox.url(path), json=body, headers=headers, timeout=30)


def chat(sandbox: Any, *messages: Any, key: str = "k", **more: Any) -> Any:
    body = {"model": "gpt-4o", "messages": list(messages), **more}
    return post(sandbox, CHAT, body, authorization=f"Bearer {key}").json()


def claude(sandbox: Any, *messages: Any, model: str = "claude-sonnet-4-5", **more: Any) -> Any:
    return post(
        sandbox, MESSAGES, {"model": model, "max_tokens": 4000, "messages": list(messages), **more}
    ).json()


def test_a_valid_request_is_not_refused(sandbox: Any) -> None:
    chat(sandbox, HELLO)
    assert not sandbox.refusals
    assert [(v.provider, v.status, v.model) for v in sandbox.requests] == [
        ("openai", 200, "gpt-4o")
    ]


def test_a_refusal_has_its_rule_and_the_body(sandbox: Any) -> None:
    chat(sandbox, {"role": "tool", "tool_call_id": "x", "content": "r"})
    (refused,) = sandbox.refusals
    assert refused.rule == "openai-chat-tool-orphan"
    assert refused.body["messages"][0]["role"] == "tool"


def test_the_log_and_the_report_contain_no_content(sandbox: Any, tmp_path: Any) -> None:
    chat(
        sandbox,
        {"role": "user", "content": "a secret"},
        {"role": "tool", "tool_call_id": "x", "content": "r"},
    )
    sandbox.write_report(tmp_path / "report.json")
    text = (tmp_path / "report.json").read_text()
    assert "secret" not in text + "".join(verdict.line() for verdict in sandbox.requests)
    assert json.loads(text)["counts"] == {"openai": {"openai-chat-tool-orphan": 1}}


def test_the_same_request_gets_the_same_answer(sandbox: Any) -> None:
    first, second = chat(sandbox, HELLO, key="det"), chat(sandbox, HELLO, key="det")
    assert first["choices"] == second["choices"]
    assert first["id"] == second["id"]


def test_a_longer_history_reads_its_prefix_from_the_cache(sandbox: Any) -> None:
    answer = {"role": "assistant", "content": "General Kenobi"}
    chat(sandbox, HELLO, key="cache")
    grown = chat(sandbox, HELLO, answer, HELLO, key="cache")["usage"]["prompt_tokens_details"][
        "cached_tokens"
    ]
    whole = chat(sandbox, HELLO, key="cache")["usage"]["prompt_tokens"]
    assert grown == whole


def test_a_changed_first_message_breaks_the_cache(sandbox: Any) -> None:
    chat(sandbox, HELLO, key="broken")
    usage = chat(sandbox, {**HELLO, "content": "hello where"}, HELLO, key="broken")["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0


def test_requests_with_another_key_do_not_share_the_cache(sandbox: Any) -> None:
    chat(sandbox, HELLO, key="one")
    assert chat(sandbox, HELLO, key="two")["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_anthropic_caches_only_up_to_a_marker(sandbox: Any) -> None:
    system = [
        {
            "type": "text",
            "text": "You are a long prompt. " * 50,
            "cache_control": {"type": "ephemeral"},
        }
    ]
    first = claude(sandbox, HELLO, system=system)["usage"]
    second = claude(sandbox, HELLO, {"role": "assistant", "content": "x"}, HELLO, system=system)[
        "usage"
    ]
    assert first["cache_creation_input_tokens"] == second["cache_read_input_tokens"] > 0
    assert first["cache_read_input_tokens"] == second["cache_creation_input_tokens"] == 0
    unmarked = claude(sandbox, HELLO, system=system[0]["text"])["usage"]
    assert unmarked["cache_read_input_tokens"] == unmarked["cache_creation_input_tokens"] == 0


THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def test_an_unchanged_thought_is_accepted(sandbox: Any) -> None:
    answer = claude(sandbox, HELLO, **THINKING)
    again = claude(
        sandbox, HELLO, {"role": "assistant", "content": answer["content"]}, HELLO, **THINKING
    )
    assert again["type"] == "message"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"thinking": "EDITED"}, "in the latest assistant message cannot be modified"),
        ({"signature": "AAAA"}, "Invalid `signature` in `thinking` block"),
    ],
)
def test_a_changed_thought_is_refused(sandbox: Any, changed: Any, message: str) -> None:
    content = claude(sandbox, HELLO, **THINKING)["content"]
    forged = [content[0] | changed, *content[1:]]
    again = claude(sandbox, HELLO, {"role": "assistant", "content": forged}, HELLO, **THINKING)
    assert message in again["error"]["message"]


def test_a_thought_of_another_model_is_refused(sandbox: Any) -> None:
    content = claude(sandbox, HELLO, **THINKING)["content"]
    again = claude(
        sandbox,
        HELLO,
        {"role": "assistant", "content": content},
        HELLO,
        model="claude-haiku-4-5",
        **THINKING,
    )
    assert "error" in again


def test_a_thought_is_bound_to_its_prefix_if_the_model_keeps_thoughts(sandbox: Any) -> None:
    more = {"model": "claude-fable-5-1", "thinking": {"type": "adaptive"}}
    answer = {
        "role": "assistant",
        "content": claude(sandbox, HELLO, system="ONE", **more)["content"],
    }
    assert claude(sandbox, HELLO, answer, HELLO, system="ONE", **more)["type"] == "message"
    moved = claude(sandbox, HELLO, answer, HELLO, system="TWO", **more)
    assert "bound to a different conversation" in moved["error"]["message"]


def picture(size: tuple[int, int], kind: str = "PNG") -> str:
    out = io.BytesIO()
    Image.new("RGB", size).save(out, kind)
    return base64.b64encode(out.getvalue()).decode()


def image_block(data: str, label: str = "image/png") -> Any:
    return {"type": "image", "source": {"type": "base64", "media_type": label, "data": data}}


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ([image_block(picture((8001, 10)))], "8000 pixels"),
        (
            [image_block(picture((2001, 10)))] + [image_block(picture((8, 8)))] * 20,
            "many-image requests: 2000 pixels",
        ),
        ([image_block(picture((8, 8)), "image/jpeg")], "appears to be a image/png image"),
        ([image_block(picture((300, 300))[:200])], "Could not process image"),
        ([image_block("not base64!")], "Invalid base64"),
    ],
)
def test_images_are_decoded_and_checked(sandbox: Any, images: Any, message: str) -> None:
    answer = claude(sandbox, {"role": "user", "content": images})
    assert message in answer["error"]["message"]


def test_twenty_large_images_are_accepted(sandbox: Any) -> None:
    assert (
        claude(sandbox, {"role": "user", "content": [image_block(picture((2001, 10)))] * 20})[
            "type"
        ]
        == "message"
    )


def test_each_scripted_reply_is_used_once(sandbox: Any) -> None:
    sandbox.script([Reply(calls=(("f", {"a": 1}), ("g", {}))), Reply(text="scripted")])
    calls = chat(sandbox, HELLO)["choices"][0]["message"]["tool_calls"]
    assert [(call["function"]["name"], call["function"]["arguments"]) for call in calls] == [
        ("f", '{"a": 1}'),
        ("g", "{}"),
    ]
    assert len({call["id"] for call in calls}) == len(calls)
    assert chat(sandbox, HELLO)["choices"][0]["message"]["content"] == "scripted"
    assert "hello there" in chat(sandbox, HELLO)["choices"][0]["message"]["content"]


def test_a_scripted_failure_has_the_format_of_the_provider(sandbox: Any) -> None:
    sandbox.script([Failure(429, retry_after=2), Failure(529), Failure(500)])
    limited = post(sandbox, MESSAGES, {})
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "2")
    assert limited.json()["error"]["type"] == "rate_limit_error"
    assert post(sandbox, MESSAGES, {}).json()["error"]["type"] == "overloaded_error"
    assert post(sandbox, MESSAGES, {}).json()["error"]["type"] == "api_error"
    assert not sandbox.refusals


def test_a_refusal_consumes_no_scripted_reply(sandbox: Any) -> None:
    sandbox.script([Reply(text="kept")])
    chat(sandbox, {"role": "tool", "tool_call_id": "x", "content": "r"})
    assert chat(sandbox, HELLO)["choices"][0]["message"]["content"] == "kept"


def test_a_script_can_cut_a_stream(sandbox: Any) -> None:
    sandbox.script([Reply(text="a long text " * 20, cut_after=3)])
    body = {"model": "gpt-4o", "messages": [HELLO], "stream": True}
    with (
        pytest.raises(httpx.RemoteProtocolError),
        httpx.stream("POST", sandbox.url(CHAT), json=body) as response,
    ):
        list(response.iter_lines())
    assert sandbox.requests[-1].note == "the stream was cut, as scripted"


def test_a_client_that_disconnects_during_a_stream_is_logged(sandbox: Any) -> None:
    sandbox.script([Reply(text="a very long text " * 200_000)])
    body = {"model": "gpt-4o", "messages": [HELLO], "stream": True}
    with httpx.stream("POST", sandbox.url(CHAT), json=body) as response:
        next(response.iter_lines())
    for _ in range(200):  # the server detects it while it answers other requests
        chat(sandbox, HELLO)
        if any(verdict.note for verdict in sandbox.requests):
            break
    assert "the client disconnected during the stream" in {
        verdict.note for verdict in sandbox.requests
    }


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        (CHAT, 400, "We could not parse the JSON body"),
        (MESSAGES, 400, "The request body is not valid JSON"),
        ("gemini/v1beta/models/gemini-2.5-flash:generateContent", 400, "Invalid JSON payload"),
        ("mistral/v1/chat/completions", 400, "not valid JSON"),
    ],
)
def test_malformed_json_is_refused_in_the_format_of_the_provider(
    sandbox: Any, path: str, status: int, message: str
) -> None:
    answer = httpx.post(
        sandbox.url(path), content=b'{"model": ', headers={"content-type": "application/json"}
    )
    assert (answer.status_code, message in answer.text) == (status, True)


@pytest.mark.parametrize("levels", [1_500, 200_000])
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_deeply_nested_body_is_refused(sandbox: Any, path: str, levels: int) -> None:
    body = (
        '{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": '
        + "[" * levels
        + "]" * levels
        + "}]}"
    )
    answer = httpx.post(
        sandbox.url(path), content=body, headers={"content-type": "application/json"}, timeout=60
    )
    assert answer.status_code == 400


def test_another_content_type_is_refused(sandbox: Any) -> None:
    answer = httpx.post(sandbox.url(CHAT), content=b"{}", headers={"content-type": "text/plain"})
    assert (answer.status_code, "application/json" in answer.json()["error"]["message"]) == (
        415,
        True,
    )


@pytest.mark.parametrize("path", ["ollama/api/chat", "ollama/v1/chat/completions"])
def test_ollama_reads_json_of_any_content_type(sandbox: Any, path: str) -> None:
    body = {"model": "llama3.1", "stream": False, "messages": [{"role": "user", "content": "q"}]}
    headers = {"content-type": "text/plain"}
    answer = httpx.post(sandbox.url(path), content=json.dumps(body).encode(), headers=headers)
    assert answer.status_code == 200, answer.text


def test_an_unknown_path_is_not_found_in_the_format_of_the_provider(sandbox: Any) -> None:
    assert (
        httpx.post(sandbox.url("openai/v1/nothing")).json()["error"]["message"]
        == "Invalid URL (POST /openai/v1/nothing)"
    )
    assert httpx.get(sandbox.url("anthropic/v1/nothing")).json()["type"] == "error"


def test_a_body_of_forty_megabytes_gets_the_size_error_of_the_provider(sandbox: Any) -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "x" * 40_000_000}],
    }
    answer = post(sandbox, MESSAGES, body)
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "request_too_large")


def test_a_url_in_a_request_is_not_fetched(sandbox: Any) -> None:
    # The URL points to the sandbox, so a download would be one of its requests.
    image = {"type": "image_url", "image_url": {"url": sandbox.url("trap.png")}}
    chat(sandbox, {"role": "user", "content": [image]})
    assert [verdict.path for verdict in sandbox.requests] == [f"/{CHAT}"]


def test_strict_signatures_refuse_foreign_signatures() -> None:
    from chatmend.sandbox import Sandbox  # noqa: PLC0415 - a second server

    thought = {
        "type": "thinking",
        "thinking": "x",
        "signature": "EtsBCkYIChgCKkANrO4e7QOyBt" + "q" * 200,
    }
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "y"}]}
    with Sandbox(strict_signatures=True) as strict:
        assert "Invalid `signature`" in claude(strict, HELLO, answer, HELLO)["error"]["message"]
    with Sandbox() as lenient:
        assert claude(lenient, HELLO, answer, HELLO)["type"] == "message"


def test_everything_is_imported_before_the_thread_of_the_server_starts() -> None:
    """Ctrl-C during an import would block the importing thread, and ``stop`` would wait for it."""
    code = (
        "import sys, http.client, chatmend.sandbox as s; sandbox = s.Sandbox(); before = set(sys.modules);"
        "sandbox.start(); asked = http.client.HTTPConnection(sandbox.host, sandbox.port);"
        "asked.request('GET', '/'); asked.getresponse().read(); asked.close(); sandbox.stop();"
        "print(sorted(name for name in set(sys.modules) - before if name.startswith(('uv', 'http', 'websockets'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
