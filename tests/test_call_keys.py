"""Keys of calls that hosts with strict schemas refuse."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

FIREWORKS = "fireworks_ai/accounts/fireworks/models/glm-4p6"
SIGNED = {"google": {"thought_signature": "QUFBQUFBQUFBQUFBQUFB"}}
CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
POSITION = ["body", "messages", 1, "assistant", "tool_calls", 0, "index"]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def request(**keys: Any) -> dict[str, Any]:
    return {
        "tools": [TOOL],
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "a", "tool_calls": [{**CALL, **keys}]},
            {"role": "tool", "tool_call_id": "abcdefghi", "content": "r"},
        ],
    }


@pytest.mark.parametrize("target", [FIREWORKS, "mistral/mistral-large-latest"])
def test_an_index_is_sent_until_it_is_refused(target: str) -> None:
    """Mistral accepts it, and no table says that Fireworks does not."""
    body = request(index=0)
    assert chatmend.repair_request(body, target).body is body


@pytest.mark.parametrize("target", [FIREWORKS, "mistral/mistral-large-latest"])
@pytest.mark.parametrize("keys", [{"call_id": "x"}, {"extra_content": SIGNED}])
def test_keys_of_other_formats_and_providers_are_removed(target: str, keys: dict[str, Any]) -> None:
    assert chatmend.repair_request(request(**keys), target).body == request()


@pytest.mark.parametrize(
    "error",
    [
        "Extra inputs are not permitted, field: 'messages[1].tool_calls[0].index', value: 0",
        f"{{'loc': {POSITION}, 'msg': 'Extra inputs are not permitted'}}",
    ],
)
def test_react_removes_the_key_that_the_error_names(error: str) -> None:
    again = chatmend.react(request(index=0), FIREWORKS, error)
    assert again is not None
    assert again.lesson is not None
    assert (again.lesson.limit, again.lesson.value) == ("refused_part_keys", ("index",))
    assert again.body == request()


@pytest.mark.parametrize("proof", ["c2lnbmVkIGJ5IGdlbWluaQ==", "QUFBQUFBQUFBQUFBQUFB"])
def test_gemini_keeps_its_own_signature_beside_a_refused_copy(proof: str) -> None:
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": proof}
    answer = {"functionResponse": {"name": "f", "response": {"output": "r"}}}
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{**call, "extra_content": SIGNED}]},
        {"role": "user", "parts": [answer]},
    ]
    done = chatmend.repair(contents, "gemini/gemini-3-pro-preview", dialect="gemini_contents")
    assert done.messages[1]["parts"] == [call]
    assert done.messages[::2] == contents[::2]
