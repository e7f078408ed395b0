"""A message in another wire format is converted; one that only has an unknown key of it stays as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend.dialects import DIALECTS
from chatmend.transcript import Text, ToolCall, ToolResult
from tests.promises import broken_promises
from tests.targets import OPENAI_CHAT

UNKNOWN_SERVER = "openai_compatible/some-model"
ITEMS = [
    {"role": "user", "content": "q"},
    {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "o"},
]
THOUGHT = {"type": "thinking", "thinking": "a", "signature": "b"}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "reasoning_content": None, "content": "Hurry"},
        {"role": "assistant", "reasoning_content": None, "content": "x"},
        {"role": "assistant", "reasoning_content": 3, "content": "x"},
        {"role": "user", "tool_call_id": "x", "content": "y"},
        {"role": "user", "thinking_blocks": [THOUGHT], "content": "y"},
    ],
    ids=str,
)
def test_a_message_that_reads_the_same_in_both_formats_is_unchanged(
    message: dict[str, Any],
) -> None:
    messages = [*ITEMS, message, {"role": "user", "content": "z"}]
    done = chatmend.repair(messages, UNKNOWN_SERVER, dialect="openai_responses")
    assert done.messages is messages
    assert not done.changes


FUNCTION: dict[str, Any] = {
    "id": "c",
    "type": "function",
    "function": {"name": "n", "arguments": "{}"},
}
FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    "bedrock_converse": ("bedrock/us.amazon.nova-pro-v1:0", {"content": [{"text": "q"}]}),
    "gemini_contents": ("gemini/gemini-2.5-pro", {"parts": [{"text": "q"}]}),
    "openai_responses": ("openai/gpt-5", {"content": "q"}),
    "openai_chat": ("openai/gpt-4o", {"content": "q"}),
}
OTHER_FORMATS = ["bedrock_converse", "gemini_contents", "openai_responses"]


def with_calls(dialect: str, *calls: Any) -> Any:
    """Return the repair of a question in a format, and of a chat message with these calls."""
    target, question = FORMATS[dialect]
    message = {"role": "assistant", "content": [], "tool_calls": list(calls)}
    return chatmend.repair([{"role": "user", **question}, message], target, dialect=dialect)


@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize("more", [{}, {"function": None}, {"function": "n"}])
def test_a_result_among_the_calls_is_kept(dialect: str, more: dict[str, Any]) -> None:
    result = {"role": "tool", "tool_call_id": "c", "content": "found it", **more}
    done = with_calls(dialect, FUNCTION, result)
    assert "found it" in json.dumps(done.messages)
    assert "n" in {call.name for one in done.messages for call in DIALECTS[dialect].read(one).calls}


@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize("key", ["arguments", "input", "args"])
def test_the_arguments_of_a_call_without_a_function_are_kept(dialect: str, key: str) -> None:
    """``args`` is the key in LangChain's ``tool_calls``, which some programs store as they are."""
    arguments = json.dumps({"city": "Oslo"}) if key == "arguments" else {"city": "Oslo"}
    done = with_calls(dialect, {"id": "c", "name": "n", key: arguments, "type": "tool_call"})
    (call,) = [call for one in done.messages for call in DIALECTS[dialect].read(one).calls]
    found = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
    assert (call.id, call.name, found) == ("c", "n", {"city": "Oslo"})
    assert json.dumps(done.messages).count("Oslo") == 1


@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize("more", [{}, {"name": None}, {"arguments": '{"city": "Oslo"}'}], ids=str)
def test_a_function_that_is_a_text_is_the_name_of_the_call(
    dialect: str, more: dict[str, Any]
) -> None:
    done = with_calls(dialect, {"id": "c", "type": "function", "function": "weather", **more})
    (call,) = [call for one in done.messages for call in DIALECTS[dialect].read(one).calls]
    assert (call.id, call.name) == ("c", "weather")
    assert ("Oslo" in json.dumps(done.messages)) is ("arguments" in more)


@pytest.mark.parametrize("dialect", OTHER_FORMATS)
@pytest.mark.parametrize(
    "call",
    [
        {**FUNCTION, "result": "found it"},
        {**FUNCTION, "function": {**FUNCTION["function"], "output": "found it"}},
        {"id": "c", "name": "n", "arguments": "{}", "content": "found it"},
        {"id": "c", "arguments": "{}", "content": "found it"},
    ],
)
def test_a_key_of_a_call_that_the_format_lacks_is_reported(
    dialect: str, call: dict[str, Any]
) -> None:
    done = with_calls(dialect, call)
    assert "found it" not in json.dumps(done.messages)
    (effect,) = [change.effect for change in done.changes if change.code == "MSG002"]
    assert effect is chatmend.Effect.DROPS


@pytest.mark.parametrize("dialect", OTHER_FORMATS)
def test_a_call_whose_keys_are_all_read_is_only_reshaped(dialect: str) -> None:
    held = {"provider_specific_fields": {"thought_signature": "c2lnbmVk"}}
    function = {**FUNCTION["function"], "parsed_arguments": {"city": "Oslo"}}
    done = with_calls(dialect, {**FUNCTION, "index": 1, **held, "function": function})
    effects = [change.effect for change in done.changes if change.code == "MSG002"]
    assert effects == [chatmend.Effect.RESHAPES]


RESULT = {"role": "tool", "tool_call_id": "c", "content": "found it"}


