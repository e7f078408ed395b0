"""Bedrock's Converse API: clean messages are returned as the same object, and each defect is repaired."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend.jsonkeys import has_key, without_key
from tests import corpus
from tests.images.pictures import part, samples
from tests.judges import judge
from tests.sandbox.triggers import image

CLAUDE = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "bedrock/us.amazon.nova-pro-v1:0"
TEXT_RESULTS = [
    "bedrock/global.openai.gpt-6-astra",
    "bedrock/us.openai.gpt-5.6-luna",
    "bedrock/xai.grok-4.6",
    "bedrock/google.gemma-3-27b-it",
    "bedrock/us.mistral.pixtral-large-2502-v1:0",
    "bedrock/us.qwen.qwen3-vl-235b-a22b-instruct-v1:0",
    "bedrock/moonshotai.kimi-k2.5",
    "bedrock/nvidia.nemotron-nano-12b-v2",
]
"""Models that refuse an image in a tool result."""
IN_RESULT = "The image of this tool result is in the next user message."
LLAMA = "bedrock/meta.llama3-3-70b-instruct-v1:0"
TOOLS = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}
ASK = {"role": "user", "content": [{"text": "go"}]}
NEXT = {"role": "user", "content": [{"text": "and now?"}]}
SAID = {"role": "assistant", "content": [{"text": "It is done."}]}


def calling(call_id: str = "tooluse_1", **more: Any) -> dict[str, Any]:
    use = {"toolUse": {"toolUseId": call_id, "name": "f", "input": {}, **more}}
    return {"role": "assistant", "content": [use]}


def result(content: Any, call_id: str = "tooluse_1", *beside: Any, **more: Any) -> dict[str, Any]:
    held = {"toolUseId": call_id, "content": content, **more}
    return {"role": "user", "content": [{"toolResult": held}, *beside]}


def document(name: str) -> dict[str, Any]:
    return {"document": {"format": "txt", "name": name, "source": {"text": "hello"}}}


def picture() -> dict[str, Any]:
    return {"image": {"format": "png", "source": {"bytes": image()}}}


def thought(**more: Any) -> dict[str, Any]:
    return {"reasoningContent": {"reasoningText": {"text": "Hm.", **more}}}


def sent(messages: list[Any], target: str = NOVA) -> Any:
    done = chatmend.repair_request({"messages": messages, "toolConfig": TOOLS}, target)
    assert judge("bedrock_converse", target, done.body["messages"]) == []
    again = chatmend.repair_request(done.body, target)
    assert again.body is done.body
    return done.body["messages"]


SOUND: dict[str, list[Any]] = {
    "an exchange": [ASK, calling(), result([{"text": "42"}], status="success"), SAID, NEXT],
    "json": [ASK, calling(), result([{"json": {"a": [1]}}]), SAID, NEXT],
    "ids with dots and colons": [ASK, calling("f.x:0"), result([{"text": "1"}], "f.x:0"), SAID, NEXT],
    "a cache point": [{"role": "user", "content": [{"text": "a"}, {"cachePoint": {"type": "default"}}]}],
    "a document": [{"role": "user", "content": [{"text": "Read."}, document("my notes (1) [a]-b_c")]}],
    "two users in a row": [ASK, NEXT],
    "guarded text": [
        {"role": "user", "content": [{"guardContent": {"text": {"text": "x"}}}, {"text": "y"}]}
    ],
    "citations": [
        ASK,
        {"role": "assistant", "content": [{"citationsContent": {"content": [{"text": "x"}], "citations": []}}]},
        NEXT,
    ],
    "unsigned reasoning": [ASK, {"role": "assistant", "content": [thought(), {"text": "So."}]}, NEXT],
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_stays_the_same_object(name: str) -> None:
    body = {"messages": SOUND[name], "toolConfig": TOOLS, "inferenceConfig": {"maxTokens": 9}}
    for dialect in (None, "bedrock_converse"):
        done = chatmend.repair_request(body, NOVA, dialect=dialect)
        assert done.body is body, done.report()


@pytest.mark.skipif(not corpus.rows("requests_accepted"), reason="the corpus is not here")
def test_every_recorded_body_stays_the_same_object() -> None:
    rows = [row for row in corpus.rows("requests_accepted") if row["format"] == "bedrock_converse"]
    assert len(rows) >= 80
    for row in rows:
        for dialect in (None, "bedrock_converse"):
            done = chatmend.repair_request(row["body"], f"bedrock/{row['model']}", dialect=dialect)
            assert done.body is row["body"], (row["id"], done.report())


def test_a_missing_result_is_added_and_an_orphan_told() -> None:
    messages = [ASK, calling(), NEXT, SAID, result([{"text": "late"}], "gone"), SAID, NEXT]
    done = sent(messages)
    assert done[2]["content"][0]["toolResult"] == {
        "toolUseId": "tooluse_1",
        "content": [{"text": "No result was recorded for this tool call."}],
    }
    assert "late" in done[5]["content"][0]["text"]


def test_a_result_needs_content_and_its_json_is_an_object() -> None:
    for content in ([], [{"text": " "}]):
        done = sent([ASK, calling(), result(content, status="error")])
        assert done[2]["content"][0]["toolResult"] == {
            "toolUseId": "tooluse_1",
            "content": [{"text": "[continued]"}],
            "status": "error",
        }
    done = sent([ASK, calling(), result([{"json": ["x", 1]}])])
    assert done[2]["content"][0]["toolResult"]["content"] == [{"text": '["x", 1]'}]


@pytest.mark.parametrize("call_id", ["", "a b", "x" * 65])
def test_an_invalid_id_is_replaced_on_both_sides(call_id: str) -> None:
    done = sent([ASK, calling(call_id), result([{"text": "1"}], call_id)])
    new = done[1]["content"][0]["toolUse"]["toolUseId"]
    assert new != call_id
    assert done[2]["content"][0]["toolResult"]["toolUseId"] == new


def test_names_of_documents_are_valid_unique_and_stay_once_they_were_sent() -> None:
    first = {"role": "user", "content": [{"text": "Read."}, document("report_v1.2.pdf")]}
    second = {"role": "user", "content": [{"text": "Again."}, document("report_v1-2-pdf")]}
    done = sent([first, SAID, second])
    names = [message["content"][1]["document"]["name"] for message in (done[0], done[2])]
    assert names == ["report_v1-2-pdf", "report_v1-2-pdf 2"]
    assert sent([first]) == done[:1]
    alone = sent([{"role": "user", "content": [document("a")]}])
    assert alone[0]["content"] == [document("a"), {"text": "[continued]"}]


def test_a_name_is_remembered_also_where_the_structure_is_known_to_be_clean() -> None:
    def asked(name: str) -> dict[str, Any]:
        return {"role": "user", "content": [{"text": "Read."}, document(name)]}

    for _ in range(3):
        clean = [asked("a"), SAID, asked("b"), SAID, asked("c")]
        assert chatmend.repair(clean, NOVA, dialect="bedrock_converse").messages is clean
    done = chatmend.repair([asked("a"), SAID, asked("a"), SAID, asked("a")], NOVA)
    names = [message["content"][1]["document"]["name"] for message in done.messages[::2]]
    assert names == ["a", "a 2", "a 3"]


def test_a_signature_stays_only_for_claude() -> None:
    signed = {"role": "assistant", "content": [thought(signature="EqQB" * 40), {"text": "So."}]}
    messages = [ASK, signed, NEXT]
    assert sent(messages, NOVA)[1]["content"] == [thought(), {"text": "So."}]
    done = chatmend.repair_request({"messages": messages, "toolConfig": TOOLS}, CLAUDE)
    assert done.body["messages"] is messages
    unsigned = [ASK, {"role": "assistant", "content": [thought(), {"text": "So."}]}, NEXT]
    assert sent(unsigned, CLAUDE)[1]["content"] == [{"text": "So."}]


def test_nothing_stands_beside_a_result_for_makers_that_demand_it() -> None:
    mixed = [ASK, calling(), result([{"text": "42"}], "tooluse_1", {"text": "Thanks."}), SAID, NEXT]
    done = sent(mixed, LLAMA)
    assert [message["role"] for message in done[2:5]] == ["user", "assistant", "user"]
    assert list(done[2]["content"][0]) == ["toolResult"]
    assert done[4]["content"] == [{"text": "Thanks."}]
    apart = [ASK, calling(), result([{"text": "42"}]), NEXT]
    assert [m["role"] for m in sent(apart, LLAMA)] == [
        *("user", "assistant", "user", "assistant", "user"),
    ]
    for messages in (mixed, apart):
        body = {"messages": messages, "toolConfig": TOOLS}
        assert chatmend.repair_request(body, NOVA).body is body


@pytest.mark.parametrize(
    "target",
    [
        CLAUDE,
        NOVA,
        "bedrock/us.meta.llama4-maverick-17b-instruct-v1:0",
        "bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/abc",
    ],
)
def test_an_image_stays_in_a_result_where_the_model_accepts_it_or_is_not_known(target: str) -> None:
    body = {"messages": [ASK, calling(), result([picture()]), SAID, NEXT], "toolConfig": TOOLS}
    assert chatmend.repair_request(body, target).body is body


@pytest.mark.parametrize("target", TEXT_RESULTS)
def test_an_image_leaves_a_result_whose_model_accepts_only_text_there(target: str) -> None:
    messages = [ASK, calling(), result([picture()]), SAID, NEXT]
    assert judge("bedrock_converse", target, messages) != []
    done = sent(messages, target)
    assert done[2]["content"][:1] == result([{"text": IN_RESULT}])["content"]
    moved = [block for message in done[2:] for block in message["content"] if "image" in block]
    assert moved == [picture()]
    assert done[-2:] == [SAID, NEXT]
    assert sent(messages[:3], target) == done[:-2]


@pytest.mark.parametrize("target", TEXT_RESULTS)
def test_an_image_leaves_a_result_in_other_formats_for_the_same_models(target: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [part(samples()["one pixel"])]},
    ]
    block = {"type": "tool_result", "tool_use_id": "c1"}
    use = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [block | {"content": [part(samples()["one pixel"], "anthropic")]}]},
    ]  # fmt: skip
    for given, dialect in ((chat, "openai_chat"), (messages, "anthropic_messages")):
        done = chatmend.repair(given, target, dialect=dialect)
        assert "IMG011" in [change.code for change in done.changes], dialect


def test_a_document_leaves_a_result_of_kimi_which_accepts_no_files_there() -> None:
    messages = [ASK, calling(), result([document("a")]), SAID, NEXT]
    done = sent(messages, "bedrock/moonshotai.kimi-k2.5")
    assert [list(block) for block in done[2]["content"]] == [["toolResult"], ["text"], ["document"]]
    for target in (CLAUDE, "bedrock/us.mistral.pixtral-large-2502-v1:0"):
        body = {"messages": messages, "toolConfig": TOOLS}
        assert chatmend.repair_request(body, target).body is body


def test_tools_are_declared_in_toolConfig() -> None:  # noqa: N802 - the API's key
    body = {"messages": [ASK, calling(), result([{"text": "42"}])], "inferenceConfig": {}}
    done = chatmend.repair_request(body, NOVA).body
    schema = {"json": {"type": "object", "properties": {}}}
    assert done["toolConfig"] == {"tools": [{"toolSpec": {"name": "f", "inputSchema": schema}}]}
    assert "tools" not in done


def test_a_system_message_moves_to_the_list_of_system_blocks() -> None:
    messages = [{"role": "system", "content": [{"text": "Be kind."}]}, ASK]
    body = {"messages": messages, "system": [{"text": "Be brief."}], "inferenceConfig": {}}
    done = chatmend.repair_request(body, NOVA).body
    assert done["system"] == [{"text": "Be brief."}, {"text": "Be kind."}]
    assert done["messages"] == [ASK]


def test_a_chat_message_within_the_history_is_converted() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    messages = [
        ASK,
        {"role": "assistant", "content": [{"text": "I look."}]},
        ASK,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "assistant", "content": "Done."},
        NEXT,
    ]
    done = chatmend.repair(messages, NOVA, dialect="bedrock_converse").messages
    assert done[3:6] == [
        calling("c1", input={"a": 1}),
        result([{"text": "42"}], "c1"),
        {"role": "assistant", "content": [{"text": "Done."}]},
    ]


def test_another_target_gets_the_limits_of_bedrock_for_this_format() -> None:
    body = {"messages": SOUND["an exchange"], "toolConfig": TOOLS}
    for target in ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "litellm_proxy/alias", "other"):
        assert chatmend.repair_request(body, target).body is body


@pytest.mark.parametrize(
    "content",
    ["42", {"text": "42"}, ["42"], [{"text": "42"}]],
)
def test_the_content_of_a_result_becomes_a_list_of_blocks(content: Any) -> None:
    done = sent([ASK, calling(), result(content)])
    assert done[2] == result([{"text": "42"}])


def test_keys_that_no_block_has_are_removed() -> None:
    typed = calling(type="tool_use", cache_control={"type": "ephemeral"})
    named = result([{"text": "42"}], name="f")
    assert sent([ASK, typed, named]) == [ASK, calling(), result([{"text": "42"}])]


def test_reasoning_without_a_text_is_no_reasoning() -> None:
    odd = {"reasoningContent": {"redactedContent": [{"text": "Hm."}]}}
    done = sent([ASK, {"role": "assistant", "content": [odd, {"text": "So."}]}, NEXT])
    assert [list(block) for block in done[1]["content"]] == [["text"], ["text"]]
    assert "Hm." in done[1]["content"][0]["text"]


def test_a_blank_text_does_not_count_beside_a_document() -> None:
    done = sent([{"role": "user", "content": [{"text": " "}, document("a")]}])
    assert done == [{"role": "user", "content": [document("a"), {"text": "[continued]"}]}]


def test_unknown_keys_of_results_that_are_joined_or_repeated_are_not_lost_silently() -> None:
    two = {
        "role": "assistant",
        "content": [*calling("tooluse_1")["content"], *calling("tooluse_2")["content"]],
    }
    noted = {**result([{"text": "42"}], "tooluse_2"), "note": "seen twice"}
    done = chatmend.repair([ASK, two, noted], NOVA, dialect="bedrock_converse")
    dropped = [change for change in done.changes if change.effect is chatmend.Effect.DROPS]
    assert "seen twice" in str([change.before for change in dropped])
    again = {
        **result([{"text": "No result was recorded for this tool call."}]),
        "note": "seen twice",
    }
    done = chatmend.repair(
        [ASK, calling(), again, result([{"text": "42"}])], NOVA, dialect="bedrock_converse"
    )
    dropped = [change for change in done.changes if change.effect is chatmend.Effect.DROPS]
    assert "seen twice" in str([change.before for change in dropped])


def test_blank_reasoning_of_a_chat_is_not_sent() -> None:
    blank = {"role": "assistant", "content": [thought(signature="")], "reasoning_content": ""}
    done = sent([ASK, blank, NEXT], CLAUDE)
    assert done[1] == {"role": "assistant", "content": [{"text": "[continued]"}]}


SIGNATURE = "EqoBCkYIARgCKkA="


@pytest.mark.parametrize("textless", [{}, {"text": None}])
def test_signed_reasoning_without_a_text_gets_an_empty_one(textless: dict[str, Any]) -> None:
    stored = {"reasoningContent": {"reasoningText": {**textless, "signature": SIGNATURE}}}
    sound = {"reasoningContent": {"reasoningText": {"text": "", "signature": SIGNATURE}}}
    call = calling()["content"][0]
    messages = [ASK, {"role": "assistant", "content": [stored, call]}, result([{"text": "1"}])]
    done = sent(messages, CLAUDE)
    assert done == [ASK, {"role": "assistant", "content": [sound, call]}, messages[2]]
    report = chatmend.repair(messages, CLAUDE, dialect="bedrock_converse").changes
    assert [(change.code, change.effect.name) for change in report] == [("MSG002", "RESHAPES")]
    assert sent(
        [ASK, {"role": "assistant", "content": [stored, *SAID["content"]]}, NEXT], NOVA
    ) == [
        ASK,
        {"role": "assistant", "content": [thought(text=""), *SAID["content"]]},
        NEXT,
    ]


@pytest.mark.parametrize("unsigned", [{}, {"text": None}, {"text": None, "signature": ""}])
def test_unsigned_reasoning_without_a_text_is_dropped_as_an_empty_thought(unsigned: Any) -> None:
    stored = {"reasoningContent": {"reasoningText": unsigned}}
    messages = [ASK, {"role": "assistant", "content": [stored, *SAID["content"]]}, NEXT]
    assert sent(messages, CLAUDE) == [ASK, SAID, NEXT]


@pytest.mark.parametrize(
    ("given", "expected", "effect"),
    [
        ({"edits": [{"oldText": "p", "": ""}]}, {"edits": [{"oldText": "p"}]}, "RESHAPES"),
        ({"": None, "a": [1, {"": {}}, 2]}, {"a": [1, {}, 2]}, "RESHAPES"),
        ({"": [], "a": {" ": 1}}, {"a": {" ": 1}}, "RESHAPES"),
        ({"a": {"b": {"": "lost"}}}, {"a": {"b": {}}}, "DROPS"),
        ({"": False}, {}, "DROPS"),
        ({"": 0, "a": 1}, {"a": 1}, "DROPS"),
    ],
)
def test_claude_gets_no_empty_keys_in_arguments(given: Any, expected: Any, effect: str) -> None:
    messages = [ASK, calling(input=given), result([{"text": "1"}])]
    for _ in range(3):
        assert sent(messages, CLAUDE) == [ASK, calling(input=expected), messages[2]]
        (change,) = chatmend.repair(messages, CLAUDE, dialect="bedrock_converse").changes
        assert (change.code, change.effect.name) == ("TOOL013", effect)
        assert change.before == (messages[1],)
    assert sent(messages, NOVA) is messages


def test_valid_arguments_do_not_hide_an_empty_key_in_others() -> None:
    def asked(key: str) -> list[Any]:
        return [ASK, calling(input={"a": {key: "x"}}), result([{"text": "1"}]), SAID, NEXT]

    for _ in range(3):
        clean = asked("b")
        assert chatmend.repair(clean, CLAUDE, dialect="bedrock_converse").messages is clean
    done = chatmend.repair(asked(""), CLAUDE, dialect="bedrock_converse")
    assert done.messages[1] == calling(input={"a": {}})


def test_shared_arguments_are_searched_once() -> None:
    shared: Any = {"a": [1]}
    for _ in range(60):
        shared = {"a": shared, "b": shared}
    messages = [ASK, calling(input={"x": shared}), result([{"text": "1"}]), SAID, NEXT]
    assert has_key(messages, "") is False
    kept, dropped = without_key(messages, "")
    assert kept is messages
    assert dropped == []


@pytest.mark.parametrize(
    "value",
    [{"__type": "T", "a": [1]}, {"a": "__type"}, {"a": {"type": "T"}, "b": [[{"_type": 1}]]}],
)
def test_json_results_that_claude_accepts_stay(value: dict[str, Any]) -> None:
    messages = [ASK, calling(), result([{"json": value}])]
    for _ in range(3):
        assert sent(messages, CLAUDE) is messages


def test_a_json_result_with_an_inner_type_key_is_sent_as_text() -> None:
    for value in ({"a": {"__type": "T"}}, {"a": [1, {"b": {"__type": None}}]}):
        messages = [ASK, calling(), result([{"text": "x"}, {"json": value}], status="success")]
        done = sent(messages, CLAUDE)
        text = done[2]["content"][0]["toolResult"]["content"][1]["text"]
        assert json.loads(text) == value
        assert done[2] == result([{"text": "x"}, {"text": text}], status="success")
        changes = chatmend.repair(messages, CLAUDE, dialect="bedrock_converse").changes
        assert [(c.code, c.effect.name) for c in changes] == [("PART003", "RESHAPES")]
        assert sent(messages, NOVA) is messages


def _grounded(name: str, kind: str, *, call_id: str = "tooluse_1") -> list[dict[str, Any]]:
    use = {"toolUseId": "tooluse_1", "name": name, "input": {}, "type": "server_tool_use"}
    result = {"toolUseId": call_id, "content": [{"json": {"found": 1}}], "type": kind}
    return [
        {"role": "user", "content": [{"text": "What is new?"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": use}, {"toolResult": result}, {"text": "This is new."}],
        },
        {"role": "user", "content": [{"text": "Tell me more."}]},
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nova_grounding", "nova_grounding_result"),
        ("nova_code_interpreter", "nova_code_interpreter_result"),
    ],
)
def test_a_system_tool_of_nova_stays_in_its_answer(name: str, kind: str) -> None:
    messages = _grounded(name, kind)
    config = {"tools": [{"systemTool": {"name": name}}]}
    body = {"messages": messages, "toolConfig": config}
    assert chatmend.repair_request(body, NOVA, dialect="bedrock_converse").body is body


def test_a_system_tool_whose_result_is_missing_is_still_paired() -> None:
    messages = _grounded("nova_grounding", "nova_grounding_result", call_id="tooluse_2")
    done = chatmend.repair(messages, NOVA, dialect="bedrock_converse")
    assert {"TOOL005", "TOOL007"} <= {change.code for change in done.changes}


def cited(text: str) -> dict[str, Any]:
    return {"citationsContent": {"content": [{"text": text}], "citations": []}}


@pytest.mark.parametrize("target", [CLAUDE, NOVA, LLAMA])
@pytest.mark.parametrize("blank", [" ", "\n\n"])
def test_a_blank_text_beside_other_blocks_of_an_answer_is_removed(target: str, blank: str) -> None:
    asked = calling()
    clean = [ASK, asked, result([{"text": "r"}])]
    said = {**asked, "content": [{"text": blank}, *asked["content"]]}
    done = chatmend.repair([ASK, said, clean[2]], target)
    assert done.messages == clean
    assert [(change.code, change.effect.name) for change in done.changes] == [
        ("TEXT004", "RESHAPES")
    ]
    words = {"role": "assistant", "content": [cited("Green."), {"text": blank}, cited("Blue.")]}
    done = chatmend.repair([ASK, words, NEXT], target)
    assert done.messages == [ASK, {**words, "content": [cited("Green."), cited("Blue.")]}, NEXT]


def test_a_blank_text_beside_a_call_stays_in_messages_for_anthropic() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "text", "text": "\n\n"}, use]},
        {"role": "user", "content": [answer]},
    ]
    assert chatmend.repair(messages, "anthropic/claude-sonnet-4-5").messages is messages


def test_deepseek_r1_gets_none_of_its_reasoning() -> None:
    said = {"role": "assistant", "content": [{"text": "a"}, thought()]}
    done = chatmend.repair([ASK, said, NEXT], "bedrock/us.deepseek.r1-v1:0")
    assert done.messages == [ASK, {"role": "assistant", "content": [{"text": "a"}]}, NEXT]
    assert [change.code for change in done.changes] == ["THINK001"]
    messages = [ASK, {"role": "assistant", "content": [thought(), {"text": "a"}]}, NEXT]
    assert chatmend.repair(messages, LLAMA).messages is messages


@pytest.mark.parametrize("target", [CLAUDE, NOVA, LLAMA])
def test_a_refusal_behind_calls_becomes_a_text_before_them(target: str) -> None:
    first, second = calling("tooluse_1"), calling("tooluse_2")
    results = result([{"text": "r"}])["content"] + result([{"text": "r"}], "tooluse_2")["content"]
    messages = [ASK, first, {**second, "refusal": "No."}, {"role": "user", "content": results}]
    done = chatmend.repair(messages, target)
    said = {
        "role": "assistant",
        "content": [{"text": "No."}, *first["content"], *second["content"]],
    }
    assert done.messages == [ASK, said, messages[-1]]
    assert chatmend.repair(done.messages, target).messages is done.messages


POINT = {"cachePoint": {"type": "default"}}
USE = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
SONNET = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def answered(*content: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": "t1", "content": list(content)}}


def loop(question: list[Any], answer: list[Any], results: list[Any]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": results},
    ]


def test_blocks_of_one_kind_stay_the_same_object() -> None:
    messages = loop([{"text": "a"}, POINT], [{"text": "x"}, USE], [answered({"text": "r"}), POINT])
    assert chatmend.repair(messages, SONNET).messages is messages


def test_a_block_with_several_keys_becomes_several_blocks() -> None:
    given = loop(
        [{"text": "a", **POINT}],
        [{**USE, "text": "x"}],
        [{**POINT, **answered({"text": "r", "json": {"a": 1}})}],
    )
    done = chatmend.repair(given, SONNET, dialect="bedrock_converse")
    assert done.messages == loop(
        [{"text": "a"}, POINT],
        [{"text": "x"}, USE],
        [answered({"text": "r"}, {"json": {"a": 1}}), POINT],
    )
    assert {change.effect.name for change in done.changes} == {"RESHAPES"}
    assert chatmend.replay(given, done.changes) == done.messages
    assert chatmend.repair(done.messages, SONNET).messages is done.messages


def test_keys_with_null_are_no_blocks() -> None:
    done = chatmend.repair(
        loop(
            [{"text": "a", "image": None, **POINT}],
            [{"text": "x"}],
            [{"text": "y", "document": None}],
        ),
        SONNET,
        dialect="bedrock_converse",
    )
    assert done.messages[0]["content"] == [{"text": "a"}, POINT]
    assert done.messages[2]["content"] == [{"text": "y"}]


def test_an_image_next_to_a_text_in_one_block_is_kept() -> None:
    image = picture()
    given = loop([{"text": "a", **image}], [{"text": "x"}], [{"text": "y"}])
    done = chatmend.repair(given, SONNET, dialect="bedrock_converse")
    assert done.messages[0]["content"] == [{"text": "a"}, image]


def test_a_block_with_a_malformed_key_stays_one_block() -> None:
    done = chatmend.repair(
        [{"role": "user", "content": [{"text": "a", "image": "x"}]}], SONNET,
        dialect="bedrock_converse",
    )  # fmt: skip
    assert done.messages[0]["content"] == [{"text": '{"text": "a", "image": "x"}'}]
