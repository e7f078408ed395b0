"""A ``$ref`` in a result that Gemini would take for the name of a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from tests.corpus import PIXEL

GEMINI_3 = "gemini/gemini-3-flash-preview"
SCHEMA = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}


def contents(response: Any, **fields: Any) -> list[Any]:
    call = {
        "functionCall": {"name": "f", "args": {}},
        "thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaQ==",
    }
    result = {"functionResponse": {"name": "f", "response": response, **fields}}
    return [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]


def sent(response: Any, target: str = GEMINI_3, **fields: Any) -> Any:
    """Return the repaired response, or None if the transcript is unchanged."""
    messages = contents(response, **fields)
    done = chatmend.repair(messages, target)
    assert chatmend.repair(done.messages, target).messages is done.messages
    assert chatmend.replay(messages, done.changes) == done.messages
    assert {(change.code, change.effect.name) for change in done.changes} <= {
        ("TOOL023", "RESHAPES")
    }
    found = done.messages[2]["parts"][0]["functionResponse"]
    assert {**found, "response": 0} == {"name": "f", "response": 0, **fields}
    return None if done.messages is messages else found["response"]


@pytest.mark.parametrize(
    "response",
    [
        {"output": json.dumps(SCHEMA)},
        {"result": {"ref": "#/a", "$defs": {"a": {}}}},
        {"$ref": 5},
        {"properties": {"$ref": {"type": "string"}}},
    ],
)
def test_a_result_without_a_reference_is_unchanged(response: Any) -> None:
    assert sent(response) is None


def test_older_models_get_references_unchanged() -> None:
    assert sent(SCHEMA, "gemini/gemini-2.0-flash") is None


@pytest.mark.parametrize("name", ["displayName", "display_name"])
def test_a_reference_to_a_file_of_the_result_is_unchanged(name: str) -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": PIXEL, name: "a.png"}}
    assert sent({"image": {"$ref": "a.png"}}, parts=[part]) is None
    assert sent({"image": {"$ref": "b.png"}}, parts=[part]) == {
        "output": '{"image": {"$ref": "b.png"}}'
    }


@pytest.mark.parametrize(
    "target", [GEMINI_3, "gemini/gemini-2.5-pro", "vertex_ai/gemini-3.6-flash"]
)
@pytest.mark.parametrize("response", [SCHEMA, {"$ref": "#/a"}, {"x": [{"$ref": "#/a"}]}])
def test_a_result_with_a_reference_becomes_text(target: str, response: Any) -> None:
    found = sent(response, target)
    assert list(found) == ["output"]
    assert json.loads(found["output"]) == response


@pytest.mark.parametrize("key", ["output", "result", "content", "error"])
@pytest.mark.parametrize("value", [SCHEMA, [SCHEMA]])
def test_the_only_key_of_a_result_stays(key: str, value: Any) -> None:
    found = sent({key: value})
    assert list(found) == [key]
    assert json.loads(found[key]) == value


def test_a_reference_is_found_after_clean_results_of_the_same_structure() -> None:
    assert sent({"a": {"b": "#/a"}}) is None
    assert sent({"a": {"$ref": "#/a"}}) is not None
    assert sent({"a": {"b": "#/b"}}) is None


def test_a_response_that_holds_itself_is_no_exception() -> None:
    response: dict[str, Any] = {"a": 1}
    response["self"] = response
    chatmend.repair(contents(response), GEMINI_3)
    response["$ref"] = "#/a"
    chatmend.repair(contents(response), GEMINI_3)
