"""Hosted tools through partner packages: blocks and items of every ``output_version`` arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_anthropic")
pytest.importorskip("langchain_openai")
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from chatmend.langchain import mend, repair_messages, repair_node
from tests.langchain.classes import DESTINATIONS
from tests.langchain.fuzz import refusal
from tests.langchain.test_converters import unchanged

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

ASK, NEXT = HumanMessage("q"), HumanMessage("n")
PAGE = {
    "type": "web_search_result",
    "title": "t",
    "url": "https://e.example",
    "encrypted_content": "EqgfCioIARgB",
    "page_age": None,
}
CALL = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "x"},
}
RESULT = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]}
V1_CALL = {
    "type": "server_tool_call",
    "id": "srvtoolu_1",
    "name": "web_search",
    "args": {"query": "x"},
}
V1_RESULT = {
    "type": "server_tool_result",
    "tool_call_id": "srvtoolu_1",
    "status": "success",
    "output": [PAGE],
    "extras": {"block_type": "web_search_tool_result"},
}
TEXT = {"type": "text", "text": "a"}
BLOCKS = {"v0": (CALL, RESULT), "v1": (V1_CALL, V1_RESULT)}


def said(version: str, *blocks: Any, provider: str = "anthropic") -> AIMessage:
    metadata = {"model_provider": provider}
    metadata |= {"output_version": "v1"} if version == "v1" else {}
    return AIMessage(list(blocks), response_metadata=metadata)


@pytest.fixture
def claude(sandbox: Sandbox) -> ChatAnthropic:
    url = sandbox.url("anthropic")
    return ChatAnthropic(model="claude-opus-4-8", api_key="any", base_url=url, max_retries=0)


@pytest.fixture
def gpt(sandbox: Sandbox) -> ChatOpenAI:
    url = sandbox.url("openai/v1")
    return ChatOpenAI(
        model="gpt-4.1", api_key="any", base_url=url, max_retries=0, use_responses_api=True
    )


def sent(sandbox: Sandbox, key: str) -> list[Any]:
    messages: list[Any] = sandbox.requests[-1].body[key]
    return messages


@pytest.mark.parametrize("version", BLOCKS)
def test_a_pair_arrives_as_without_chatmend(
    sandbox: Sandbox, claude: ChatAnthropic, version: str
) -> None:
    messages = [ASK, said(version, *BLOCKS[version], TEXT), NEXT]
    claude.invoke(messages)
    bare = sent(sandbox, "messages")
    mend(claude).invoke(messages)
    assert sent(sandbox, "messages") == bare
    assert repair_messages(messages, target="anthropic/claude-opus-4-8") is messages


@pytest.mark.parametrize("version", BLOCKS)
@pytest.mark.parametrize("shape", ["no result", "no call", "a message between", "order"])
def test_what_is_not_paired_is_accepted(
    sandbox: Sandbox, claude: ChatAnthropic, version: str, shape: str
) -> None:
    call, result = BLOCKS[version]
    turns: dict[str, list[BaseMessage]] = {
        "no result": [said(version, TEXT, call)],
        "no call": [said(version, result, TEXT)],
        "a message between": [said(version, call), NEXT, said(version, result, TEXT)],
        "order": [said(version, result, call, TEXT)],
    }
    messages = [ASK, *turns[shape], NEXT]
    with pytest.raises(Exception, match=r"tool_use_id|tool use with id"):
        claude.invoke(messages)
    mend(claude).invoke(messages)
    kinds = [
        block["type"] for message in sent(sandbox, "messages")[1:2] for block in message["content"]
    ]
    paired = ["server_tool_use", "web_search_tool_result", "text"]
    assert kinds == paired if shape == "order" else set(kinds) == {"text"}


SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
MCP = {
    "type": "mcp_call",
    "id": "mcp_1",
    "name": "f",
    "arguments": "{}",
    "server_label": "s",
    "output": "o",
}
ITEM_TEXT = {"type": "text", "text": "a", "annotations": [], "id": "msg_1"}
ITEMS = {
    "responses/v1": [SEARCH, MCP, ITEM_TEXT],
    "v1": [
        {"type": "server_tool_call", "id": "ws_1", "name": "web_search", "args": SEARCH["action"]},
        {"type": "server_tool_result", "tool_call_id": "ws_1", "status": "success"},
        ITEM_TEXT,
    ],
}


@pytest.mark.parametrize("version", ITEMS)
def test_items_of_hosted_tools_arrive_as_without_chatmend(
    sandbox: Sandbox, gpt: ChatOpenAI, version: str
) -> None:
    messages = [ASK, said(version, *ITEMS[version], provider="openai"), NEXT]
    gpt.invoke(messages)
    bare = sent(sandbox, "input")
    assert {"web_search_call", "message"} <= {item.get("type") for item in bare}
    mend(gpt).invoke(messages)
    assert sent(sandbox, "input") == bare
    assert repair_messages(messages, target="openai/gpt-4.1") is messages
    assert repair_node("openai/gpt-4.1")({"messages": messages})["llm_input_messages"] == messages


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        ([SEARCH, SEARCH], [SEARCH]),
        (
            [{key: SEARCH[key] for key in ("type", "id", "action")}],
            [SEARCH],
        ),
    ],
    ids=["twice", "no status"],
)
def test_items_that_are_refused_are_repaired(
    sandbox: Sandbox, gpt: ChatOpenAI, items: list[Any], kept: list[Any]
) -> None:
    messages = [ASK, said("responses/v1", *items, ITEM_TEXT, provider="openai"), NEXT]
    with pytest.raises(Exception, match=r"Duplicate item|Missing required parameter"):
        gpt.invoke(messages)
    mend(gpt).invoke(messages)
    found = [item for item in sent(sandbox, "input") if item.get("type") == "web_search_call"]
    assert [dict(sorted(item.items())) for item in found] == [
        dict(sorted(item.items())) for item in kept
    ]


RUN = "code_execution_20250825"
CODE = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "code_execution",
    "input": {"code": "look()"},
}
INNER = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "look",
    "input": {"at": "Paris"},
    "caller": {"type": RUN, "tool_id": "srvtoolu_1"},
}
DONE = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "code_execution_result",
        "stdout": "18",
        "stderr": "",
        "return_code": 0,
        "content": [],
    },
}
TOOLS = [
    {"type": RUN, "name": "code_execution"},
    {
        "name": "look",
        "description": "l",
        "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}},
        "allowed_callers": [RUN],
    },
]


@pytest.mark.parametrize("is_done", [False, True])
def test_code_that_waits_for_a_tool_of_the_caller_stays(
    sandbox: Sandbox,
    is_done: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    call: Any = {"name": "look", "args": {"at": "Paris"}, "id": "toolu_1", "type": "tool_call"}
    metadata = {"model_provider": "anthropic", "container": {"id": "container_1"}}
    asked = AIMessage([CODE, INNER], tool_calls=[call], response_metadata=metadata)
    result = ToolMessage("18", tool_call_id="toolu_1")
    answer = AIMessage([DONE, {"type": "text", "text": "18"}], response_metadata=metadata)
    messages = [ASK, asked, result, *((answer, NEXT) if is_done else ())]
    claude = ChatAnthropic(
        model="claude-opus-4-6",
        api_key="any",
        base_url=sandbox.url("anthropic"),
        max_retries=0,
    ).bind_tools(TOOLS)
    bodies = []
    for model in (claude, mend(claude)):
        model.invoke(messages, container="container_1")
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]


SEARCHED = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
GROUNDED = {"type": "server_tool_use", "id": "tooluse_1", "name": "nova_grounding", "input": {}}
FOUND = {"type": "server_tool_result", "tool_use_id": "tooluse_1", "content": [{"text": "b"}]}
BEDROCK = ["bedrock claude", "bedrock nova", "bedrock llama"]


@pytest.mark.parametrize("name", BEDROCK)
def test_items_in_an_older_answer_of_openai_are_not_sent_to_bedrock(
    sandbox: Sandbox, name: str
) -> None:
    """langchain-aws makes blocks of them, and raises ``KeyError: 'toolUseId'``."""
    answer = AIMessage(
        [TEXT],
        additional_kwargs={"tool_outputs": [SEARCHED]},
        response_metadata={"model_provider": "openai"},
    )
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    assert refusal(model, sandbox, [ASK, answer, NEXT]) is None
    assert sent(sandbox, "messages")[1]["content"] == [{"text": "a"}]


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("bedrock claude", "name"),
        ("bedrock claude", "input"),
        *(("bedrock nova", key) for key in ("id", "name", "input", "tool_use_id", "content")),
    ],
)
def test_a_hosted_tool_of_bedrock_that_was_cut_becomes_text(
    sandbox: Sandbox, name: str, lacking: str
) -> None:
    whole = GROUNDED if lacking in GROUNDED else FOUND
    block = {key: value for key, value in whole.items() if key != lacking}
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    answer = said("v0", TEXT, block, provider="bedrock_converse")
    assert refusal(model, sandbox, [ASK, answer, NEXT]) is None
    assert sent(sandbox, "messages")[1]["content"][0] == {"text": "a"}


@pytest.mark.parametrize("name", ["bedrock nova", "bedrock llama"])
@pytest.mark.parametrize("key", ["tool_use_id", "toolUseId"])
def test_a_hosted_tool_of_bedrock_with_its_result_is_unchanged(name: str, key: str) -> None:
    result = {key: "tooluse_1", "type": "server_tool_result", "content": [{"text": "b"}]}
    assert unchanged(name, [ASK, said("v0", GROUNDED, result, provider="bedrock_converse"), NEXT])
