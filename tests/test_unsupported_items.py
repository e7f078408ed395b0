"""Items of the Responses API at servers that implement a part of it: what stays, and what each type becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

import chatmend
from chatmend import Effect, Policy
from chatmend.dialects.entries import PREFIXES
from chatmend.dialects.formats import ITEM_KEYS
from chatmend.dialects.openai_responses import ITEMS
from chatmend.placeholders import CALL_NOTE, CONTINUED, NOTE
from tests.judges import judge
from tests.promises import broken_promises

VLLM, LLAMACPP, OLLAMA = (
    "hosted_vllm/Qwen/Qwen3.5-32B",
    "llamacpp/openai/gpt-oss-20b",
    "ollama/llama3.1",
)
SERVERS = (VLLM, LLAMACPP, OLLAMA)
ASK: dict[str, Any] = {"role": "user", "content": "Look for it."}
SAID: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Found it.", "annotations": []}],
}
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "find",
    "arguments": '{"in": "a.txt"}',
    "status": "completed",
}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "call_1", "output": "line 3"}
THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": "It may be in a.txt."}],
}
SEALED: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "It may be in a.txt."}],
    "encrypted_content": "gAAAAAB",
}
VALUES: dict[str, Any] = {
    "id": "x_1", "call_id": "call_9", "name": "find", "input": "+ tok00001x", "arguments": "{}",
    "action": {"type": "exec", "command": ["tok00002x"], "env": {}}, "output": "tok00003x",
    "operation": {"type": "delete_file", "path": "tok00004x"}, "status": "completed",
    "queries": ["tok00005x"], "results": [{"text": "tok00006x"}], "reason": "tok00007x",
    "tools": [], "server_label": "s", "encrypted_content": "gAAAAAB", "code": "tok00008x",
    "outputs": [{"type": "logs", "logs": "tok00009x"}], "revised_prompt": "tok00010x",
    "environment": {"type": "container_reference", "container_id": "tok00011x"},
    "pending_safety_checks": [{"id": "tok00012x"}], "actions": [{"type": "tok00013x"}],
    "acknowledged_safety_checks": [{"id": "tok00014x"}], "error": "tok00015x",
    "container_id": "c_1", "result": "aGVsbG8=", "approve": True, "approval_request_id": "mcpr_1",
    "role": "developer", "author": "/root", "recipient": "/root/child", "namespace": "tok00016x",
    "content": [{"type": "input_text", "text": "tok00017x"}, {"type": "input_text", "text": "b"}],
}  # fmt: skip
"""Values for the keys of all types of items, with the tokens that a repair must keep."""
OTHERS = sorted(ITEMS - {"message", "function_call", "function_call_output", "reasoning"})


def item(kind: str, *, is_full: bool = False) -> dict[str, Any]:
    """Return an item with its required keys, or with all."""
    required, optional = ITEM_KEYS.get(kind, (("author", "content", "recipient"), ()))
    keys = {*required, *optional} if is_full else {*required}
    values = {**VALUES, "id": f"{PREFIXES.get(kind, 'x')}_1"}
    if kind in ("tool_search_call", "web_search_call"):
        values["action"] = values["arguments"] = {"type": "search", "query": "q"}
    return {"type": kind, **{key: values[key] for key in sorted(keys) if key in values}}


def repaired(items: list[Any], target: str) -> chatmend.Repaired:
    return chatmend.repair(items, target, dialect="openai_responses")


@pytest.mark.parametrize("target", SERVERS)
def test_what_every_server_reads_is_unchanged(target: str) -> None:
    items = [{"role": "system", "content": "Be brief."}, ASK, THOUGHT, CALL, OUTPUT, SAID, ASK]
    assert repaired(items, target).messages is items


def test_items_that_a_server_reads_beyond_that_are_unchanged() -> None:
    assert repaired([ASK, item("web_search_call"), SAID, ASK], OLLAMA).changes == ()
    assert repaired([ASK, SEALED, SAID, ASK], OLLAMA).changes == ()
    kimi = [ASK, *map(item, ("custom_tool_call", "custom_tool_call_output")), SAID, ASK]
    assert [c.code for c in repaired(kimi, "moonshot/kimi-k2-0905-preview").changes] == []


def test_xai_gets_custom_calls_as_functions_and_no_null_in_reasoning() -> None:
    """Codex writes ``content: null`` into its reasoning items."""
    pair = [item("custom_tool_call"), item("custom_tool_call_output")]
    nulled = {**SEALED, "content": None}
    done = repaired([ASK, nulled, *pair, SAID, item("agent_message"), ASK], "xai/grok-4")
    assert done.messages[1] == SEALED
    assert [one["type"] for one in done.messages[2:4]] == ["function_call", "function_call_output"]
    assert done.messages[5]["role"] == "user"
    assert {change.code for change in done.changes} == {"ITEM005"}
    kept = [ASK, SEALED, CALL, OUTPUT, item("web_search_call"), SAID, ASK]
    assert repaired(kept, "xai/grok-4").messages is kept


def test_kimi_gets_no_compaction_and_a_tool_search_as_text() -> None:
    items = [ASK, item("compaction"), item("tool_search_call"), item("tool_search_output"), ASK]
    done = repaired(items, "moonshot/kimi-k3")
    assert [change.effect for change in done.changes] == [
        Effect.DROPS,
        Effect.DEGRADES,
        Effect.DEGRADES,
    ]
    assert [one.get("type") for one in done.messages] == [None, "message", "message", None]


@pytest.mark.parametrize("kind", OTHERS)
def test_openai_accepts_every_item(kind: str) -> None:
    done = repaired([ASK, item(kind), SAID, ASK], "openai/gpt-4o")
    assert "ITEM005" not in {change.code for change in done.changes}


@pytest.mark.parametrize("target", SERVERS)
@pytest.mark.parametrize("kind", OTHERS)
def test_every_item_becomes_something_that_the_server_accepts(kind: str, target: str) -> None:
    items = [ASK, item(kind), SAID, ASK]
    for full in (item(kind), item(kind, is_full=True)):
        assert list(broken_promises([ASK, full, SAID, ASK], target, "openai_responses")) == []
        assert list(broken_promises([full], target, "openai_responses")) == []
    refused = judge("openai_responses", target, items) != []
    assert refused == (not (kind == "web_search_call" and target == OLLAMA))


@pytest.mark.parametrize("target", SERVERS)
def test_a_custom_call_becomes_a_function_call(target: str) -> None:
    call = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "apply_patch"}
    output = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done."}
    items = [ASK, {**call, "input": '+ say "hi"'}, output, SAID, ASK]
    done = repaired(items, target)
    function = {"type": "function_call", "call_id": "call_1", "name": "apply_patch"}
    assert done.messages[1:3] == [
        {**function, "arguments": json.dumps({"input": '+ say "hi"'})},
        {**output, "type": "function_call_output"},
    ]
    assert [(c.code, c.effect) for c in done.changes] == [("ITEM005", Effect.RESHAPES)] * 2


def test_a_call_of_a_tool_of_openai_becomes_a_function_call_with_its_action() -> None:
    action = {"commands": ["ls"]}
    shell_output = [{"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    shot = {"type": "computer_screenshot", "image_url": "https://a.b/c.png"}
    items = [
        ASK,
        {"type": "shell_call", "call_id": "call_1", "action": action},
        {"type": "shell_call_output", "call_id": "call_1", "output": shell_output},
        {"type": "computer_call", "id": "cu_1", "call_id": "call_2", "action": {"type": "wait"}},
        {"type": "computer_call_output", "call_id": "call_2", "output": shot},
        ASK,
    ]
    out = repaired(items, VLLM).messages
    assert [(one.get("name"), json.loads(one["arguments"])) for one in (out[1], out[3])] == [
        ("shell", {"action": action}),
        ("computer", {"action": {"type": "wait"}}),
    ]
    assert json.loads(out[2]["output"]) == shell_output
    assert "https://a.b/c.png" in json.dumps(out[4:])


def test_of_a_call_of_a_tool_of_openai_everything_is_kept_that_the_model_wrote() -> None:
    computer, shell = item("computer_call", is_full=True), item("shell_call", is_full=True)
    failed = {"type": "apply_patch_call_output", "call_id": "call_9", "status": "failed"}
    patch = item("apply_patch_call")
    out = repaired([ASK, computer, ASK, shell, ASK, patch, failed, ASK], OLLAMA).messages
    calls = [json.loads(one["arguments"]) for one in out if one.get("type") == "function_call"]
    assert calls == [
        {key: computer[key] for key in ("action", "actions", "pending_safety_checks")},
        {key: shell[key] for key in ("action", "environment")},
        {"operation": patch["operation"]},
    ]
    outputs = [one["output"] for one in out if one.get("type") == "function_call_output"]
    assert outputs[-1] == json.dumps({"status": "failed"})


def test_a_custom_call_keeps_its_namespace() -> None:
    call = {**item("custom_tool_call"), "namespace": "files"}
    out = repaired([ASK, call, item("custom_tool_call_output"), ASK], VLLM).messages
    assert (out[1]["name"], out[1]["namespace"]) == ("find", "files")


@pytest.mark.parametrize("target", SERVERS)
def test_a_message_of_another_agent_becomes_a_user_message(target: str) -> None:
    task = {"type": "agent_message", "author": "/root", "recipient": "/root/child"}
    parts = [{"type": "input_text", "text": "Count the files."}]
    done = repaired([ASK, {**task, "content": parts}], target)
    assert done.messages[1]["role"] == "user"
    assert done.messages[1]["content"][-1]["text"] == "Count the files."
    sealed = [{"type": "encrypted_content", "encrypted_content": "gAAAAAB"}]
    gone = repaired([ASK, {**task, "content": sealed}], target)
    assert (gone.messages, [c.effect for c in gone.changes]) == ([ASK], [Effect.DROPS])
    plain = repaired([ASK, {**task, "content": "Count the files."}], target)
    assert "Count the files." in json.dumps(plain.messages[1])
    partly = repaired([ASK, {**task, "content": [*parts, *sealed]}], target)
    assert "Count the files." in json.dumps(partly.messages[1])
    assert "gAAAAAB" not in json.dumps(partly.messages)
    assert [change.effect for change in partly.changes] == [Effect.DROPS]


def test_what_hosted_tools_did_becomes_text_of_the_same_side() -> None:
    search, found = item("tool_search_call"), item("tool_search_output")
    done = repaired([ASK, search, found, SAID, ASK], LLAMACPP)
    texts = [one["content"][0]["text"] for one in done.messages[1:3]]
    assert texts == [CALL_NOTE + json.dumps(search), NOTE + json.dumps(found)]
    assert [one["role"] for one in done.messages[1:3]] == ["assistant", "user"]


def test_the_bytes_of_a_generated_image_are_not_sent_as_text() -> None:
    done = repaired([ASK, item("image_generation_call"), SAID, ASK], OLLAMA)
    assert VALUES["result"] not in json.dumps(done.messages)
    assert [change.effect for change in done.changes] == [Effect.DROPS]
    plot = {"type": "image", "url": "data:image/png;base64,aGVsbG8="}
    call = item("code_interpreter_call")
    drawn = repaired([ASK, {**call, "outputs": [*call["outputs"], plot]}, SAID, ASK], OLLAMA)
    assert "aGVsbG8=" not in json.dumps(drawn.messages)
    assert call["outputs"][0]["logs"] in json.dumps(drawn.messages)
    assert [change.effect for change in drawn.changes] == [Effect.DROPS]


@pytest.mark.parametrize("target", SERVERS)
def test_items_that_only_their_server_can_read_are_removed(target: str) -> None:
    kinds = ("compaction", "item_reference", "mcp_list_tools", "additional_tools")
    done = repaired([*map(item, kinds), ASK], target)
    assert done.messages == [ASK]
    assert [(c.code, c.effect) for c in done.changes] == [("ITEM005", Effect.DROPS)] * len(kinds)
    alone = repaired([*map(item, kinds)], target)
    assert [CONTINUED in json.dumps(one) for one in alone.messages] == [True]


@pytest.mark.parametrize("target", [VLLM, LLAMACPP])
def test_of_sealed_reasoning_the_text_is_sent(target: str) -> None:
    done = repaired([ASK, SEALED, SAID, ASK], target)
    text = [{"type": "reasoning_text", "text": "It may be in a.txt."}]
    kept = {key: value for key, value in SEALED.items() if key != "encrypted_content"}
    assert done.messages[1] == {**kept, "content": text}
    assert [(c.code, c.effect) for c in done.changes] == [("ITEM005", Effect.DROPS)]
    without_text = {**SEALED, "summary": []}
    assert repaired([ASK, without_text, SAID, ASK], target).messages == [ASK, SAID, ASK]


def test_llamacpp_gets_the_summary_as_content_and_the_type_of_answers() -> None:
    summary = {key: value for key, value in SEALED.items() if key != "encrypted_content"}
    answer = {"role": "assistant", "content": "Found it."}
    done = repaired([ASK, summary, answer, ASK], LLAMACPP)
    assert done.messages[1]["content"][0]["text"] == "It may be in a.txt."
    assert done.messages[2] == {"type": "message", **answer}
    assert {change.effect for change in done.changes} == {Effect.RESHAPES}
    assert repaired([ASK, summary, answer, ASK], VLLM).changes == ()


REFUSALS = [
    (
        '{"error":{"message":"input[1]: unknown input item type: \\"web_search_call\\""}}',
        "web_search_call",
    ),
    ('invalid_request_error: input.1: item type "compaction" is not supported', "compaction"),
    ("Unsupported Responses API input item type: 'additional_tools' None", "additional_tools"),
    ("cannot unmarshal unknown input type: agent_message", "agent_message"),
    ("unsupported input item type: compaction_trigger", "compaction_trigger"),
    ("Responses API item_reference is not supported by this gateway.", "item_reference"),
    ("Cannot determine type of 'item'", "custom_tool_call"),
    ("data did not match any variant of untagged enum ModelInput", "custom_tool_call"),
]


@pytest.mark.parametrize(("message", "kind"), REFUSALS)
def test_a_refusal_shows_an_unknown_server_which_items_it_refuses(message: str, kind: str) -> None:
    target = "my_gateway/some-model"
    body = {"model": "some-model", "input": [ASK, item(kind), SAID, ASK]}
    if kind == "custom_tool_call":
        body["input"].insert(2, item("custom_tool_call_output"))
    assert chatmend.repair_request(body, target).changes == ()
    reaction = chatmend.react(body, target, message)
    assert reaction is not None
    assert kind not in {one.get("type") for one in reaction.body["input"]}
    assert {change.code for change in reaction.changes} == {"ITEM005"}
    assert reaction.lesson is not None
    again = chatmend.repair_request(body, target, lessons=[reaction.lesson])
    assert again.body == reaction.body
    other = {**body, "input": [ASK, CALL, OUTPUT, SAID, ASK]}
    assert chatmend.repair_request(other, target, lessons=[reaction.lesson]).changes == ()


OTHER_REFUSALS = [
    "unknown content item type: 'input_image'",
    "messages.1.content.0.pdf: encrypted content is not supported",
    "Unsupported input type for embeddings: list",
]


@pytest.mark.parametrize("message", OTHER_REFUSALS)
def test_a_refusal_of_something_else_removes_no_item(message: str) -> None:
    body = {"model": "m", "input": [ASK, SEALED, item("web_search_call"), SAID, ASK]}
    reaction = chatmend.react(body, "my_gateway/some-model", message)
    assert reaction is None or reaction.body["input"] == body["input"]


def test_a_server_that_refuses_reasoning_gets_none() -> None:
    body = {"model": "m", "input": [ASK, THOUGHT, SAID, ASK]}
    message = 'input[1]: unknown input item type: "reasoning"'
    reaction = chatmend.react(body, "my_gateway/some-model", message)
    assert reaction is not None
    assert reaction.body["input"] == [ASK, SAID, ASK]


def test_a_null_in_reasoning_is_the_mildest_cause_of_a_refusal_that_names_none() -> None:
    body = {"model": "m", "input": [ASK, {**SEALED, "content": None}, SAID, ASK]}
    message = "data did not match any variant of untagged enum ModelInput"
    reaction = chatmend.react(body, "my_gateway/some-model", message)
    assert reaction is not None
    assert reaction.body["input"] == [ASK, SEALED, SAID, ASK]


def test_refused_types_add_up() -> None:
    target = "my_gateway/some-model"
    body = {"model": "m", "input": [ASK, item("compaction"), item("mcp_list_tools"), SAID, ASK]}
    first = chatmend.react(body, target, 'item type "compaction" is not supported')
    assert first is not None
    assert first.lesson is not None
    second = chatmend.react(
        first.body, target, 'item type "mcp_list_tools" is not supported', lessons=[first.lesson]
    )
    assert second is not None
    assert second.lesson is not None
    done = chatmend.repair_request(body, target, lessons=[first.lesson, second.lesson])
    assert done.body["input"] == [ASK, SAID, ASK]


def test_a_refusal_of_encrypted_content_removes_it() -> None:
    body = {"model": "m", "input": [ASK, SEALED, SAID, ASK]}
    reaction = chatmend.react(body, "my_gateway/some-model", "Encrypted content is not supported.")
    assert reaction is not None
    assert "encrypted_content" not in reaction.body["input"][1]
    assert "It may be in a.txt." in json.dumps(reaction.body)


@pytest.mark.parametrize("target", [*SERVERS, "moonshot/kimi-k3"])
def test_the_limits_of_files_of_the_host_hold(target: str) -> None:
    """The form of the items is OpenAI's, but the server has neither its files nor its disk."""
    stored = {"type": "input_image", "file_id": "file-ABCdef1234567890"}
    local = {"type": "input_image", "image_url": "file:///home/a/b.png"}
    for part, code in ((stored, "FILE001"), (local, "IMG014")):
        done = repaired([{"role": "user", "content": [part]}], target)
        assert code in {change.code for change in done.changes}
        assert part not in done.messages[0]["content"]


