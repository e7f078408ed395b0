"""What the front end is told about a request: findings, verdicts, transcripts, copies."""

from __future__ import annotations

import base64
import io
import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import chatmend
from chatmend.inspect import answer
from chatmend.manuals import manuals

CLAUDE = "anthropic/claude-sonnet-4-6"
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
BODY = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "In Paris?"},
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": "Never mind."},
    ],
}
REFUSAL = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
)
EXAMPLES = json.loads(files("chatmend.inspect").joinpath("static/examples.json").read_text("utf-8"))


def inspect(value: object, error: str = "", *targets: str) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return answer({"ask": "inspect", "text": text, "error": error, "targets": list(targets)})


def copied(what: str, value: object, target: str = CLAUDE) -> str:
    question = {"ask": "copy", "what": what, "text": json.dumps(value), "targets": [target]}
    return str(answer(question)["copy"])


def test_the_error_text_leads_to_the_message_and_the_rule() -> None:
    told = inspect(BODY, REFUSAL)
    assert told["error"]["codes"][0] == "TOOL007"
    assert told["error"]["ids"] == [{"id": "toolu_1", "positions": [1]}]
    assert told["error"]["positions"] == [1]
    (target,) = told["targets"]
    (finding,) = target["findings"]
    assert (finding["code"], finding["index"], finding["causes_error"]) == ("TOOL007", 1, True)
    assert told["rules"]["TOOL007"]["summary"] == manuals()["TOOL007"].summary


def test_the_provider_refuses_before_and_accepts_after() -> None:
    (target,) = inspect(BODY)["targets"]
    assert target["refused"]["status"] == 400
    assert target["refused"]["text"].startswith(REFUSAL)
    assert target["refused_after"] is None


def test_a_clean_request_has_no_finding_and_stays_identical() -> None:
    clean = {**BODY, "messages": BODY["messages"][:1]}
    (target,) = inspect(clean)["targets"]
    assert (target["count"], target["unchanged"], target["refused"]) == (0, True, None)
    assert (target["identical"], target["after"]) == (1, [])


