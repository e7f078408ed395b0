"""Responses items: first those that must stay unchanged, then each repair."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import chatmend
from chatmend.dialects import DIALECTS, recognise
from chatmend.placeholders import CALL_NOTE, NO_RESULT, NOTE
from tests.corpus import PIXEL
from tests.judges import judge
from tests.promises import without_media
from tests.targets import without_stores

GPT, PLAIN = "openai/gpt-5", "openai/gpt-4o"
ASK: dict[str, Any] = {"role": "user", "content": "What is it like in Oslo?"}
LATER: dict[str, Any] = {"role": "user", "content": "And in Bergen?"}
THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "gAAAAB",
}
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city": "Oslo"}',
    "status": "completed",
}
OUTPUT: dict[str, Any] = {
    "type": "function_call_output",
    "call_id": "call_1",
    "output": "21 degrees",
}
SAID: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It is 21 degrees.", "annotations": []}],
}
OF_THE_PROVIDER: list[dict[str, Any]] = [
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "Oslo"},
    },
    {"type": "shell_call", "call_id": "sh_1", "action": {"commands": ["ls"]}},
    {
        "type": "shell_call_output",
        "call_id": "sh_1",
        "output": [{"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
]


def repaired(items: list[Any], target: str = GPT, **choices: Any) -> list[Any]:
    """Return the repaired items, after checking that an independent judge accepts them and a second repair changes nothing."""
    done = chatmend.repair(items, target, dialect="openai_responses", **choices)
    assert judge("openai_responses", target, without_media(done.messages, "openai_responses")) == []
    assert chatmend.replay(items, done.changes) == done.messages
    assert (
        chatmend.repair(done.messages, target, dialect="openai_responses", **choices).messages
        is done.messages
    )
    return done.messages


@pytest.mark.parametrize(
    "target", [GPT, PLAIN, "azure/gpt-5", "xai/grok-4", "deepseek/deepseek-chat", "groq/x", "other"]
)
def test_a_whole_row_of_items_comes_back_as_the_very_same_list(target: str) -> None:
    items = [{"role": "developer", "content": "Be brief."}, ASK, THOUGHT, CALL, OUTPUT, SAID, ASK]
    done = chatmend.repair(items, target)
    assert (done.messages is items, done.changes) == (True, ()), done.report()


def test_items_of_the_provider_s_own_tools_are_carried() -> None:
    items = [ASK, THOUGHT, *OF_THE_PROVIDER, SAID, ASK]
    assert chatmend.repair(items, GPT).messages is items


def test_every_item_is_written_as_the_very_object_that_was_read() -> None:
    dialect = DIALECTS["openai_responses"]
    odd = [
        7,
        None,
        "x",
        {},
        {"type": 3},
        {"type": "hologram"},
        {"role": "tool", "tool_call_id": "a", "content": "b"},
    ]
    items: list[Any] = [ASK, THOUGHT, CALL, OUTPUT, SAID, *OF_THE_PROVIDER, *odd]
    assert [
        dialect.write(dialect.read(item)) is item for item in items if isinstance(item, dict)
    ] == [True] * 12


def test_the_dialect_is_recognised_by_its_items() -> None:
    assert recognise([ASK, CALL]).NAME == "openai_responses"
    assert recognise([ASK, {"role": "assistant", "content": "x"}]).NAME == "openai_chat"


def test_an_input_that_is_a_text_is_left_alone() -> None:
    for body in ({"model": "gpt-5", "input": "hi"}, {"input": None, "prompt": {"id": "p"}}):
        done = chatmend.repair_request(body, GPT)
        assert (done.body is body, done.changes) == (True, ())


def test_a_clean_body_comes_back_as_the_very_same_dict() -> None:
    body = {
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [ASK, THOUGHT, CALL, OUTPUT],
        "store": False,
    }
    assert chatmend.repair_request(body, GPT).body is body


@pytest.mark.parametrize("stored", ["previous_response_id", "conversation"])
def test_a_result_may_answer_a_call_that_the_provider_stores(stored: str) -> None:
    body = {"model": "gpt-5", stored: "resp_1", "input": [OUTPUT]}
    assert chatmend.repair_request(body, GPT).body is body
    without = chatmend.repair_request({"model": "gpt-5", "input": [OUTPUT]}, GPT).body["input"]
    assert without[0]["content"].startswith(NOTE)


@pytest.mark.parametrize("stored", ["previous_response_id", "conversation"])
def test_a_request_that_continues_stored_messages_needs_no_user_message(stored: str) -> None:
    body = {"model": "Qwen3.5-32B", stored: "resp_1", "input": [OUTPUT]}
    qwen = "hosted_vllm/Qwen/Qwen3.5-32B"
    assert chatmend.repair_request(body, qwen).body is body
    whole = {"model": "Qwen3.5-32B", "input": [CALL, OUTPUT]}
    changes = chatmend.repair_request(whole, qwen).changes
    assert "TURN003" in [change.code for change in changes]


@pytest.mark.parametrize("kind", [{"type": "item_reference"}, {}], ids=["typed", "bare"])
def test_a_result_may_answer_a_call_that_is_referred_to(kind: dict[str, Any]) -> None:
    items = [ASK, {"id": "fc_1", **kind}, OUTPUT, ASK]
    assert chatmend.repair(items, GPT, dialect="openai_responses").messages is items


def test_a_call_without_an_output_gets_one_and_keeps_both_its_ids() -> None:
    sent = repaired([ASK, THOUGHT, CALL, ASK])
    assert sent[2] is CALL
    assert sent[3] == {"type": "function_call_output", "call_id": "call_1", "output": NO_RESULT}


def test_an_output_that_comes_late_in_its_window_returns_to_its_call() -> None:
    items = [ASK, CALL, {"role": "user", "content": "hurry!"}, OUTPUT]
    assert repaired(items, PLAIN) == [ASK, CALL, OUTPUT, items[2]]


def test_an_output_of_an_earlier_window_is_told_where_it_stands() -> None:
    sent = repaired([ASK, CALL, ASK, SAID, OUTPUT], PLAIN)
    assert sent[2]["output"] == NO_RESULT
    assert sent[-1] == {"role": "user", "content": f'{NOTE}"21 degrees"'}


def test_a_custom_call_is_answered_by_an_output_of_its_own_type() -> None:
    custom = {"type": "custom_tool_call", "call_id": "call_9", "name": "sql", "input": "SELECT 1"}
    assert repaired([ASK, custom])[-1] == {
        "type": "custom_tool_call_output",
        "call_id": "call_9",
        "output": NO_RESULT,
    }
    wrong = {"type": "function_call_output", "call_id": "call_9", "output": "1"}
    assert repaired([ASK, custom, wrong])[-1] == {**wrong, "type": "custom_tool_call_output"}


def test_a_call_that_only_the_provider_can_answer_is_told_when_nobody_did() -> None:
    sent = repaired([ASK, OF_THE_PROVIDER[1], ASK])
    assert sent[1]["role"] == "assistant"
    assert sent[1]["content"].startswith(CALL_NOTE)
    assert "sh_1" in sent[1]["content"]


def test_reasoning_that_nothing_follows_is_left_out_and_reported() -> None:
    done = chatmend.repair([ASK, THOUGHT, ASK, THOUGHT | {"id": "rs_2"}, SAID], GPT)
    assert done.messages == [ASK, ASK, THOUGHT | {"id": "rs_2"}, SAID]
    assert [(c.code, c.effect.name, c.before) for c in done.changes] == [
        ("THINK006", "DROPS", (THOUGHT,))
    ]


def test_a_transcript_of_reasoning_alone_is_never_sent_empty() -> None:
    assert repaired([THOUGHT]) == [{"role": "user", "content": "[continued]"}]


def test_an_item_whose_reasoning_was_filtered_is_sent_without_its_id() -> None:
    sent = repaired([ASK, SAID, ASK, CALL, OUTPUT])
    assert [("id" in item, "status" in item) for item in (sent[1], sent[3])] == [(False, False)] * 2
    assert sent[1]["content"] is SAID["content"]
    assert sent[3]["call_id"] == "call_1"


def test_ids_stay_where_the_request_sends_its_reasoning_or_the_model_has_none() -> None:
    items = [ASK, THOUGHT, SAID, ASK, CALL, OUTPUT]
    assert repaired(items) is items
    plain = [ASK, SAID, ASK, CALL, OUTPUT]
    assert repaired(plain, PLAIN) is plain


def test_an_id_of_another_type_or_one_that_occurred_goes_and_the_call_id_stays() -> None:
    sent = repaired([ASK, {**CALL, "id": "call_1"}, OUTPUT, SAID, SAID, ASK], PLAIN)
    assert sent[1] == {k: v for k, v in CALL.items() if k not in ("id", "status")}
    assert [item.get("id") for item in sent[3:5]] == ["msg_1", None]


def test_chat_messages_become_items() -> None:
    call = {"id": "call_7", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    chat = [
        ASK,
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_7", "content": "fog"},
        CALL,
        OUTPUT,
    ]
    sent = repaired(chat, PLAIN)
    assert sent[1] == {"role": "assistant", "content": "Let me look."}
    assert sent[2] == {
        "type": "function_call",
        "call_id": "call_7",
        "name": "weather",
        "arguments": "{}",
    }
    assert sent[3] == {"type": "function_call_output", "call_id": "call_7", "output": "fog"}


def test_a_part_gets_the_type_that_its_side_may_write() -> None:
    items = [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": [{"type": "input_text", "text": "b"}]},
        CALL,
        {**OUTPUT, "output": [{"type": "text", "text": "c"}]},
    ]
    sent = repaired(items, PLAIN)
    assert sent[0]["content"] == [{"type": "input_text", "text": "a"}]
    assert sent[1]["content"] == [{"type": "output_text", "text": "b"}]
    assert sent[3]["output"] == [{"type": "input_text", "text": "c"}]


def test_an_image_that_the_assistant_drew_moves_behind_its_turn() -> None:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
    drawn = {"role": "assistant", "content": [{"type": "output_text", "text": "Here."}, image]}
    sent = repaired([ASK, drawn, CALL, OUTPUT], PLAIN)
    assert sent[1]["content"] == [{"type": "output_text", "text": "Here."}]
    assert sent[-1] == {"role": "user", "content": [{**image, "detail": "auto"}]}


def test_an_output_that_is_an_object_becomes_its_json() -> None:
    assert repaired([ASK, CALL, {**OUTPUT, "output": {"t": 21}}], PLAIN)[2]["output"] == '{"t": 21}'


@pytest.mark.parametrize(("told", "output"), [
    ("sunny", "sunny"), ([{"type": "text", "text": "sunny"}], [{"type": "input_text", "text": "sunny"}]), (None, ""),
])  # fmt: skip
def test_an_output_under_the_key_of_a_chat_message_stands_where_outputs_do(
    told: object, output: object
) -> None:
    came = {
        "type": "function_call_output",
        "call_id": "call_1",
        **({} if told is None else {"content": told}),
    }
    sent = repaired([ASK, THOUGHT, CALL, came])
    assert sent == [ASK, THOUGHT, CALL, {**OUTPUT, "output": output}]


@pytest.mark.parametrize(
    "told", [[{"type": "image_url", "image_url": {"url": "https://x/y.png"}}], {"a": "b"}, 5]
)
def test_an_output_that_is_no_text_is_told_as_its_json(told: object) -> None:
    sent = repaired(
        [ASK, THOUGHT, CALL, {"type": "function_call_output", "call_id": "call_1", "content": told}]
    )
    assert sent[3] == {**OUTPUT, "output": json.dumps(told)}


@pytest.mark.parametrize(("summary", "settled", "effect"), [
    (["the plan"], [{"type": "summary_text", "text": "the plan"}], "RESHAPES"),
    ([{"text": "the plan"}], [{"type": "summary_text", "text": "the plan"}], "RESHAPES"),
    ([{"type": "summary_text", "text": {"deep": "plan"}}], [], "DROPS"),
])  # fmt: skip
def test_reasoning_is_told_in_its_own_parts(
    summary: list[Any], settled: list[Any], effect: str
) -> None:
    items = [ASK, {**THOUGHT, "summary": summary}, SAID, LATER]
    assert repaired(items)[1] == {**THOUGHT, "summary": settled}
    assert [
        change.effect.name for change in chatmend.check(items, GPT, dialect="openai_responses")
    ] == [effect]


def test_reasoning_content_that_is_no_text_goes_with_its_key() -> None:
    sent = repaired([ASK, THOUGHT, {**SAID, "reasoning_content": []}, LATER])
    assert [part["text"] for part in sent[2]["content"]] == ["It is 21 degrees."]
    assert "reasoning_content" not in sent[2]


def test_deepseek_wants_no_words_between_a_call_and_its_output() -> None:
    plain = {"role": "assistant", "content": "Looking."}
    assert repaired([ASK, CALL, plain, OUTPUT, ASK], "deepseek/deepseek-chat") == [
        ASK,
        CALL,
        OUTPUT,
        plain,
        ASK,
    ]


def test_deepseek_wants_no_reasoning_between_calls() -> None:
    items = [
        ASK,
        CALL,
        THOUGHT,
        {**CALL, "call_id": "b", "id": "fc_2"},
        OUTPUT,
        {**OUTPUT, "call_id": "b"},
    ]
    sent = repaired(items, "deepseek/deepseek-chat")
    assert [item.get("type") for item in sent[1:]] == [
        "reasoning",
        *["function_call"] * 2,
        *["function_call_output"] * 2,
    ]


@pytest.mark.parametrize("name", ["strict_alternation", "drop_instead_of_note", "offline"])
def test_no_named_policy_merges_items(name: str) -> None:
    policy = getattr(chatmend.Policy, name)()
    items = [
        {"role": "system", "content": "s"},
        ASK,
        LATER,
        THOUGHT,
        SAID,
        CALL,
        OUTPUT,
        OUTPUT,
        ASK,
    ]
    sent = repaired(items, policy=policy)
    assert [item for item in items if not any(item is kept for kept in sent)] in ([], [OUTPUT])


def test_limits_depend_on_the_dialect_too() -> None:
    place = chatmend.resolve("openai/gpt-4o")
    assert (
        place.limits.max_call_id_length,
        place.limits_in("openai_responses").max_call_id_length,
    ) == (40, 64)
    assert place.limits_in("openai_chat") is place.limits


def test_a_first_question_with_a_picture_is_recognised_and_left_alone() -> None:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
    asked = [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, image]}]
    assert chatmend.repair(asked, PLAIN).messages is asked
    assert (
        chatmend.repair(
            [*asked, {"role": "assistant", "content": "A dot."}, *asked], PLAIN
        ).messages[0]
        is asked[0]
    )


def test_a_chat_with_a_part_of_the_responses_api_stays_a_chat() -> None:
    url = f"data:image/png;base64,{PIXEL}"
    chat = [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert (
        recognise([*chat, {"role": "assistant", "content": None, "tool_calls": [call]}])
        is DIALECTS["openai_chat"]
    )
    sent = chatmend.repair_request({"model": "m", "messages": chat}, PLAIN).body["messages"]
    assert sent == [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


def test_who_speaks_a_dialect_without_a_table_of_it_copies_its_maker() -> None:
    maker = without_stores(chatmend.resolve(PLAIN).limits_in("openai_responses"))
    groq = chatmend.resolve("groq/gpt-4o")
    assert without_stores(groq.limits_in("openai_responses")) == replace(
        maker,
        images=groq.limits.images,
        item_keys=False,
        own=tuple(sorted({**dict(maker.own), "document_types": frozenset()}.items())),
    )
    azure = chatmend.resolve("azure/gpt-4o").limits_in("openai_responses")
    assert without_stores(azure) == maker
    other = chatmend.resolve("other")
    assert other.limits_in("openai_responses") == chatmend.Limits(images=other.limits.images)
    gemini, vertex = (
        chatmend.resolve(name) for name in ("gemini/gemini-2.5-pro", "vertex_ai/gemini-2.5-pro")
    )
    theirs = without_stores(gemini.limits_in("gemini_contents"))
    assert without_stores(vertex.limits_in("gemini_contents")) == replace(
        theirs,
        images=vertex.limits.images,
        results_together=True,
        bare_is_empty=False,
        own=tuple(sorted((*theirs.own, ("max_documents", 3_000)))),
    )


def test_results_that_the_models_own_message_holds_stand_behind_its_calls() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "21 degrees"}
    called = {"type": "tool_use", "id": "a", "name": "weather", "input": {}}
    said = [
        {"type": "message", "role": "user", "content": "go"},
        {"role": "assistant", "content": [result, called]},
    ]
    sent = chatmend.repair(said, GPT, dialect="openai_responses").messages
    assert sent[1:] == [
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "21 degrees"},
    ]
    assert chatmend.repair(sent, GPT, dialect="openai_responses").messages is sent


def test_a_call_in_a_result_of_2023_is_in_the_report() -> None:
    odd = {
        "role": "function",
        "function_call": {"name": "look", "arguments": '{"at": "notes.txt"}'},
    }
    done = chatmend.repair(
        [{"role": "user", "content": "go"}, odd], GPT, dialect="openai_responses"
    )
    assert "notes.txt" in str(
        [done.messages, [c.before for c in done.changes if c.effect is chatmend.Effect.DROPS]]
    )
    assert chatmend.repair(done.messages, GPT, dialect="openai_responses").messages is done.messages


REFERENCE: dict[str, Any] = {"type": "item_reference", "id": "rs_1"}
BY_ID: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
REBUILT: dict[str, Any] = {"role": "assistant", "content": SAID["content"]}


def body(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "input": list(items), **more}


@pytest.mark.parametrize(
    "given",
    [
        body(ASK, THOUGHT, SAID, LATER, store=False),
        body(ASK, BY_ID, SAID, LATER, store=True),
        body(ASK, BY_ID, SAID, LATER),
        body(ASK, REFERENCE, LATER),
        body(ASK, {"id": "rs_1"}, LATER),
        body(ASK, {"id": "rs_1", "type": None}, LATER),
        body(ASK, THOUGHT, REBUILT, LATER, store=False),
        body(ASK, {**THOUGHT, "encrypted_content": None}, CALL, OUTPUT, LATER),
    ],
)
def test_items_that_the_provider_can_read_or_look_up_stay_the_same_object(given: Any) -> None:
    assert chatmend.repair_request(given, GPT).body is given


@pytest.mark.parametrize(
    "item", [REFERENCE, {"id": "rs_1"}, BY_ID, {**BY_ID, "encrypted_content": None}]
)
def test_without_storage_what_must_be_looked_up_goes(item: Any) -> None:
    given = body(ASK, item, SAID, LATER, store=False)
    done = chatmend.repair_request(given, GPT)
    without_ids = {key: value for key, value in SAID.items() if key not in ("id", "status")}
    assert done.body["input"] == [ASK, without_ids, LATER]
    assert chatmend.repair_request(done.body, GPT).body is done.body


def test_a_lost_summary_is_reported_as_dropped() -> None:
    told = {**BY_ID, "summary": [{"type": "summary_text", "text": "I think."}]}
    changes = chatmend.repair_request(body(ASK, told, SAID, LATER, store=False), GPT).changes
    assert ("ITEM002", chatmend.Effect.DROPS) in [(one.code, one.effect) for one in changes]


def test_reasoning_known_by_its_id_goes_if_its_answer_has_lost_its_own() -> None:
    done = chatmend.repair_request(body(ASK, BY_ID, REBUILT, LATER), GPT)
    assert done.body["input"] == [ASK, REBUILT, LATER]


def test_a_text_after_a_call_loses_the_id_by_which_it_would_need_reasoning() -> None:
    done = chatmend.repair_request(body(ASK, THOUGHT, CALL, SAID, OUTPUT, LATER), GPT)
    texts = [item for item in done.body["input"] if item.get("type") == "message"]
    assert all("id" not in text for text in texts)
    assert CALL in done.body["input"]


def test_the_screenshot_of_a_computer_call_and_the_name_of_an_output_stay() -> None:
    url = f"data:image/png;base64,{PIXEL}"
    screenshot = {"type": "computer_screenshot", "image_url": url}
    computer = {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_c",
        "pending_safety_checks": [],
        "status": "completed",
        "action": {"type": "screenshot"},
    }
    output = {"type": "computer_call_output", "call_id": "call_c", "output": screenshot}
    given = body(ASK, computer, output, LATER)
    assert chatmend.repair_request(given, PLAIN).body is given
    named = {**OUTPUT, "name": "weather", "namespace": "n"}
    given = body(ASK, {**CALL, "namespace": "n"}, named, LATER)
    assert chatmend.repair_request(given, PLAIN).body is given


def test_reasoning_and_its_item_lose_each_other_in_one_repair() -> None:
    """A duplicate id goes, the reasoning that needs it goes, and the first text needs none then."""
    said = {
        "type": "message", "role": "assistant", "id": "msg_twice", "status": "completed",
        "content": [{"type": "output_text", "text": "Again.", "annotations": []}],
    }  # fmt: skip
    thought = {"type": "summary_text", "text": "I think."}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [thought]}
    items = [{"role": "user", "content": "go"}, said, reasoning, said]
    done = chatmend.repair(items, "openai/gpt-5", dialect="openai_responses")
    without = {key: value for key, value in said.items() if key not in ("id", "status")}
    assert done.messages == [items[0], without, without]
    assert not chatmend.check(done.messages, "openai/gpt-5", dialect="openai_responses")


def test_an_output_that_a_message_does_not_have_changes_nothing_about_its_content() -> None:
    items = [ASK, {"role": "system", "output": [{"type": "input_text", "text": "a"}]}]
    once = repaired(items, "hosted_vllm/Qwen/Qwen3.5-32B")
    assert repaired(once, "hosted_vllm/Qwen/Qwen3.5-32B") == once


@pytest.mark.parametrize("target", [GPT, "xai/grok-4", "some_gateway/m"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("function_call", {"name": "f", "arguments": "{}"}),
        ("tool_calls", [{"id": "x", "type": "function"}]),
    ],
)
def test_an_output_with_a_key_of_chat_completions_becomes_a_message_of_this_format(
    target: str, key: str, value: Any
) -> None:
    output = {"type": "function_call_output", "call_id": "gone", "output": "r", key: value}
    _, message, _ = repaired([ASK, output, ASK], target)
    assert message.keys() == {"role", "content"}


COMPUTER: dict[str, Any] = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "action": {"type": "click", "x": 1, "y": 2, "button": "left"},
    "pending_safety_checks": [],
    "status": "completed",
}


def screen(**keys: Any) -> dict[str, Any]:
    output = {"type": "computer_screenshot", **keys}
    return {"type": "computer_call_output", "call_id": "call_1", "output": output}


@pytest.mark.parametrize(
    "keys",
    [
        {"image_url": f"data:image/png;base64,{PIXEL}"},
        {"image_url": "https://example.com/a.png"},
        {"file_id": "file_1"},
        {"file_id": "file_1", "image_url": "[image omitted]"},
    ],
)
def test_screenshots_that_the_provider_can_read_are_unchanged(keys: dict[str, Any]) -> None:
    items = [ASK, COMPUTER, screen(**keys), LATER]
    assert chatmend.repair(items, GPT).messages is items


@pytest.mark.parametrize(
    "address", ["[image omitted]", "[screenshot omitted]", "file:///a.png", ""]
)
def test_a_screenshot_that_a_client_left_out_becomes_text_with_its_call(address: str) -> None:
    """Cloudgeni-ai/opengeni#290: each later request was refused."""
    items = [ASK, COMPUTER, screen(image_url=address), LATER]
    done = chatmend.repair(items, GPT)
    assert [item.get("role") for item in done.messages] == ["user", "assistant", "user", "user"]
    assert done.messages[1]["content"].startswith(CALL_NOTE)
    assert address in done.messages[2]["content"]
    assert [change.code for change in done.changes] == ["ITEM003", "TOOL007"]
    assert chatmend.repair(done.messages, GPT).messages is done.messages
    early = chatmend.repair(items[:3], GPT).messages
    assert done.messages[: len(early)] == early