def test_a_refusal_of_messages_without_a_type_shows_that_each_needs_one() -> None:
    asked = {"role": "user", "content": "hi"}
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}
    error = (
        "Invalid value: ''. Supported values are: 'additional_tools', 'agent_message', "
        "'apply_patch_call', 'message', and 'web_search_call'."
    )
    done = chatmend.react({"model": "m", "input": [asked, said, asked]}, "azure/gpt-5", error)
    assert done is not None
    assert done.body["input"] == [{"type": "message", **item} for item in (asked, said, asked)]


SQL = {"id": "call_1", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT 1"}}
AS_FUNCTION = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "run_sql", "arguments": '{"input": "SELECT 1"}'},
}
ANSWERED = {"role": "tool", "tool_call_id": "call_1", "content": "1"}


def calling(*calls: dict[str, Any]) -> list[Any]:
    said = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return [ASK, said, ANSWERED, {"role": "assistant", "content": "1"}, ASK]


@pytest.mark.parametrize(
    "target",
    ["openai/gpt-5", "azure/gpt-5", "openrouter/openai/gpt-5", "openai_compatible/m"],
)
def test_a_custom_call_in_a_chat_is_unchanged_where_it_may_be_known(target: str) -> None:
    messages = calling(SQL)
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("model", ["openai/gpt-5", "deepseek/deepseek-chat"])
def test_a_function_call_with_an_empty_custom_key_stays_a_function_call(model: str) -> None:
    messages = calling({**AS_FUNCTION, "custom": None})
    assert chatmend.repair(messages, model).messages is messages


