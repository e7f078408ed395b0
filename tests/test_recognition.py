"""Wire formats are recognised by their characteristic parts and are never guessed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import chatmend
from chatmend import Effect
from chatmend.cli import app
from chatmend.dialects import DIALECTS, format_of_body, recognise
from chatmend.dialects.formats import ENTRIES, KEYS, PARTS
from chatmend.targets import known_providers
from tests import corpus, harm

if TYPE_CHECKING:
    from pathlib import Path

CLAUDE, GPT, GEMINI, NOVA = (
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5",
    "gemini/gemini-2.5-pro",
    "bedrock/us.amazon.nova-pro-v1:0",
)
USER, SAID = (
    {"role": "user", "content": "Please look."},
    {"role": "assistant", "content": "I looked."},
)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
EXCHANGE = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "x"},
]


def without_a_guess(messages: list[Any], target: str) -> None:
    """Check that the messages are unchanged and that the report gives the reason."""
    alone = chatmend.repair(messages, target)
    assert alone.messages is messages
    (finding,) = alone.changes
    assert (finding.code, finding.applied) == ("FORMAT001", False)


@pytest.mark.skipif(
    not corpus.there("requests_accepted"), reason="the recorded requests are not here"
)
def test_no_accepted_request_is_harmed_when_nobody_says_its_format() -> None:
    for row in corpus.rows("requests_accepted"):
        for name, changes, _ in harm.repairs(row):
            assert [c.rule for c in changes if c.effect > Effect.RESHAPES] == [], (row["id"], name)


@pytest.mark.parametrize("provider", sorted(known_providers()))
def test_roles_and_texts_alone_are_a_chat(provider: str) -> None:
    """A repair assumes this format without further evidence."""
    for role in ("user", "assistant", "system", "tool", "function", "model", "odd"):
        assert recognise([{"role": role, "content": "x"}], provider) is DIALECTS["openai_chat"]


def test_the_table_of_formats_is_what_the_installed_sdks_say() -> None:
    from tests import formats  # noqa: PLC0415 - it imports six SDKs, which takes seconds

    assert formats.text() == formats.FILE.read_text("utf-8")


@pytest.mark.parametrize(
    "kind", sorted(PARTS["anthropic_messages"] - {"text", "image", "thinking", "document"})
)
def test_every_block_that_only_anthropic_defines_tells_its_format(kind: str) -> None:
    messages = [
        USER,
        {"role": "assistant", "content": [{"type": "text", "text": "So."}, {"type": kind}]},
        USER,
    ]
    assert recognise(messages) is DIALECTS["anthropic_messages"]
    assert format_of_body({"model": "m", "messages": messages}) == "anthropic_messages"
    blocks = [
        part
        for m in chatmend.repair(messages, CLAUDE).messages
        for part in m["content"]
        if isinstance(part, dict)
    ]
    assert all(kind not in part.get("text", "") for part in blocks)  # never converted to JSON text


@pytest.mark.parametrize(
    "kind", sorted(ENTRIES["openai_responses"] - ENTRIES["gemini_interactions"] - {"message"})
)
def test_every_item_that_only_responses_define_tells_their_format(kind: str) -> None:
    items = [USER, {"type": kind, "id": "x_1"}]
    assert recognise(items) is DIALECTS["openai_responses"]
    assert format_of_body({"model": "m", "input": items}) == "openai_responses"


@pytest.mark.parametrize("key", sorted(KEYS["bedrock_converse"] - {"text"}))
def test_every_block_that_only_converse_defines_tells_its_format(key: str) -> None:
    messages = [{"role": "user", "content": [{"text": "a"}, {key: {"name": "x"}}]}]
    assert recognise(messages) is DIALECTS["bedrock_converse"]
    assert format_of_body({"messages": messages}) == "bedrock_converse"


def test_converse_texts_are_told_by_the_target_or_the_body() -> None:
    messages = [
        {"role": "user", "content": [{"text": "a"}]},
        {"role": "assistant", "content": [{"text": "b"}]},
    ]
    assert recognise(messages, "bedrock") is DIALECTS["bedrock_converse"]
    assert chatmend.repair([*messages, messages[0]], NOVA).messages[1:] == [
        messages[1],
        messages[0],
    ]
    for beside in ({"inferenceConfig": {}}, {"system": [{"text": "s"}]}, {"modelId": "m"}):
        body = {"messages": messages, **beside}
        assert (
            chatmend.repair_request(body, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0").body
            is body
        )
    typed = chatmend.repair(messages, GPT).messages  # for OpenAI only a chat without types fits
    assert typed[0]["content"] == [{"text": "a", "type": "text"}]


@pytest.mark.parametrize(
    "body",
    [
        {"input": [{"type": "user_input", "content": [{"type": "text", "text": "a"}]}]},
        {"input": [{"type": "text", "text": "a"}, {"type": "image", "data": "iVBORw0KGgo="}]},
        {"message": "hello", "chat_history": [{"role": "USER", "message": "hi"}]},
        {"messages": [{"role": "USER", "message": "hi"}]},
        {"input": ["one", "two"]},
        {"messages": [{"speaker": "ann", "text": "hi"}]},
        {
            "messages": [
                USER,
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            ]
        },
        {
            "messages": [
                USER,
                *EXCHANGE,
                {"type": "function_call_output", "call_id": "c", "output": "x"},
            ]
        },
    ],
)
@pytest.mark.parametrize("target", [GEMINI, GPT, CLAUDE])
def test_what_no_dialect_is_written_in_stays_as_it_is(body: dict[str, Any], target: str) -> None:
    done = chatmend.repair_request(body, target)
    assert done.body is body
    assert [(change.code, change.applied) for change in done.changes] == [("FORMAT001", False)]


@pytest.mark.parametrize(
    ("messages", "name"),
    [
        ([{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}], "ShareGPT"),
        ([USER, {"from": "gpt", "value": "b"}], "ShareGPT"),
        ([{"instruction": "add", "input": "1 2", "output": "3"}], "Alpaca"),
        ([{"type": "human", "data": {"content": "a"}}], "LangChain"),
        ([{"lc": 1, "type": "constructor", "id": ["x"], "kwargs": {"content": "a"}}], "LangChain"),
        (
            [
                {"id": "1", "role": "user", "parts": [{"type": "text", "text": "a"}]},
                {
                    "id": "2",
                    "role": "assistant",
                    "parts": [{"type": "tool-look", "toolCallId": "t"}],
                },
            ],
            "AI SDK",
        ),
        (
            [USER, {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "t"}]}],
            "AI SDK",
        ),
        (
            [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "a"}]}],
            "pydantic-ai",
        ),
        ([{"role": "user", "blocks": [{"block_type": "text", "text": "a"}]}], "LlamaIndex"),
        ([{"role": "user", "parts": [{"type": "text", "content": "a"}]}], "OpenTelemetry"),
        ([USER, {"role": "assistant", "parts": [{"type": "tool_call", "name": "f"}]}], "OpenTelem"),
        (
            [USER, {"role": "tool", "parts": [{"type": "tool_call_response", "response": "x"}]}],
            "OpenTelemetry",
        ),
        (
            [{"role": "user", "parts": [{"type": "file_data", "modality": "image", "uri": "u"}]}],
            "OpenTelemetry",
        ),
        (
            [
                {
                    "content_type": "message",
                    "role": "user",
                    "items": [{"content_type": "text", "text": "a"}],
                }
            ],
            "Semantic Kernel",
        ),
        ([USER, {"content_type": "message", "role": "assistant", "items": []}], "Semantic Kernel"),
        (
            [{"role": {"label": "user"}, "items": [{"$type": "TextContent", "text": "a"}]}],
            "Semantic Kernel",
        ),
        (
            [{"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "a"}]}],
            "Semantic Kernel",
        ),
        ([{"messageId": "m", "sender": "User", "text": "a", "isCreatedByUser": True}], "LibreChat"),
        (
            [
                {
                    "messageId": "m",
                    "sender": "GPT",
                    "text": "",
                    "isCreatedByUser": False,
                    "content": [{"type": "text", "text": "a"}],
                }
            ],
            "LibreChat",
        ),
        ([{"uuid": "y", "text": "a", "content": "a", "sender": "human"}], "Claude.ai"),
        ([{"uuid": "x", "name": "Chat", "chat_messages": []}], "Claude.ai"),
    ],
)
def test_a_layout_that_no_provider_takes_is_refused_by_its_name(
    messages: list[Any], name: str
) -> None:
    for given in (messages, {"messages": messages}):
        with pytest.raises(chatmend.TranscriptError, match=name):
            (chatmend.repair if isinstance(given, list) else chatmend.repair_request)(given, GPT)  # type: ignore[operator]
    assert not chatmend.is_synthetic(messages[-1])


@pytest.mark.parametrize(
    ("messages", "target"),
    [
        ([{"role": "user", "content": "a", "sender": "ann", "items": [{"id": 1}]}], "other"),
        ([{"role": "user", "content": "a", "sender": "human"}], "other"),
        ([{"role": "user", "parts": [{"text": "a"}]}], GEMINI),
        (
            [
                {"role": "user", "parts": [{"text": "a"}]},
                {
                    "role": "model",
                    "parts": [
                        {"functionCall": {"name": "f", "args": {"content": "a", "modality": "b"}}}
                    ],
                },
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "f", "response": {"items": []}}}],
                },
            ],
            GEMINI,
        ),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}], "items": "b"}], "other"),
    ],
)
def test_keys_that_other_layouts_share_with_a_request_refuse_nothing(
    messages: list[Any], target: str
) -> None:
    assert chatmend.repair(messages, target).messages is messages


def test_rows_of_a_training_set_are_named_whatever_key_they_stand_under() -> None:
    with pytest.raises(chatmend.TranscriptError, match="ShareGPT"):
        chatmend.repair_request({"conversations": [{"from": "human", "value": "a"}]}, GPT)


def test_a_message_of_no_known_layout_among_others_is_told_and_not_emptied() -> None:
    odd = {"speaker": "ann", "text": "hello"}
    sent = chatmend.repair([USER, odd, SAID], GPT).messages
    assert sent == [USER, {"role": "user", "content": json.dumps(odd)}, SAID]


def test_parts_of_responses_do_not_make_a_chat_another_format() -> None:
    said = {"role": "user", "content": [{"type": "input_text", "text": "a"}]}
    shown = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}],
    }
    assert recognise([said, SAID]) is DIALECTS["openai_responses"]
    for chat in ([said, SAID, shown], [said, *EXCHANGE]):
        assert recognise(chat) is DIALECTS["openai_chat"]
        assert chatmend.repair(chat, GPT).messages[-1] == chat[-1]
    assert format_of_body({"messages": [said, SAID]}) == "openai_chat"
    assert recognise([said, SAID], "anthropic") is DIALECTS["openai_chat"]


@pytest.mark.parametrize(
    "beside",
    [
        {"system": "Be brief."},
        {"anthropic_version": "bedrock-2023-05-31"},
        {"stop_sequences": ["END"]},
        {"tools": [{"name": "look", "input_schema": {"type": "object"}}]},
    ],
)
def test_what_stands_beside_plain_messages_tells(beside: dict[str, Any]) -> None:
    assert format_of_body({"messages": [USER, SAID, USER], **beside}) == "anthropic_messages"
    assert format_of_body({"messages": [USER, SAID, USER]}) == "openai_chat"


def test_calls_of_a_chat_tell_more_than_what_libraries_pass_along() -> None:
    assert (
        format_of_body({"messages": [USER, *EXCHANGE], "stop_sequences": ["END"]}) == "openai_chat"
    )


def test_the_command_line_names_the_layout_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"conversations": [{"from": "human", "value": "a"}]}\n')
    for command in ("check", "repair"):
        done = CliRunner().invoke(app, [command, str(file), "--target", "openai/gpt-4o"])
        assert done.exit_code == 2
        assert "rows of the ShareGPT layout" in done.stderr
    assert "human" in file.read_text()


def test_a_finding_about_the_format_is_not_blamed_on_the_policy() -> None:
    report = chatmend.repair(
        [{"type": "user_input", "content": [{"type": "text", "text": "a"}]}], NOVA
    ).report()
    assert "Interactions" in report
    assert report.endswith("left unchanged")


@pytest.mark.parametrize(
    "newer", [{"SDK_UNKNOWN_MEMBER": {"name": "reasoningContent"}}, {"novelContent": {"text": "a"}}]
)
def test_one_block_that_is_newer_than_boto3_does_not_hide_converse(newer: dict[str, Any]) -> None:
    asked, said = {"role": "user", "content": [{"text": "a"}]}, {"text": "b"}
    messages = [asked, {"role": "assistant", "content": [newer, said]}, asked]
    assert recognise(messages, "bedrock") is DIALECTS["bedrock_converse"]
    body = {
        "modelId": "us.amazon.nova-pro-v1:0",
        "messages": messages,
        "inferenceConfig": {"maxTokens": 9},
    }
    assert format_of_body(body) == "bedrock_converse"
    done = chatmend.repair(messages, "bedrock/us.amazon.nova-pro-v1:0")
    assert done.messages[0] is asked
    assert done.messages[1]["content"][-1] is said
    assert done.changes[0].code == "PART001"


def test_a_block_of_which_boto3_kept_only_the_name_is_removed() -> None:
    asked, said = {"role": "user", "content": [{"text": "a"}]}, {"text": "b"}
    unknown = {"SDK_UNKNOWN_MEMBER": {"name": "reasoningContent"}}
    done = chatmend.repair(
        [asked, {"role": "assistant", "content": [unknown, said]}, asked],
        "bedrock/us.amazon.nova-pro-v1:0",
    )
    assert done.messages == [asked, {"role": "assistant", "content": [said]}, asked]
    assert {change.effect for change in done.changes} == {chatmend.Effect.RESHAPES}


@pytest.mark.parametrize(
    "content",
    [
        [{"novelContent": {"text": "a"}}],
        [{"text": "a"}, {"image_url": {"url": "https://example.com/a.png"}}],
        [{"text": "a"}, {"source": {"type": "url", "url": "https://example.com/a.png"}}],
    ],
)
def test_parts_that_lack_their_type_are_not_taken_for_new_ones_of_converse(content: Any) -> None:
    messages = [{"role": "user", "content": content}]
    assert recognise(messages, "bedrock") is not DIALECTS["bedrock_converse"]
