"""Items of the Responses API through ``ChatOpenAI`` at servers that implement a part of it."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import httpx
import pytest

pytest.importorskip("langchain_openai")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from packaging.version import Version

import chatmend
from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from chatmend.langchain.partners import find_destination
from tests.judges import judge

pytestmark = pytest.mark.skipif(
    Version(version("langchain-openai")) < Version("1.7"),
    reason="langchain-openai before 1.7 sends other items",
)
SERVERS = {
    "vllm": "hosted_vllm/Qwen/Qwen3.5-32B",
    "llamacpp": "llamacpp/openai/gpt-oss-20b",
    "ollama": "ollama/llama3.1",
    "xai": "xai/grok-4",
    "kimi": "moonshot/kimi-k3",
}
LOCAL = ("vllm", "llamacpp", "ollama")
ASK, NEXT = HumanMessage("Look for it."), HumanMessage("And now?")
TEXT = {"type": "text", "text": "Found it.", "annotations": [], "id": "msg_1"}
THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "It may be in a.txt."}],
    "encrypted_content": "gAAAAAB",
}
SEALED: dict[str, Any] = {**THOUGHT, "summary": []}
TWO_THOUGHTS: dict[str, Any] = {
    **THOUGHT,
    "summary": [{"type": "summary_text", "text": text} for text in ("First.", "Second.")],
}
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "find",
    "arguments": '{"in":"a.txt"}',
}
TOOL_CALL: Any = {"type": "tool_call", "name": "find", "args": {"in": "a.txt"}, "id": "call_1"}
CUSTOM: dict[str, Any] = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "call_1",
    "name": "apply_patch",
    "input": "+ line",
}
CUSTOM_CALL: Any = {**TOOL_CALL, "name": "apply_patch", "args": {"__arg1": "+ line"}}
CUSTOM_OUTPUT: dict[str, Any] = {"type": "custom_tool_call_output", "output": "Done."}
SCREEN: dict[str, Any] = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}
PATCH: dict[str, Any] = {
    "type": "apply_patch_call",
    "id": "apc_1",
    "call_id": "call_1",
    "operation": {"type": "delete_file", "path": "a"},
    "status": "completed",
}
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
GENERATED: dict[str, Any] = {
    "type": "image",
    "base64": PIXEL[22:],
    "mime_type": "image/png",
    "id": "ig_1",
    "extras": {"status": "completed"},
}
ITEMS: dict[str, dict[str, Any]] = {
    "web_search_call": {
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q1"},
    },
    "file_search_call": {"id": "fs_1", "status": "completed", "queries": ["q2"], "results": []},
    "code_interpreter_call": {
        "id": "ci_1",
        "status": "completed",
        "code": "print(1)",
        "container_id": "cntr_1",
        "outputs": [{"type": "logs", "logs": "1"}],
    },
    "mcp_call": {
        "id": "mcp_1",
        "name": "f",
        "arguments": "{}",
        "server_label": "s",
        "output": "o1",
    },
    "mcp_list_tools": {"id": "mcpl_1", "server_label": "s", "tools": [{"name": "t"}]},
    "mcp_approval_request": {
        "id": "mcpr_1",
        "name": "f",
        "arguments": "{}",
        "server_label": "s",
    },
    "image_generation_call": {"id": "ig_1", "status": "completed", "result": PIXEL[22:]},
    "compaction": {"id": "cmp_1", "encrypted_content": "gAAAAAB"},
    "tool_search_call": {
        "id": "tsc_1",
        "status": "completed",
        "arguments": {"q": "q3"},
        "execution": "server",
        "call_id": None,
    },
}


SEARCH = {"type": "web_search_call", **ITEMS["web_search_call"]}
ANSWER: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 0,
    "model": "m",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "msg_8",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Yes.", "annotations": []}],
        }
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}


def said(*blocks: Any, version: str = "responses/v1", **fields: Any) -> AIMessage:
    """Return an answer of OpenAI's model as langchain-openai returns it in an output version."""
    metadata = {"model_provider": "openai"}
    message = AIMessage(list(blocks), response_metadata=metadata, **fields)
    if version == "v1":
        standard = {**metadata, "output_version": "v1"}
        return AIMessage(message.content_blocks, response_metadata=standard, **fields)  # type: ignore[arg-type]
    if version == "v0":
        kwargs: dict[str, Any] = {}
        for block in blocks:
            if block["type"] == "reasoning":
                kwargs["reasoning"] = block
            elif block["type"] != "text":
                kwargs.setdefault("tool_outputs", []).append(block)
        texts = [block for block in blocks if block["type"] == "text"]
        return AIMessage(texts, additional_kwargs=kwargs, response_metadata=metadata, **fields)
    return message