@pytest.mark.parametrize(
    "target",
    [
        "anthropic/claude-sonnet-4-6", "gemini/gemini-2.5-pro", "bedrock/us.amazon.nova-pro-v1:0",
        "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "cohere/command-a-03-2025",
        "deepseek/deepseek-chat", "groq/llama-3.3-70b-versatile", "vertex_ai/claude-sonnet-4-5",
    ],
)  # fmt: skip
def test_a_custom_call_in_a_chat_becomes_a_function_call(target: str) -> None:
    messages = calling(SQL)
    done = chatmend.repair(messages, target)
    assert done.messages == calling(AS_FUNCTION)
    assert [(change.code, change.index) for change in done.changes] == [("ITEM005", 1)]
    assert chatmend.repair(done.messages, target).messages is done.messages
    assert chatmend.repair(messages[:3], target).messages == done.messages[:3]


def test_a_custom_call_of_mistral_keeps_its_result() -> None:
    _, said, result, *_ = chatmend.repair(calling(SQL), "mistral/mistral-large-latest").messages
    assert said["tool_calls"][0]["function"] == AS_FUNCTION["function"]
    assert result == {**ANSWERED, "tool_call_id": said["tool_calls"][0]["id"]}


def test_a_custom_call_without_a_name_gets_one() -> None:
    messages = calling({**SQL, "custom": None})
    said = chatmend.repair(messages, "deepseek/deepseek-chat").messages[1]
    function = {"name": "unknown_tool", "arguments": '{"input": null}'}
    assert said["tool_calls"] == [{**AS_FUNCTION, "function": function}]


