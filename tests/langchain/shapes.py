"""Messages in every shape that LangChain's partner packages write or accept, by name."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SIGNATURE = "c2lnbmF0dXJlIG9mIGEgdGhvdWdodA=="
SIGNATURES = "__gemini_function_call_thought_signatures__"


def call(call_id: str | None = "call_1", name: str = "look", **args: Any) -> Any:
    """Return a tool call as LangChain writes it."""
    return {"name": name, "args": args or {"at": "Paris"}, "id": call_id, "type": "tool_call"}


def broken(
    call_id: str | None = "call_1", args: str | None = '{"at": "Par', name: str | None = "look"
) -> Any:
    """Return a tool call whose arguments are cut off."""
    return {"name": name, "args": args, "id": call_id, "error": None, "type": "invalid_tool_call"}


def raw(call_id: str = "call_1", arguments: str = '{"at": "Paris"}') -> dict[str, Any]:
    """Return a tool call as OpenAI writes it."""
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


def _text(text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


_DATA_URL = f"data:image/png;base64,{PIXEL}"
_USAGE: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
_META = {"model_provider": "anthropic", "model_name": "claude-haiku-4-5", "stop_reason": "end_turn"}
_V1 = {"output_version": "v1", "model_provider": "openai"}

_USERS: dict[str, BaseMessage] = {
    "plain user": HumanMessage("hello", id="h1"),
    "named user": HumanMessage("hello", name="alice"),
    "empty user": HumanMessage(""),
    "user with text blocks": HumanMessage([_text("a"), _text("b")]),
    "user with bare strings": HumanMessage(["a", "b"]),
    "user with a cache marker": HumanMessage([_text(cache_control={"type": "ephemeral"})]),
    "user chunk": HumanMessageChunk("hello"),
    "image url": HumanMessage(
        [_text(), {"type": "image_url", "image_url": {"url": _DATA_URL, "detail": "low"}}]
    ),
    "image url as a string": HumanMessage([{"type": "image_url", "image_url": _DATA_URL}]),
    "v1 image": HumanMessage(
        [{"type": "image", "base64": PIXEL, "mime_type": "image/png", "id": "i1"}]
    ),
    "v1 image by url": HumanMessage([{"type": "image", "url": "https://example.com/a.png"}]),
    "v0 image": HumanMessage(
        [{"type": "image", "source_type": "base64", "data": PIXEL, "mime_type": "image/png"}]
    ),
    "anthropic image": HumanMessage(
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]
    ),
    "anthropic image by url": HumanMessage(
        [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]
    ),
    "anthropic image by file": HumanMessage(
        [{"type": "image", "source": {"type": "file", "file_id": "f1"}}]
    ),
    "anthropic document": HumanMessage(
        [
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "x"},
                "title": "t",
            }
        ]
    ),
    "gemini media": HumanMessage([{"type": "media", "mime_type": "image/png", "data": PIXEL}]),
    "gemini media as bytes": HumanMessage(
        [{"type": "media", "mime_type": "image/png", "data": b"\x89PNG"}]
    ),
    "gemini media by uri": HumanMessage(
        [{"type": "media", "mime_type": "video/mp4", "file_uri": "gs://b/v.mp4"}]
    ),
    "bedrock image": HumanMessage([{"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}]),
    "bedrock cache point": HumanMessage([_text(), {"cachePoint": {"type": "default"}}]),
    "audio": HumanMessage(
        [{"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}]
    ),
    "v1 video": HumanMessage([{"type": "video", "url": "https://example.com/v.mp4"}]),
    "v1 plain text": HumanMessage([{"type": "text-plain", "text": "x", "mime_type": "text/plain"}]),
    "v1 non standard": HumanMessage([{"type": "non_standard", "value": {"anything": 1}}]),
    "openai file": HumanMessage([{"type": "file", "file": {"file_id": "file-1"}}]),
    "tool results inside a user message": HumanMessage(
        [
            {
                "type": "tool_result",
                "tool_use_id": "call_1",
                "content": [_text("18")],
                "is_error": True,
            },
            {"type": "tool_result", "tool_use_id": "call_2", "content": "19"},
            _text("and now?"),
        ]
    ),
}
_SYSTEMS: dict[str, BaseMessage] = {
    "system": SystemMessage("be kind"),
    "system with blocks": SystemMessage([_text("be kind", cache_control={"type": "ephemeral"})]),
    "developer": SystemMessage("be kind", additional_kwargs={"__openai_role__": "developer"}),
}
_ANSWERS: dict[str, BaseMessage] = {
    "plain answer": AIMessage("hi", id="a1", usage_metadata=_USAGE, response_metadata=_META),
    "named answer": AIMessage("hi", name="researcher"),
    "empty answer": AIMessage(""),
    "answer chunk": AIMessageChunk("hi", chunk_position="last"),
    "answer with a call": AIMessage("", tool_calls=[call()]),
    "answer with text and calls": AIMessage("I look.", tool_calls=[call(), call("call_2")]),
    "call with extras": AIMessage("", tool_calls=[{**call(), "extras": {"item_id": "fc_1"}}]),
    "call without an id": AIMessage("", tool_calls=[call(None)]),
    "invalid call": AIMessage("", invalid_tool_calls=[broken()]),
    "invalid call with nothing": AIMessage("", invalid_tool_calls=[broken(None, None, None)]),
    "valid and invalid calls": AIMessage(
        "", tool_calls=[call()], invalid_tool_calls=[broken("call_2")]
    ),
    "chunk with calls": AIMessageChunk(
        "",
        tool_call_chunks=[{"name": "look", "args": '{"at": "Paris"}', "id": "call_1", "index": 0}],
    ),
    "chunk with a cut call": AIMessageChunk(
        "", tool_call_chunks=[{"name": "look", "args": '{"at": ', "id": "call_1", "index": 0}]
    ),
    "openai kwargs": AIMessage("", additional_kwargs={"tool_calls": [raw()], "refusal": None}),
    "kwargs without parsed calls": AIMessage(
        content="x", additional_kwargs={"tool_calls": [raw("call_9", "{bad")]}
    ),
    "legacy function call": AIMessage(
        "", additional_kwargs={"function_call": {"name": "look", "arguments": "{}"}}
    ),
    "reasoning content": AIMessage("hi", additional_kwargs={"reasoning_content": "hm"}),
    "audio answer": AIMessage("", additional_kwargs={"audio": {"id": "audio_1"}}),
    "mistral prefix": AIMessage("Sure", additional_kwargs={"prefix": True}),
    "refusal": AIMessage([{"type": "refusal", "refusal": "no"}]),
    "anthropic blocks": AIMessage(
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2lnbmF0dXJl"},
            _text("I look."),
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "Paris"}},
        ],
        tool_calls=[call("toolu_1")],
        response_metadata=_META,
    ),
    "anthropic tool use alone": AIMessage(
        [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]
    ),
    "anthropic redacted thinking": AIMessage(
        [{"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}, _text()]
    ),
    "anthropic server tools": AIMessage(
        [
            {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "web_search",
                "input": {"query": "x"},
            },
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            _text(citations=[{"type": "char_location", "cited_text": "x"}]),
        ]
    ),
    "responses items": AIMessage(
        [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [],
                "encrypted_content": f"gAAAAA{'Zm9v' * 20}",
            },
            _text(id="msg_1", annotations=[], phase="final"),
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "look",
                "arguments": '{"at": "Paris"}',
            },
        ],
        tool_calls=[call()],
        response_metadata={"model_provider": "openai", "id": "resp_1"},
    ),
    "responses custom call": AIMessage(
        [
            {
                "type": "custom_tool_call",
                "id": "ctc_1",
                "call_id": "call_1",
                "name": "look",
                "input": "free text",
            }
        ],
        tool_calls=[call("call_1", __arg1="free text")],
    ),
    "gemini signatures": AIMessage(
        "", tool_calls=[call()], additional_kwargs={SIGNATURES: {"call_1": SIGNATURE}}
    ),
    "gemini text signature": AIMessage([_text(extras={"signature": SIGNATURE})]),
    "gemini code": AIMessage(
        [
            {"type": "executable_code", "executable_code": "1+1", "language": "PYTHON"},
            {"type": "code_execution_result", "code_execution_result": "2", "outcome": 1},
        ]
    ),
    "v1 answer": AIMessage(
        [{"type": "reasoning", "reasoning": "hm"}, _text(), {**call(), "type": "tool_call"}],
        tool_calls=[call()],
        response_metadata=_V1,
    ),
    "v1 invalid call": AIMessage(
        [_text(), broken()], invalid_tool_calls=[broken()], response_metadata=_V1
    ),
    "v1 server tool call": AIMessage(
        [{"type": "server_tool_call", "id": "s1", "name": "code", "args": {}}],
        response_metadata=_V1,
    ),
    "bedrock reasoning": AIMessage(
        [{"type": "reasoning_content", "reasoning_content": {"text": "hm"}}, _text()]
    ),
    "mistral thinking": AIMessage(
        [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, _text()]
    ),
}
_OTHERS: dict[str, BaseMessage] = {
    "tool result": ToolMessage("18", tool_call_id="call_1", name="look", id="t1"),
    "tool result with an artifact": ToolMessage(
        "18", tool_call_id="call_1", artifact={"rows": [1]}
    ),
    "failed tool result": ToolMessage("no such city", tool_call_id="call_1", status="error"),
    "tool result with blocks": ToolMessage(
        [_text("18"), {"type": "image_url", "image_url": _DATA_URL}], tool_call_id="c"
    ),
    "empty tool result": ToolMessage("", tool_call_id="call_1"),
    "custom tool result": ToolMessage(
        "18", tool_call_id="c", additional_kwargs={"type": "custom_tool_call_output"}
    ),
    "function result": FunctionMessage(content="18", name="look"),
    "chat message user": ChatMessage(role="user", content="hello"),
    "chat message assistant": ChatMessage(role="assistant", content="hi"),
    "chat message system": ChatMessage(role="system", content="be kind"),
    "chat message of a free role": ChatMessage(role="critic", content="hm"),
    "order to remove": RemoveMessage(id="h1"),
}
SHAPES: dict[str, BaseMessage] = {**_USERS, **_SYSTEMS, **_ANSWERS, **_OTHERS}