@pytest.mark.parametrize("dialect", OTHER_FORMATS)
@pytest.mark.parametrize("content", [None, "", []])
@pytest.mark.parametrize(
    "words", [{"refusal": "I will not."}, {"audio": {"id": "a", "transcript": "I will not."}}]
)
def test_words_beside_calls_become_a_text_and_the_calls_stay(
    dialect: str, content: object, words: dict[str, Any]
) -> None:
    target, question = FORMATS[dialect]
    calls = [FUNCTION, {**FUNCTION, "id": "d"}]
    messages = [
        {"role": "user", **question},
        {"role": "assistant", "content": content, "tool_calls": calls, **words},
        RESULT,
        {**RESULT, "tool_call_id": "d"},
    ]
    done = chatmend.repair(messages, target, dialect=dialect)
    parts = [part for one in done.messages for part in DIALECTS[dialect].read(one).parts]
    (text,) = [part.text for part in parts if isinstance(part, Text) and part.text != "q"]
    assert text == "I will not."
    assert [part.id for part in parts if isinstance(part, ToolCall)] == ["c", "d"]
    assert [part.call_id for part in parts if isinstance(part, ToolResult)] == ["c", "d"]
    assert list(broken_promises(messages, target, dialect)) == []


@pytest.mark.parametrize("dialect", OTHER_FORMATS)
def test_the_text_of_a_result_under_another_key_is_kept(dialect: str) -> None:
    target, question = FORMATS[dialect]
    call = {"role": "assistant", "content": "", "tool_calls": [FUNCTION]}
    result = {"role": "tool", "tool_call_id": "c", "text": "found it"}
    done = chatmend.repair([{"role": "user", **question}, call, result], target, dialect=dialect)
    assert json.dumps(done.messages).count("found it") == 1
    assert max(change.effect for change in done.changes) is chatmend.Effect.RESHAPES


@pytest.mark.parametrize("dialect", OTHER_FORMATS)
@pytest.mark.parametrize("more", [{"name": "planner"}, {"output": "planner"}], ids=str)
def test_a_key_of_a_message_that_its_call_has_itself_is_reported(
    dialect: str, more: dict[str, str]
) -> None:
    target, question = FORMATS[dialect]
    call = {"role": "assistant", "content": None, "tool_calls": [FUNCTION], **more}
    done = chatmend.repair([{"role": "user", **question}, call, RESULT], target, dialect=dialect)
    assert "planner" not in json.dumps(done.messages)
    dropped = [change.before for change in done.changes if change.effect is chatmend.Effect.DROPS]
    assert "planner" in json.dumps(dropped)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "x"},
    ],
    ids=lambda item: item["type"],
)
def test_a_refusal_in_an_item_without_content_leaves_the_item_a_call(item: dict[str, Any]) -> None:
    output = {"type": f"{item['type']}_output", "call_id": "c", "output": "o"}
    messages = [{"role": "user", "content": "q"}, {**item, "refusal": "No."}, output]
    done = chatmend.repair(messages, "openai/gpt-5", dialect="openai_responses")
    assert done.messages == [messages[0], item, output]
    assert [(change.code, change.effect) for change in done.changes] == [
        ("KEY001", chatmend.Effect.DROPS)
    ]


def _of_autogen(*responses: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": "add", "arguments": "{}"}}
        for call_id in ("aaaaaaaaa", "bbbbbbbbb")
    ]
    return [
        {"role": "user", "content": "1+2 and 3+4?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "3\n\n7", "tool_responses": list(responses), **more},
        {"role": "user", "content": "thanks"},
    ]


THREE = {"tool_call_id": "aaaaaaaaa", "role": "tool", "content": "3"}
SEVEN = {"tool_call_id": "bbbbbbbbb", "role": "tool", "content": "7"}


@pytest.mark.parametrize("order", [(THREE, SEVEN), (SEVEN, THREE)], ids=["in order", "swapped"])
@pytest.mark.parametrize("target", [one for one in OPENAI_CHAT if one != "other"])
def test_each_result_of_a_message_of_autogen_answers_its_call(
    target: str, order: tuple[dict[str, Any], ...]
) -> None:
    messages = _of_autogen(*order)
    assert list(broken_promises(messages, target, "openai_chat")) == []
    sent = json.dumps(chatmend.repair(messages, target).messages)
    assert "No result" not in sent
    if "gemma-2" not in target:  # it has no tools: calls and results become texts
        assert sent.count('"3"') == sent.count('"7"') == 1


@pytest.mark.parametrize("more", [{"tool_call_id": "aaaaaaaaa"}, {"tool_responses": ["3"]}])
def test_a_result_that_has_its_own_id_is_not_split(more: dict[str, Any]) -> None:
    done = chatmend.repair(_of_autogen(THREE, **more), "openai/gpt-4o")
    assert "MSG002" not in [change.code for change in done.changes]


@pytest.mark.parametrize("reasoning", [["I see."], {"text": "I see."}])
@pytest.mark.parametrize("content", [True, 0, {"text": "a"}])
def test_reasoning_that_is_not_a_text_is_reported_beside_content_that_is_none(
    content: object, reasoning: object
) -> None:
    answer = {"role": "assistant", "content": content, "reasoning_content": reasoning}
    question = {"role": "user", "content": "q"}
    done = chatmend.repair([question, answer, question], "anthropic/claude-sonnet-4-6")
    assert [change.code for change in done.changes if change.effect is chatmend.Effect.DROPS] == [
        "THINK001"
    ]
    assert done.messages[1].keys() == {"role", "content"}