def test_a_refused_custom_call_in_a_chat_becomes_a_function_call() -> None:
    error = "messages[1].tool_calls[0].type: unknown variant `custom`, expected `function`"
    reaction = chatmend.react({"model": "m", "messages": calling(SQL)}, "moonshot/kimi-k2", error)
    assert reaction is not None
    assert reaction.body["messages"] == calling(AS_FUNCTION)


VALID_INPUT = TypeAdapter(list[ResponseInputItemParam])
"""The types with which vLLM validates the input of a request."""


@pytest.mark.parametrize("given", [(), ("status",), ("id", "status")])
def test_vllm_gets_an_answer_without_a_type_as_a_string(given: tuple[str, ...]) -> None:
    kept = {key: value for key, value in SAID.items() if key in (*given, "role", "content")}
    done = chatmend.repair([ASK, kept, ASK], VLLM, dialect="openai_responses")
    VALID_INPUT.validate_python(done.messages)
    assert done.messages == [ASK, {"role": "assistant", "content": "Found it."}, ASK]
    (change,) = done.changes
    assert (change.code, change.effect) == ("ITEM005", Effect.RESHAPES)


@pytest.mark.parametrize("given", [("type",), ("type", "id"), ("type", "id", "status")])
def test_vllm_gets_an_answer_with_a_type_unchanged(given: tuple[str, ...]) -> None:
    kept = {key: value for key, value in SAID.items() if key in (*given, "role", "content")}
    messages = [ASK, kept, ASK]
    assert chatmend.repair(messages, VLLM, dialect="openai_responses").messages is messages