REFERENCE: dict[str, Any] = {"type": "item_reference", "id": "msg_1"}
DUPLICATE = "Duplicate item found with id {}. Remove duplicate items from your input and try again."


def test_a_second_reference_to_an_item_is_removed() -> None:
    items = [ASK, REFERENCE, {"id": "rs_1"}, LATER]
    assert chatmend.repair(items, GPT).messages is items
    assert chatmend.repair([*items[:2], REFERENCE, *items[2:]], GPT).messages == items
    assert chatmend.repair([*items, REFERENCE, ASK], GPT).messages == [*items, ASK]


def test_react_removes_only_the_reference_that_is_refused() -> None:
    """vercel/ai#18605: ``previous_response_id`` holds the approval request already."""
    approval = {
        "type": "mcp_approval_response",
        "approve": True,
        "approval_request_id": "mcpr_1",
    }
    request = {"type": "item_reference", "id": "mcpr_1"}
    body = {"previous_response_id": "resp_1", "input": [REFERENCE, request, approval]}
    again = chatmend.react(body, GPT, DUPLICATE.format("mcpr_1"))
    assert again is not None
    assert again.body["input"] == [REFERENCE, approval]
    assert [change.code for change in again.changes] == ["BLOCK001"]


def test_an_empty_list_of_tools_is_filled_in() -> None:
    """langchain-openai leaves it out of the items of ``output_version="v1"``."""
    listed = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s"}
    user = {"role": "user", "content": "q"}
    messages = [user, listed, {"role": "assistant", "content": "a"}, user]
    done = chatmend.repair(messages, "openai/gpt-4.1", dialect="openai_responses")
    assert done.messages == [user, {**listed, "tools": []}, *messages[2:]]
    effects = [(change.code, change.effect) for change in done.changes]
    assert effects == [("ITEM003", chatmend.Effect.RESHAPES)]


@pytest.mark.parametrize("key", ["name", "args"])
def test_a_key_that_only_other_items_have_is_removed(key: str) -> None:
    """A stream of LangChain leaves the keys of a call in the reasoning with the same index."""
    call = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "18"}
    items = [{"role": "user", "content": "q"}, {**thought, key: "look"}, call, output]
    done = chatmend.repair(items, GPT, dialect="openai_responses")
    assert done.messages == [items[0], thought, call, output]
    assert [(change.code, change.index) for change in done.changes] == [("KEY001", 1)]
