"""The sandbox refuses or answers every body, however broken; it never fails."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatmend.sandbox.answers import Answer, compose
from chatmend.sandbox.endpoints import ENDPOINTS, Endpoint
from chatmend.sandbox.memory import SandboxMemory, count_prompt
from chatmend.sandbox.refusals import load_table
from chatmend.sandbox.request import SandboxRequest
from tests.broken import paths
from tests.sandbox.proof_pairs import MODELS, PAIRS
from tests.scale import examples

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**6)
    | st.text(max_size=4)
    | st.sampled_from(["user", "tool", "text"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "id", "content"]), inner)
    ),
    max_leaves=4,
)
CHOSEN = {endpoint.provider + endpoint.path.rpartition("/")[2]: endpoint for endpoint in ENDPOINTS}


def body_of(endpoint: Endpoint) -> dict[str, Any]:
    model = MODELS.get(endpoint.provider, "gpt-4o")
    name = {"vertex": "gemini", "openrouter": "openai"}.get(endpoint.provider, endpoint.provider)
    if endpoint.table == "anthropic" or "invoke" in endpoint.path:
        name = "anthropic"
    faults = PAIRS[name]
    fault = next(
        (fault for fault in ("orphan-tool-result", "invalid-tool-arguments") if fault in faults),
        min(faults),
    )
    body = copy.deepcopy(faults[fault][1]) | {
        "model": model,
        "temperature": 0.5,
        "stop": ["x"],
        "metadata": {"a": "b"},
    }
    if "responses" in endpoint.path:
        call = {
            "type": "function_call",
            "call_id": "c",
            "name": "f",
            "arguments": "{}",
            "id": "fc_1",
        }
        output = {"type": "function_call_output", "call_id": "c", "output": "r"}
        reasoning = {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "encrypted_content": "q" * 50,
        }
        body = {
            "model": model,
            "input": [{"role": "user", "content": "q"}, reasoning, call, output],
            "tools": [],
        }
    if endpoint.path == "/ollama/api/chat":
        body["messages"] = copy.deepcopy(PAIRS["ollama_chat"]["call-id-number"][1]["messages"])
    return body


def judge(endpoint: Endpoint, body: dict[str, Any]) -> str:
    """Handle a body as the server does, without HTTP; return the broken rule or ``accepted``."""
    raw = json.dumps(body).encode()
    request = SandboxRequest(
        endpoint.provider,
        str(body.get("model")),
        body,
        SandboxMemory(),
        endpoint.table,
        {"x-sandbox-alt": "sse"},
        raw=raw,
    )
    rules = load_table(endpoint.table)
    found = rules.first_refused(endpoint.faults(request), request.provider, request.model)
    if found is not None:
        return rules.refuse(found[0], found[1].values, "req_1").code
    prompt = count_prompt(
        request.memory, "me", endpoint.wire.segments(request), markers=endpoint.wire.MARKERS
    )
    answer = compose(
        endpoint.wire.normalize(request), Answer("id", request.model, prompt=prompt), ["call_1"]
    )
    json.dumps(endpoint.wire.response_body(answer, request))
    assert b"".join(endpoint.wire.events(answer, request))
    return "accepted"


@pytest.mark.parametrize("name", CHOSEN)
def test_a_valid_body_is_accepted(name: str) -> None:
    endpoint = CHOSEN[name]
    body = body_of(endpoint)
    for key in ("stop", "metadata", "temperature"):
        body.pop(key, None)
    if "contents" in body:
        body = {"contents": body["contents"]}
    if body.get("tools") == []:
        del body["tools"]
    assert judge(endpoint, body) == "accepted"


@pytest.mark.parametrize("name", CHOSEN)
@settings(max_examples=examples(15, 300), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_broken_body_is_refused_or_answered(name: str, data: st.DataObject) -> None:
    endpoint = CHOSEN[name]
    body = body_of(endpoint)
    for _ in range(data.draw(st.integers(1, 3))):
        found = paths(body)
        if not found:
            break
        *path, last = data.draw(st.sampled_from(found))
        target = body
        for step in path:
            target = target[step]
        target[last] = data.draw(ANY)
    assert judge(endpoint, body)