def test_an_answer_for_vllm_loses_its_annotations_only_with_a_report() -> None:
    cited = {"type": "file_path", "file_id": "file_1", "index": 3}
    text = {"type": "output_text", "text": "Found it.", "annotations": [cited]}
    messages = [ASK, {"role": "assistant", "content": [text]}, ASK]
    done = chatmend.repair(messages, VLLM, dialect="openai_responses")
    assert done.messages[1] == {"role": "assistant", "content": "Found it."}
    assert done.changes[0].effect is Effect.DROPS
    strict = Policy(allow=Effect.RESHAPES)
    kept = chatmend.repair(messages, VLLM, dialect="openai_responses", policy=strict)
    assert kept.messages is messages


SHELL: dict[str, Any] = {"type": "function", "name": "shell", "parameters": {"type": "object"}}
PATCH: dict[str, Any] = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Edits files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: LINE+"},
}


def tools_item(*tools: Any) -> dict[str, Any]:
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def with_tools(target: str, *items: Any, **keys: Any) -> chatmend.RepairedRequest:
    body = {"model": "m", "input": [*items, ASK], **keys}
    done = chatmend.repair_request(body, target)
    assert chatmend.repair_request(done.body, target).changes == ()
    assert not list(broken_promises(body["input"], target, "openai_responses"))
    return done


