"""The path of a request tells its wire format, also for requests that only count or compact."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatmend.transport.endpoints import Endpoint, find_endpoint
from chatmend.transport.request_repair import RequestRepair

VERTEX = "/v1/projects/p/locations/us-east5"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/responses/resp_1",
        "/v1/responses/resp_1/cancel",
        "/v1/responses/resp_1/input_items",
        "/v1/threads/thread_1/messages",
        "/v1/conversations/conv_1/items",
        "/v1/messages/batches",
        "/v1beta/models/text-embedding-004:embedContent",
        f"{VERTEX}/endpoints/123:predict",
    ],
)
def test_requests_without_a_transcript_pass_unread(path: str) -> None:
    assert find_endpoint(path) is None


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/responses/compact", ("openai_responses", "openai", "")),
        ("/v1/responses/input_tokens", ("openai_responses", "openai", "")),
        ("/v1/messages/count_tokens", ("anthropic_messages", "anthropic", "")),
        (
            f"{VERTEX}/publishers/anthropic/models/count-tokens:rawPredict",
            ("anthropic_messages", "vertex_ai", ""),
        ),
        ("/v1beta/models/g:computeTokens", ("gemini_contents", "gemini", "g")),
        ("/v1beta/tunedModels/mine-1:generateContent", ("gemini_contents", "gemini", "mine-1")),
        (f"{VERTEX}/endpoints/123:generateContent", ("gemini_contents", "vertex_ai", "123")),
        (f"{VERTEX}/endpoints/123:streamGenerateContent", ("gemini_contents", "vertex_ai", "123")),
        (
            f"{VERTEX}/publishers/google/models/g:countTokens",
            ("gemini_contents", "vertex_ai", "g"),
        ),
        (f"{VERTEX}/endpoints/openapi/chat/completions", ("openai_chat", "openai", "")),
    ],
)
def test_the_path_tells_the_wire_format(path: str, endpoint: tuple[str, str, str]) -> None:
    assert find_endpoint(path) == Endpoint(*endpoint)


@pytest.mark.parametrize("last", ["responses", "responses/compact", "responses/input_tokens"])
def test_a_call_without_an_output_gets_one_in_each_request_of_the_responses_api(last: str) -> None:
    call: dict[str, Any] = {
        "type": "function_call",
        "call_id": "c1",
        "name": "f",
        "arguments": "{}",
    }
    items = [{"role": "user", "content": "hi"}, call, {"role": "user", "content": "x"}]
    clean = [*items[:2], {"type": "function_call_output", "call_id": "c1", "output": "r"}]
    path, repair = f"/v1/{last}", RequestRepair()
    url = f"https://api.openai.com{path}"
    same = repair.repair(url, path, {}, json.dumps({"model": "gpt-5", "input": clean}).encode())
    assert same.report.passed == ""
    assert same.report.changes == ()
    done = repair.repair(url, path, {}, json.dumps({"model": "gpt-5", "input": items}).encode())
    assert [change.code for change in done.report.changes] == ["TOOL007"]