USER = {"role": "user", "content": "a"}
ARGUMENTS = {"name": "f", "arguments": "{}"}
CHAT = [
    USER,
    {"role": "assistant", "content": None,
     "tool_calls": [{"id": "c1", "type": "function", "function": ARGUMENTS}]},
    USER,
]  # fmt: skip
ITEMS = [USER, {"type": "function_call", "call_id": "c1", **ARGUMENTS}, USER]
CONVERSE = [
    {"role": "user", "content": [{"text": "a"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
    {"role": "user", "content": [{"text": "b"}]},
]
CONTENTS = [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}]
OLLAMA = [{"role": "user", "content": "a", "images": ["x"]}]
SYSTEM = [{"role": "system", "content": "s"}, *BODY["messages"]]


@pytest.mark.parametrize(
    ("messages", "target", "refusal"),
    [
        (BODY["messages"], CLAUDE, REFUSAL),
        (SYSTEM, CLAUDE, "role 'system' is not supported"),
        (CHAT, "openai/gpt-4o", "must be followed by tool messages"),
        (ITEMS, "openai/gpt-4o", "No tool output found for function call c1"),
        (CONVERSE, "bedrock/anthropic.claude-sonnet-4-6", "Expected toolResult blocks"),
        (CONTENTS, "gemini/gemini-2.5-pro", "function call turn"),
        (OLLAMA, "ollama/llama3", "illegal base64 data"),
    ],
)
def test_bare_messages_of_each_format_get_a_verdict(
    messages: list[Any], target: str, refusal: str
) -> None:
    (told,) = inspect(messages, "", target)["targets"]
    assert told["judged"] == "messages"
    assert refusal in told["refused"]["text"]
    assert told["refused_after"] is None


@pytest.mark.parametrize(
    ("messages", "target"),
    [
        (BODY["messages"][:1], CLAUDE),
        ([{"role": "user", "parts": [{"text": "a"}]}], "gemini"),
        (CONVERSE[:1], "bedrock"),
        ([USER], "openai"),
        (
            [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}],
            "openai",
        ),
        ([USER], "ollama/llama3"),
    ],
)
def test_clean_bare_messages_are_accepted(messages: list[Any], target: str) -> None:
    (told,) = inspect(messages, "", target)["targets"]
    assert (told["count"], told["refused"], told["refused_after"]) == (0, None, None)


def test_without_a_verdict_the_reason_is_given() -> None:
    told = inspect(CHAT, "", CLAUDE, "together_ai/llama", "nonsense/llama")["targets"]
    assert "converts messages of this wire format for anthropic" in told[0]["unjudged"]
    assert "no local copy of the rules of together_ai" in told[1]["unjudged"]
    assert told[2]["host"] == ""


def test_a_row_of_json_lines_is_inspected_and_copied() -> None:
    text = "\n".join(json.dumps(body) for body in ({**BODY, "messages": CHAT[:1]}, BODY))
    first, second = (answer({"ask": "inspect", "text": text, "row": row}) for row in (None, 1))
    assert first["rows"] == {"what": "line", "count": 2, "at": 0}
    assert first["targets"][0]["count"] == 0
    assert second["targets"][0]["findings"][0]["code"] == "TOOL007"
    body = answer({"ask": "copy", "what": "body", "text": text, "row": 1})["copy"]
    assert json.loads(body) == chatmend.repair_request(BODY, CLAUDE).body


def test_a_scan_counts_the_findings_of_each_row() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": png(4500, 9000)}
    picture = {
        **BODY,
        "messages": [{"role": "user", "content": [{"type": "image", "source": source}]}],
    }
    values = [BODY, {**BODY, "messages": CHAT[:1]}, picture, "nonsense"]
    rows = answer({"ask": "scan", "texts": list(map(json.dumps, values))})["rows"]
    assert rows[:2] == [
        {"kind": "conversation", "count": 1, "codes": ["TOOL007"]},
        {"kind": "conversation", "count": 0, "codes": []},
    ]
    assert rows[2]["count"] > 0
    assert rows[3] == {"kind": "unknown"}


def test_several_targets_are_inspected_side_by_side() -> None:
    chat = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    told = inspect(chat, "", "openai/gpt-4o", "strict", "nonsense")
    first, second, third = told["targets"]
    assert (first["count"], second["count"]) == (0, 1)
    assert "no table for 'nonsense'" in third["fault"]


def test_the_transcript_shows_exchanges_marks_and_what_stays_identical() -> None:
    body = json.loads(json.dumps(BODY))
    body["messages"][0]["content"] = [
        {"type": "text", "text": "In Paris?", "cache_control": {"type": "ephemeral"}}
    ]
    (target,) = inspect(body)["targets"]
    first, second, _ = target["before"]
    assert first["cached"]
    assert not second["cached"]
    assert second["parts"][0] == {
        "kind": "call",
        "name": "get_weather",
        "id": "toolu_1",
        "text": '{"city": "Paris"}',
        "exchange": 1,
    }
    assert target["identical"] == 2
    assert [message["kept"] for message in target["after"]] == [True, True, False, True]
    assert target["after"][2]["parts"][0]["exchange"] == 1


def test_signed_thinking_is_marked() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    message = {"role": "assistant", "content": [thinking, {"type": "text", "text": "a"}]}
    (target,) = inspect([BODY["messages"][0], message], "", CLAUDE)["targets"]
    assert target["before"][1]["signed"]
    assert target["before"][1]["parts"][0]["signed"]


def test_a_result_without_a_call_belongs_to_no_exchange() -> None:
    chat = [{"role": "tool", "tool_call_id": "c9", "content": "5"}]
    (target,) = inspect(chat, "", "openai/gpt-4o")["targets"]
    assert target["before"][0]["parts"][0]["exchange"] is None


def png(width: int, height: int) -> str:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def test_images_have_pictures_sizes_and_tokens_before_and_after() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": png(4500, 9000)}
    body = {
        **BODY,
        "messages": [{"role": "user", "content": [{"type": "image", "source": source}]}],
    }
    (target,) = inspect(body)["targets"]
    (before,), (after,) = (target[which][0]["parts"] for which in ("before", "after"))
    assert before["size"] == [4500, 9000]
    assert before["tokens"] > 0
    assert before["picture"].startswith("data:image/")
    assert after["size"][1] <= 8000
    assert after["picture"].startswith("data:image/")


def test_long_texts_are_shortened_in_findings() -> None:
    chat = [{"role": "user", "content": "x" * 50_000}, {"role": "user", "content": "y"}]
    (target,) = inspect(chat, "", "strict")["targets"]
    assert "49,400 characters" in target["findings"][0]["before"][0]["content"]


def test_the_repaired_body_is_that_of_the_library() -> None:
    done = chatmend.repair_request(BODY, CLAUDE)
    assert json.loads(copied("body", BODY)) == done.body


def test_the_copied_python_makes_the_same_repair(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "request.json").write_text(json.dumps(BODY), "utf-8")
    (tmp_path / "chat.json").write_text(json.dumps(BODY["messages"]), "utf-8")
    for value in (BODY, BODY["messages"]):
        names: dict[str, Any] = {}
        exec(copied("python", value), names)  # noqa: S102 - the code that users copy
        assert [change.code for change in names["done"].changes] == ["TOOL007"]


def test_the_copied_command_names_the_target() -> None:
    assert copied("command", BODY) == f"chatmend repair request.json --target {CLAUDE} --diff"


def test_questions_that_cannot_be_answered_raise() -> None:
    with pytest.raises(ValueError, match="ask must be"):
        answer({"ask": "everything"})
    with pytest.raises(ValueError, match="row a number"):
        answer({"ask": "inspect", "text": "", "row": "first"})
    with pytest.raises(ValueError, match="texts must be"):
        answer({"ask": "scan", "texts": "{}"})
    with pytest.raises(ValueError, match="copy 'secrets'"):
        answer({"ask": "copy", "what": "secrets", "text": json.dumps(BODY)})


SECRETS = st.text("abcdefXYZ", min_size=12, max_size=20).map(lambda text: f"secret{text}")


@given(st.lists(SECRETS, min_size=9, max_size=9, unique=True))
def test_a_redacted_report_holds_no_text_of_the_request(secrets: list[str]) -> None:
    text, key, value, call_id, name, system, thought, label, link = secrets
    body = {
        "model": "claude-sonnet-4-6",
        "system": system,
        "metadata": {key: value},
        key: value,
        "tools": [{"name": name, "input_schema": {"properties": {key: {"type": "string"}}}}],
        "messages": [
            {"role": "user", "content": text, key: value},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": thought, "signature": value},
                {"type": "tool_use", "id": call_id, "name": name, "input": {key: [value, {key: text}]}},
                {"type": label, "text": text},
            ]},
            {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": link}}]},
        ],
    }  # fmt: skip
    report = copied("report", body)
    assert "TOOL007" in report
    for secret in secrets:
        assert secret not in report


def test_a_redacted_report_keeps_what_explains_the_defect() -> None:
    report = copied("report", BODY)
    assert '"role": "assistant"' in report
    assert '"type": "tool_use"' in report
    assert "<id 1, 7 characters>" in report
    assert "TOOL007 missing-tool-result" in report


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["title"])
def test_each_example_shows_something(example: dict[str, Any]) -> None:
    told = inspect(example["text"], example.get("error", ""), *example.get("targets", ()))
    assert told["kind"] in ("conversation", "error", "usage")
    assert all(target["findings"] for target in told.get("targets", ()))
    assert told.get("targets") or told.get("usage") or told["error"]["codes"]


def test_a_rule_of_every_kind_can_be_shown() -> None:
    for manual in manuals().values():
        for example in manual.examples:
            (target,) = inspect(example.before, "", example.target)["targets"]
            assert "fault" not in target, (manual.code, target["fault"])