def test_a_server_that_reads_the_item_gets_its_tools_there() -> None:
    body = {"model": "m", "input": [tools_item(SHELL), ASK], "tools": [PATCH]}
    assert chatmend.repair_request(body, "openai/gpt-5.5").body is body


@pytest.mark.parametrize("target", ["xai/grok-4", *SERVERS])
def test_the_tools_of_an_unsupported_item_are_declared_by_the_request(target: str) -> None:
    """Without them the model has no tools (RubricLab/tokenmaxx#27)."""
    done = with_tools(target, tools_item(SHELL))
    assert (done.body["input"], done.body["tools"]) == ([ASK], [SHELL])
    assert [(c.where, c.effect) for c in done.changes] == [
        ("messages", Effect.DROPS),
        ("tools", Effect.RESHAPES),
    ]


def test_tools_that_the_request_declares_are_not_declared_twice() -> None:
    given = [{**SHELL, "description": "Runs a command."}]
    done = with_tools(VLLM, tools_item(SHELL), tools=given)
    assert done.body["tools"] is given
    other = {**SHELL, "name": "read"}
    later = with_tools(VLLM, tools_item(SHELL), ASK, SAID, tools_item(SHELL, other), tools=given)
    assert later.body["tools"] == [*given, other]


def test_custom_tools_become_functions_where_their_calls_do() -> None:
    done = with_tools(VLLM, tools_item(PATCH))
    (tool,) = done.body["tools"]
    assert (tool["type"], tool["name"]) == ("function", "apply_patch")
    assert tool["description"] == "Edits files."
    assert list(tool["parameters"]["properties"]) == tool["parameters"]["required"] == ["input"]
    assert "start: LINE+" in tool["parameters"]["properties"]["input"]["description"]