def result(content: Any, **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id="call_1", **fields)


def history(answer: AIMessage, *more: BaseMessage) -> list[BaseMessage]:
    return [ASK, answer, *more, NEXT]


def model_of(name: str, **params: Any) -> ChatOpenAI:
    """Return a model of a server, or of OpenAI; local servers are named by their target."""
    host, _, model = {**SERVERS, "unknown": "unknown/m"}.get(name, "openai/gpt-5").partition("/")
    urls = {"xai": "https://api.x.ai/v1", "moonshot": "https://api.moonshot.ai/v1", "openai": None}
    url = urls.get(host, "http://llm.test/v1")
    return ChatOpenAI(
        model=model,
        api_key="k",  # type: ignore[arg-type]
        base_url=url,
        use_responses_api=True,
        **params,
    )


def request(
    name: str, messages: list[BaseMessage], params: Any = None, **options: Any
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the items that are sent to a server, and the changes that the report lists."""
    target = SERVERS[name] if name in LOCAL else None
    options = {"target": target, "on_error": "raise", "report": "all", **options}
    return sent_by(mend(model_of(name, **(params or {})), **options), messages)


def sent_by(
    model: Any, messages: list[BaseMessage], **options: Any
) -> tuple[list[Any], list[dict[str, Any]]]:
    call = prepare(model, messages, options)
    body = call.sender(model)._get_request_payload(call.messages, **call.options)
    return body["input"], (call.report() or {"changes": []})["changes"]


def bare(model: Any, messages: list[BaseMessage]) -> list[Any]:
    items: list[Any] = model._get_request_payload(messages)["input"]
    return items


PLAIN = [
    SystemMessage("Be brief."),
    ASK,
    AIMessage("", tool_calls=[TOOL_CALL]),
    result("line 3"),
    said(TEXT),
    NEXT,
]


@pytest.mark.parametrize("name", SERVERS)
def test_a_plain_history_is_sent_as_without_chatmend(name: str) -> None:
    sent, changes = request(name, PLAIN)
    assert sent == bare(model_of(name), PLAIN)
    assert {change["code"] for change in changes} <= {"THINK002"}  # Kimi requires reasoning


AT_OPENAI: dict[str, list[BaseMessage]] = {
    "reasoning": history(said(THOUGHT, TEXT)),
    "a generated image v1": history(
        AIMessage(
            [GENERATED, TEXT],
            response_metadata={"model_provider": "openai", "output_version": "v1"},
        )
    ),
    "reasoning of two parts v1": history(said(TWO_THOUGHTS, TEXT, version="v1")),
    "custom": history(
        said(THOUGHT, CUSTOM, tool_calls=[CUSTOM_CALL]), result([CUSTOM_OUTPUT]), said(TEXT)
    ),
    "custom v1": history(
        said(CUSTOM, version="v1", tool_calls=[CUSTOM_CALL]),
        result([{"type": "non_standard", "value": {**CUSTOM_OUTPUT, "call_id": "call_1"}}]),
    ),
    "computer": history(
        said(SCREEN),
        result(
            [{"type": "input_image", "image_url": PIXEL, "detail": "auto"}],
            additional_kwargs={"type": "computer_call_output"},
        ),
    ),
    "computer, a text": history(
        said(SCREEN), result(PIXEL, additional_kwargs={"type": "computer_call_output"})
    ),
    "computer v1": history(
        said(SCREEN, version="v1"),
        result(PIXEL, additional_kwargs={"type": "computer_call_output"}),
    ),
    "computer v0": history(
        said(THOUGHT, TEXT, SCREEN, version="v0"),
        result(PIXEL, additional_kwargs={"type": "computer_call_output"}),
    ),
    "a patch": history(
        said(PATCH),
        HumanMessage(
            [
                {
                    "type": "apply_patch_call_output",
                    "call_id": "call_1",
                    "status": "completed",
                    "output": "ok",
                }
            ]  # type: ignore[list-item]
        ),
    ),
    "an approval": history(
        said({"type": "mcp_approval_request", **ITEMS["mcp_approval_request"]}),
        HumanMessage(
            [  # type: ignore[list-item]
                {
                    "type": "mcp_approval_response",
                    "approval_request_id": "mcpr_1",
                    "approve": True,
                }
            ]
        ),
    ),
    **{
        f"{kind} {version}": history(said({"type": kind, **item}, TEXT, version=version))
        for kind, item in ITEMS.items()
        for version in ("responses/v1", "v0", "v1")
        if (kind, version) != ("image_generation_call", "v1")  # lacks the media type
    },
}


@pytest.mark.parametrize("case", AT_OPENAI)
def test_openai_gets_every_item_as_without_chatmend(case: str) -> None:
    messages = AT_OPENAI[case]
    assert request("openai", messages) == (bare(model_of("openai"), messages), [])


def test_reasoning_that_a_message_holds_twice_is_sent_once() -> None:
    answer = said(TWO_THOUGHTS, TEXT, version="v1")
    answer.content = [*answer.content, *answer.content[:2], TEXT]
    sent, changes = request("openai", history(answer))
    assert [item["type"] for item in sent] == ["message", "reasoning", "message", "message"]
    assert len(sent[1]["summary"]) == 2
    assert [(change["code"], change["effect"]) for change in changes] == [("ITEM004", "drops")]


@pytest.mark.parametrize("case", AT_OPENAI)
def test_azure_gets_every_item_as_without_chatmend(case: str) -> None:
    model = AzureChatOpenAI(
        azure_deployment="gpt-5",
        api_key="k",  # type: ignore[arg-type]
        azure_endpoint="https://a.openai.azure.com",
        api_version="2025-04-01-preview",
        use_responses_api=True,
    )
    assert find_destination(model, {}).target.name == "azure/responses/gpt-5"
    wrapped = mend(model, on_error="raise", report="all")
    assert sent_by(wrapped, AT_OPENAI[case]) == (bare(model, AT_OPENAI[case]), [])


def test_chat_xai_keeps_reasoning_and_gets_custom_calls_as_functions() -> None:
    xai = pytest.importorskip("langchain_xai")
    model = xai.ChatXAI(model="grok-4", api_key="k", use_responses_api=True)
    wrapped = mend(model, on_error="raise", report="all")
    kept = history(said(THOUGHT, {"type": "web_search_call", **ITEMS["web_search_call"]}, TEXT))
    assert sent_by(wrapped, kept) == (bare(model, kept), [])
    sent, changes = sent_by(wrapped, AT_OPENAI["custom"])
    assert [item["type"] for item in sent[2:4]] == ["function_call", "function_call_output"]
    assert [change["code"] for change in changes] == ["ITEM005", "ITEM005"]


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("case", AT_OPENAI)
def test_every_item_becomes_something_that_the_server_accepts(name: str, case: str) -> None:
    messages = AT_OPENAI[case]
    sent, changes = request(name, messages)
    applied = [change for change in changes if change["applied"]]
    if name in LOCAL:
        assert judge("openai_responses", SERVERS[name], sent) == []
    assert chatmend.repair(sent, SERVERS[name], dialect="openai_responses").messages is sent
    if sent != bare(model_of(name), messages):
        codes = {change["code"] for change in applied}
        # The outputs of llama.cpp's server hold only texts.
        assert codes - ({"IMG011"} if name == "llamacpp" else set()) == {"ITEM005"}
    else:
        assert applied == []


def test_the_report_lists_changes_at_the_messages_that_hold_the_items() -> None:
    messages = [*history(said(THOUGHT, CALL, tool_calls=[TOOL_CALL]), result("line 3"))[:3]]
    messages += [said(TEXT, SEARCH, {"type": "compaction", **ITEMS["compaction"]}), NEXT]
    _, changes = request("vllm", messages)
    assert [(one["code"], one["effect"], one["index"]) for one in changes] == [
        ("ITEM005", "drops", 1),
        ("ITEM005", "degrades", 3),
        ("ITEM005", "drops", 3),
    ]
    answered = sent_report("vllm", messages, report="new")
    assert [one["index"] for one in answered["changes"]] == [3, 3]
    assert answered["earlier"] == 1


def sent_report(name: str, messages: list[BaseMessage], **options: Any) -> dict[str, Any]:
    model = mend(model_of(name), target=SERVERS[name], on_error="raise", **options)
    call = prepare(model, messages, {})
    model._get_request_payload(call.messages)
    found = call.report()
    assert found is not None
    return found


def test_positions_count_from_the_end_if_the_server_stores_the_earlier_messages() -> None:
    stored = said(TEXT)
    stored.response_metadata["id"] = "resp_1"
    messages = [ASK, stored, HumanMessage("a"), said(SEARCH, {**TEXT, "id": "msg_2"}), NEXT]
    sent, changes = request("vllm", messages, {"use_previous_response_id": True})
    assert len(sent) == 4
    assert [change["index"] for change in changes] == [3]


def test_a_result_alone_is_sent_unchanged_if_the_server_stores_its_call() -> None:
    stored = said(CALL, tool_calls=[TOOL_CALL])
    stored.response_metadata["id"] = "resp_1"
    messages = [ASK, stored, result("line 3")]
    sent, changes = request("vllm", messages, {"use_previous_response_id": True})
    assert [item["type"] for item in sent] == ["function_call_output"]
    assert changes == []


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
@pytest.mark.parametrize("name", ["openai", "vllm"])
def test_a_result_may_answer_a_call_that_a_parameter_refers_to(name: str, key: str) -> None:
    messages, option = [result("line 3")], {key: "resp_1"}
    target = SERVERS[name] if name in LOCAL else None
    for params, options in (({}, option), ({"model_kwargs": option}, {})):
        model = mend(model_of(name, **params), target=target, on_error="raise", report="all")
        assert sent_by(model, messages, **options) == (bare(model_of(name), messages), [])
    sent, _ = request(name, messages)
    assert sent[0]["type"] == "message"


def test_positions_are_those_of_the_messages_before_their_repair() -> None:
    messages = [ASK, said(CALL, tool_calls=[TOOL_CALL]), HumanMessage("a"), said(SEARCH), NEXT]
    _, changes = request("vllm", messages)
    assert [(change["code"], change["index"]) for change in changes] == [
        ("TOOL007", 1),
        ("ITEM005", 3),
    ]


UNSENDABLE: Any = [{"type": "text", "text": "a"}, {"type": "weird"}]
EMPTY = {"type": "text", "text": None}
GO = HumanMessage("go")


@pytest.mark.parametrize(
    ("messages", "position"),
    [
        ([HumanMessage(UNSENDABLE), said(SEARCH, TEXT, EMPTY), NEXT], 1),
        (
            [
                ASK,
                AIMessage("", tool_calls=[TOOL_CALL]),
                HumanMessage(UNSENDABLE),
                said(SEARCH, TEXT, EMPTY),
                NEXT,
            ],
            3,
        ),
        ([GO, said(SEARCH, TEXT, EMPTY), GO, said({**TEXT, "id": "msg_2"}), GO], 1),
    ],
)
def test_positions_are_right_next_to_messages_that_the_repair_changes_adds_or_has_twice(
    messages: list[BaseMessage], position: int
) -> None:
    _, changes = request("vllm", messages)
    assert [change["index"] for change in changes if change["code"] == "ITEM005"] == [position]


def test_a_finding_of_the_messages_is_not_repeated_for_their_items() -> None:
    system: Any = SystemMessage([{"type": "weird"}, {"type": "file", "file_id": "x"}])
    _, changes = request("xai", [system, ASK])
    assert [(one["code"], one["index"]) for one in changes] == [("PART002", 0), ("FILE001", 0)]


def test_a_repair_of_items_is_listed_next_to_the_same_repair_of_their_message() -> None:
    screen = {**SCREEN, "call_id": "call_9"}
    _, changes = request("vllm", [ASK, said(screen, PATCH), HumanMessage("x")])
    assert [(change["code"], change["index"], change["effect"]) for change in changes] == [
        ("TOOL007", 1, "degrades"),
        ("ITEM005", 1, "reshapes"),
        ("TOOL007", 1, "adds"),
    ]


def test_report_mode_sends_the_items_and_lists_what_would_change() -> None:
    messages = AT_OPENAI["reasoning"]
    sent, changes = request("vllm", messages, mode="report")
    assert sent == bare(model_of("vllm"), messages)
    assert [(change["code"], change["index"]) for change in changes] == [("ITEM005", 1)]


def test_a_policy_that_allows_no_drops_keeps_the_item_and_reports_it() -> None:
    messages = history(said(SEALED, TEXT))
    sent, changes = request(
        "vllm", messages, policy=chatmend.Policy(allow=chatmend.Effect.DEGRADES)
    )
    assert sent == bare(model_of("vllm"), messages)
    assert [change["applied"] for change in changes] == [False]


@pytest.mark.parametrize("name", SERVERS)
def test_what_was_sent_is_the_beginning_of_what_is_sent_next(name: str) -> None:
    messages: list[BaseMessage] = [
        ASK,
        said(THOUGHT, CUSTOM, tool_calls=[CUSTOM_CALL]),
        result([CUSTOM_OUTPUT]),
        said(SEARCH, {**TEXT, "id": "msg_2"}),
        NEXT,
        said(SEALED | {"id": "rs_2"}, {**TEXT, "id": "msg_3"}),
        NEXT,
    ]
    whole, _ = request(name, messages)
    for end in (1, 3, 5):
        sent, _ = request(name, messages[:end])
        assert whole[: len(sent)] == sent


def test_the_messages_are_not_changed_and_a_second_call_sends_the_same() -> None:
    messages = AT_OPENAI["custom"]
    copies = [message.model_copy(deep=True) for message in messages]
    assert request("llamacpp", messages) == request("llamacpp", messages)
    assert messages == copies


def test_a_failure_of_the_repair_sends_the_items_unchanged(
    monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no repair")

    monkeypatch.setattr("chatmend.langchain.message_repair.repair_request", fail)
    messages = AT_OPENAI["reasoning"]
    sent, changes = request("vllm", messages, on_error="pass")
    assert (sent, changes) == (bare(model_of("vllm"), messages), [])
    assert "RuntimeError" in caplog.text


def test_the_refusal_of_an_unknown_server_shows_which_item_it_does_not_know() -> None:
    bodies: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        kinds = [item.get("type") for item in bodies[-1]["input"]]
        if "web_search_call" not in kinds:
            return httpx.Response(200, json=ANSWER)
        text = (
            f'input[{kinds.index("web_search_call")}]: unknown input item type: "web_search_call"'
        )
        return httpx.Response(400, json={"error": {"message": text}})

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        model = model_of("unknown", http_client=client, max_retries=0)
        messages = history(said(SEARCH, TEXT))
        wrapped = mend(model, on_error="raise", react=1)
        found = wrapped.invoke(messages).response_metadata["chatmend"]
        assert found["reacted"] == 1
        assert [(one["code"], one["index"]) for one in found["changes"]] == [("ITEM005", 1)]
        assert [item["type"] for item in bodies[1]["input"]] == ["message"] * 4
        wrapped.invoke([*messages, said({**TEXT, "id": "msg_9"}), NEXT])
        assert len(bodies) == 3
        assert bodies[2]["input"][:4] == bodies[1]["input"]


def test_xai_accepts_the_request_and_the_answer_holds_the_report(sandbox: Any) -> None:
    model = ChatOpenAI(
        model="grok-4",
        api_key="k",  # type: ignore[arg-type]
        base_url=sandbox.url("xai/v1"),
        use_responses_api=True,
        max_retries=0,
    )
    tools: Any = [{"type": "additional_tools", "role": "developer", "tools": []}]
    messages: list[BaseMessage] = [SystemMessage(tools), ASK]
    if bare(model, messages)[0].get("type") != "additional_tools":
        pytest.skip("this langchain-openai does not send the item")
    with pytest.raises(Exception, match="422"):
        model.invoke(messages)
    assert request("openai", messages) == (bare(model_of("openai"), messages), [])
    sandbox.clear()
    wrapped = mend(model, target="xai/grok-4", on_error="raise")
    answer = wrapped.invoke(messages)
    (chunk, *_) = list(wrapped.stream(messages))
    for one in (answer, chunk):
        listed = one.response_metadata["chatmend"]["changes"]
        assert [(change["code"], change["index"]) for change in listed] == [("ITEM005", 0)]
    assert sandbox.refusals == []


@pytest.mark.parametrize("version", ["responses/v1", "v1"])
@pytest.mark.parametrize("outputs", [[], [result("Error: no such file", status="error")]])
def test_a_custom_call_without_a_result_of_its_type_becomes_a_function(
    version: str, outputs: list[BaseMessage]
) -> None:
    messages = history(said(CUSTOM, version=version, tool_calls=[CUSTOM_CALL]), *outputs)
    model = model_of("openai")
    assert judge("openai_responses", "openai/gpt-5", bare(model, messages)) != []
    sent, changes = request("openai", messages)
    assert judge("openai_responses", "openai/gpt-5", sent) == []
    assert [item["type"] for item in sent[1:3]] == ["function_call", "function_call_output"]
    assert changes[0]["code"] == "TOOL021"


def test_an_answered_custom_call_next_to_an_open_one_becomes_a_function_with_its_result() -> None:
    other = {**CUSTOM, "id": "ctc_2", "call_id": "call_2"}
    answer = said(CUSTOM, other, tool_calls=[CUSTOM_CALL, {**CUSTOM_CALL, "id": "call_2"}])
    sent, _ = request("openai", history(answer, result([CUSTOM_OUTPUT])))
    assert judge("openai_responses", "openai/gpt-5", sent) == []
    assert sent[3] == {"type": "function_call_output", "call_id": "call_1", "output": [
        {"type": "input_text", "text": "Done."}]}  # fmt: skip


def test_the_call_of_a_computer_without_a_result_becomes_text_next_to_its_reasoning() -> None:
    sent, changes = request("openai", [ASK, said(THOUGHT, SCREEN), NEXT])
    assert [item["type"] for item in sent] == ["message", "reasoning", "message", "message"]
    assert "screenshot" in sent[2]["content"][0]["text"]
    assert [change["code"] for change in changes] == ["TOOL007"]
    assert sent == request("openai", [ASK, said(THOUGHT, SCREEN), NEXT])[0]


GPT_ITEMS = ("openai_responses", "openai/gpt-5")
OPENAI = {"model_provider": "openai"}


def test_a_block_whose_type_is_not_a_text_is_no_error() -> None:
    content: Any = [{"type": ["x"]}]
    sent, changes = request("openai", [HumanMessage(content), NEXT])
    assert sent[0]["content"] == [{"type": "input_text", "text": '{"type": ["x"]}'}]
    assert [change["code"] for change in changes] == ["PART002"]


def test_a_call_whose_id_is_not_a_text_is_no_error() -> None:
    call: Any = [{**CUSTOM, "call_id": ["a"]}]
    answer = AIMessage(call, response_metadata=OPENAI)
    sent, _ = request("openai", history(answer, result([CUSTOM_OUTPUT])))
    assert judge(*GPT_ITEMS, sent) == []
    assert sent[1]["type"] == "function_call"


def test_a_custom_call_that_langchain_does_not_list_becomes_text() -> None:
    wrapped: Any = [{"type": "non_standard", "value": CUSTOM}]
    for outputs in ([], [result([CUSTOM_OUTPUT])]):
        answer = AIMessage(wrapped, response_metadata=OPENAI)
        sent, changes = request("openai", history(answer, *outputs))
        assert judge(*GPT_ITEMS, sent) == []
        assert "+ line" in sent[1]["content"][0]["text"]
        assert (changes[0]["code"], changes[0]["effect"]) == ("TOOL021", "degrades")


def test_the_result_that_a_custom_call_keeps_decides_whether_it_becomes_a_function() -> None:
    answer = said(CUSTOM, tool_calls=[CUSTOM_CALL])
    error, output = result("Error: no such file"), result([CUSTOM_OUTPUT])
    for results, kind in (([error, output], "function"), ([output, error], "custom_tool")):
        sent, changes = request("openai", history(answer, *results))
        assert judge(*GPT_ITEMS, sent) == []
        assert [item["type"] for item in sent[1:3]] == [f"{kind}_call", f"{kind}_call_output"]
        assert changes[-1]["code"] == "TOOL004"


def test_custom_calls_of_one_turn_become_functions_if_its_messages_are_merged() -> None:
    first = said(
        {**CALL, "call_id": "call_2", "id": "fc_2"}, tool_calls=[{**TOOL_CALL, "id": "call_2"}]
    )
    second = said(CUSTOM, tool_calls=[CUSTOM_CALL])
    for answers in ([first, second], [second, first]):
        messages = [ASK, *answers, result([CUSTOM_OUTPUT]), NEXT]
        sent, _ = request("openai", messages)
        assert judge(*GPT_ITEMS, sent) == []
        assert "+ line" in json.dumps(sent[1:3])
        call = prepare(mend(model_of("openai"), on_error="raise"), messages, {})
        assert request("openai", list(call.messages)) == (sent, [])


def test_a_custom_output_keeps_its_type_if_the_provider_stores_its_call() -> None:
    messages, model = [result([CUSTOM_OUTPUT])], mend(model_of("openai"), on_error="raise")
    sent, changes = sent_by(model, messages, previous_response_id="resp_1")
    assert (sent, changes) == (bare(model_of("openai"), messages), [])


@pytest.mark.parametrize(
    "output",
    [
        result(
            [{"type": "image_url", "image_url": {"url": PIXEL, "detail": "auto"}}],
            additional_kwargs={"type": "computer_call_output"},
        ),
        result([{"type": "computer_call_output", "call_id": "call_1", "output": {}}]),
        result([], additional_kwargs={"type": "computer_call_output"}),
    ],
)
def test_a_screenshot_that_langchain_sends_as_the_result_of_a_function_becomes_text(
    output: ToolMessage,
) -> None:
    sent, changes = request("openai", history(said(SCREEN), output))
    assert judge(*GPT_ITEMS, sent) == []
    assert [change["code"] for change in changes] == ["TOOL005", "TOOL007"]


def test_a_computer_call_of_output_version_v0_without_a_result_becomes_text() -> None:
    answer = said(THOUGHT, TEXT, SCREEN, version="v0")
    sent, changes = request("openai", history(answer))
    assert judge(*GPT_ITEMS, sent) == []
    assert "screenshot" in json.dumps(sent)
    assert [change["code"] for change in changes] == ["TOOL007"]
    assert answer.additional_kwargs["tool_outputs"] == [SCREEN]
    call = prepare(mend(model_of("openai"), on_error="raise"), history(answer), {})
    assert request("openai", list(call.messages)) == (sent, [])


def test_a_computer_call_of_output_version_v0_is_sent_once_if_its_message_changes() -> None:
    answer = said(THOUGHT, TEXT, SCREEN, version="v0")
    answer.content = [*answer.content, EMPTY]
    sent, changes = request("openai", history(answer, AT_OPENAI["computer"][2]))
    kinds = [item["type"] for item in sent]
    assert kinds.count("computer_call") == kinds.count("computer_call_output") == 1
    assert [change["code"] for change in changes] == ["PART002"]
