"""Answers of every provider, parsed by its partner class from a recorded response body.

Each answer has what the provider's answers can hold: thinking with a signature, hosted tools,
citations, an image, and two parallel calls of ``look``.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from tests.langchain.classes import CLASSES

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

    from tests.langchain.recorder import Body, Recorder

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_OBJECTS = (
    b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj",
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj",
)
PDF = base64.b64encode(b"\n".join((b"%PDF-1.4", *_OBJECTS, b"trailer<</Root 1 0 R>>"))).decode()
"""A document with one page."""
SIGNATURE = base64.b64encode(b"a signature of the provider, as long as real ones " * 3).decode()
ARGUMENTS = '{"city": "Paris"}'
_PAGE = {
    "type": "web_search_result", "title": "t", "url": "https://e.example",
    "encrypted_content": "EqgfCioIARgB", "page_age": None,
}  # fmt: skip
_CITATION = {
    "type": "web_search_result_location", "url": "https://e.example", "title": "t",
    "encrypted_index": "Eo8BCioIAhgB", "cited_text": "it is mild",
}  # fmt: skip


def _chat_calls(prefix: str = "call") -> list[Body]:
    return [
        {"id": f"{prefix}_{number}", "type": "function", "function": {"name": "look", "arguments": ARGUMENTS}}
        for number in (1, 2)
    ]  # fmt: skip


def _chat(**message: Any) -> Body:
    body = {"role": "assistant", "content": "I look.", "tool_calls": _chat_calls(), **message}
    choice = {"index": 0, "message": body, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    head = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_767_225_600, "model": "m",
        "system_fingerprint": None,
    }  # fmt: skip
    return {**head, "choices": [choice], "usage": usage}


def _messages() -> Body:
    search = {"id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    code = {"id": "srvtoolu_2", "name": "bash_code_execution", "input": {"command": "ls"}}
    output = {
        "type": "bash_code_execution_result", "stdout": "a", "stderr": "", "return_code": 0, "content": [],
    }  # fmt: skip
    calls = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"city": "Paris"}}
        for number in (1, 2)
    ]
    content = [
        {"type": "thinking", "thinking": "hm", "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": SIGNATURE},
        {"type": "server_tool_use", **search},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [_PAGE]},
        {"type": "server_tool_use", **code},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_2", "content": output},
        {"type": "text", "text": "It is mild.", "citations": [_CITATION]},
        *calls,
    ]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": content,
        "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 2},
    }  # fmt: skip


def _response() -> Body:
    cited = {
        "type": "url_citation",
        "url": "https://e.example",
        "title": "t",
        "start_index": 0,
        "end_index": 2,
    }
    text = {"type": "output_text", "text": "It is mild.", "annotations": [cited]}
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": SIGNATURE},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {
            "type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": "1"}],
        },
        {
            "type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["x"],
            "results": [{"file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": "t", "attributes": {}}],
        },
        {"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "{}", "server_label": "s", "output": "o"},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PIXEL},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]},
        *(
            {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": "look", "arguments": ARGUMENTS, "status": "completed"}
            for n in (1, 2)
        ),
    ]  # fmt: skip
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    return {
        "id": "resp_1", "object": "response", "created_at": 1_767_225_600, "status": "completed", "model": "gpt-5",
        "output": items, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": usage | {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
    }  # fmt: skip


def _gemini() -> Body:
    calls = [{"functionCall": {"name": "look", "args": {"city": "Paris"}}} for _ in range(2)]
    parts = [
        {"text": "hm", "thought": True},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "It is mild."},
        {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
        {**calls[0], "thoughtSignature": SIGNATURE},
        calls[1],
    ]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini",
        "responseId": "r1",
    }


def _converse() -> Body:
    calls = [
        {"toolUse": {"toolUseId": f"tooluse_{n}", "name": "look", "input": {"city": "Paris"}}}
        for n in (1, 2)
    ]
    cited = {
        "content": [{"text": "It is mild."}],
        "citations": [{"title": "t", "sourceContent": [{"text": "s"}], "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 1}}}],
    }  # fmt: skip
    content = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": SIGNATURE}}},
        {"citationsContent": cited},
        {"text": "I look."},
        *calls,
    ]
    usage = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
    return {
        "output": {"message": {"role": "assistant", "content": content}}, "stopReason": "tool_use",
        "usage": usage, "metrics": {"latencyMs": 1},
    }  # fmt: skip


def _ollama() -> Body:
    calls = [{"function": {"name": "look", "arguments": {"city": "Paris"}}} for _ in range(2)]
    message = {"role": "assistant", "content": "I look.", "thinking": "hm", "tool_calls": calls}
    return {
        "model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True,
        "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2,
    }  # fmt: skip


def _mistral() -> Body:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}
    calls = [{**call, "id": f"abcdefgh{n}"} for n, call in enumerate(_chat_calls(), 1)]
    return _chat(content=[thinking, {"type": "text", "text": "I look."}], tool_calls=calls)


_DETAILS = [
    {
        "type": "reasoning.text",
        "text": "hm",
        "signature": SIGNATURE,
        "format": "anthropic-claude-v1",
        "index": 0,
    }
]
_EXECUTED = [{"index": 0, "type": "search", "arguments": '{"query": "x"}', "output": "o"}]
_URL = {
    "type": "url_citation",
    "url_citation": {"url": "https://e.example", "title": "t", "start_index": 0, "end_index": 2},
}
BODIES: dict[str, Body] = {
    "openai": _chat(refusal=None, annotations=[_URL]),
    "openai-responses": _response(),
    "openai-responses v1": _response(),
    "azure": _chat(refusal=None),
    "anthropic": _messages(),
    "anthropic v1": _messages(),
    "mistral": _mistral(),
    "groq": _chat(reasoning="hm", executed_tools=_EXECUTED),
    "deepseek": _chat(reasoning_content="hm"),
    "xai": _chat(reasoning_content="hm"),
    "bedrock-converse": _converse(),
    "bedrock-converse v1": _converse(),
    "ollama": _ollama(),
    "litellm-anthropic": _messages(),
    "gemini": _gemini(),
    "gemini v1": _gemini(),
    "fireworks": _chat(reasoning_content="hm"),
    "together": _chat(reasoning="hm"),
    "openrouter": _chat(reasoning="hm", reasoning_details=_DETAILS, annotations=[_URL]),
    "nvidia": _chat(reasoning_content="hm"),
}  # fmt: skip
"""A response body for each partner class; ``v1`` after the name is LangChain's ``output_version``."""


def answer_of(recorder: Recorder, name: str) -> AIMessage:
    """Return the answer that a partner class parses from its provider's response body."""
    key, _, version = name.partition(" ")
    partner = CLASSES[key]
    more = {"output_version": version} if version else {}
    recorder.body = BODIES[name]
    try:
        answer: AIMessage = partner.model(recorder.url(partner.wire), **more).invoke(
            "What is it like?"
        )
    finally:
        recorder.body = None
    return answer