def test_a_server_that_refuses_only_the_item_gets_custom_tools() -> None:
    lesson = chatmend.Lesson("openai/gpt-5.5", "refused_items", ("additional_tools",))
    body = {"model": "m", "input": [tools_item(PATCH), ASK]}
    done = chatmend.repair_request(body, "openai/gpt-5.5", lessons=[lesson])
    assert done.body["tools"] == [PATCH]


def test_of_a_namespace_the_functions_are_declared() -> None:
    space = {"type": "namespace", "name": "crm", "description": "", "tools": [SHELL]}
    assert with_tools(VLLM, tools_item(space)).body["tools"] == [SHELL]


def test_tools_of_other_types_are_dropped_with_the_item_and_named() -> None:
    odd: list[Any] = [{"type": "web_search"}, {"type": "function"}, None]
    done = with_tools(VLLM, tools_item(SHELL, *odd))
    assert done.body["tools"] == [SHELL]
    assert "function, unknown, web_search" in done.changes[0].why
    assert "tools" not in with_tools(VLLM, tools_item(*odd)).body
    assert "tools" not in with_tools(VLLM, {**tools_item(), "tools": "shell"}).body


def test_tools_stay_unknown_if_the_caller_gives_none() -> None:
    done = repaired([tools_item(SHELL), ASK], VLLM)
    assert (done.messages, done.tools) == ([ASK], None)


def test_a_policy_that_drops_nothing_leaves_the_item_and_the_tools() -> None:
    body = {"model": "m", "input": [tools_item(SHELL), ASK]}
    strict = Policy(allow=Effect.RESHAPES)
    assert chatmend.repair_request(body, VLLM, policy=strict).body is body


def test_a_converted_call_behind_a_placeholder_stays_before_the_results_of_its_turn() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "a", "output": "done"}
    odd = {"role": "assistant", "content": "[continued]", "tool_calls": "read(x)"}
    question = {"role": "user", "content": "go"}
    target = "hosted_vllm/Qwen/Qwen3.5-32B"
    done = chatmend.repair(
        [question, call, odd, result, question], target, dialect="openai_responses"
    )
    assert done.messages[2]["content"].startswith("[continued]\n\nRecorded tool call")
    again = chatmend.repair(done.messages, target, dialect="openai_responses")
    assert again.messages is done.messages


def test_reasoning_that_a_model_without_reasoning_refuses_is_removed_after_the_refusal() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    answer = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "a", "annotations": []}],
    }
    question = {"role": "user", "content": "q"}
    body = {"model": "gpt-4.1", "input": [question, reasoning, answer, question]}
    assert chatmend.repair_request(body, "openai/gpt-4.1").body is body
    error = "Reasoning input items can only be provided to a reasoning or computer use model."
    reaction = chatmend.react(body, "openai/gpt-4.1", error)
    assert reaction is not None
    kinds = [item.get("type", "user") for item in reaction.body["input"]]
    assert kinds == ["user", "message", "user"]
