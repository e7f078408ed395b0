"""What servers refuse in ``input`` of the Responses API, of which they implement a part.

Read in the code of vLLM (entrypoints/openai/responses/utils.py), llama.cpp (tools/server/server-chat.cpp) and Ollama
(openai/responses.go) in November 2026; of xAI, what is reported (router-for-me/CLIProxyAPI#3704, #4434, #5207,
Wei-Shaw/sub2api#4237).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .chat_templates import renders_as
from .reading import objects, parsed
from .routes import judges_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .request import Json, Request

SERVERS = ("hosted_vllm", "llamacpp", "ollama")
"""Servers of open models, which make chat messages from items."""
_REFUSED_BY_XAI = {
    "additional_tools", "agent_message", "custom_tool_call", "custom_tool_call_output",
}  # fmt: skip
_ITEMS = {"message", "function_call", "function_call_output", "reasoning"}
_PARTS = {
    "hosted_vllm": {"input_text", "input_image", "input_audio"},
    "llamacpp": {"input_text", "input_image"},
    "ollama": {"input_text", "input_image"},
}


def responses_servers(request: Request) -> list[str]:
    """What the server of the target refuses, and the chat template to which vLLM and llama.cpp pass the messages."""
    items = objects(request.messages)
    if request.provider == "xai":
        return [f"item {at}" for at, item in enumerate(items) if _is_refused_by_xai(item)]
    found = [
        f"item {at}: {fault}"
        for at, item in enumerate(items)
        for fault in _faults(item, request.provider)
    ]
    if found or request.provider == "ollama":
        return found
    chat = replace(request, dialect="openai_chat", messages=_as_chat(items, request.system))
    families = [
        name.removeprefix("template_")
        for name in judges_for("openai_chat", f"hosted_vllm/{request.model}")
        if name.startswith("template_")
    ]
    return [fault for family in families for fault in renders_as(family)(chat)]


def _faults(item: dict[str, Json], server: str) -> Iterator[str]:
    kind = item.get("type") or "message"
    if kind not in _ITEMS and not (server == "ollama" and kind == "web_search_call"):
        yield f"unknown item type {kind}"
    elif kind == "message":
        yield from _message_faults(item, server)
    elif kind == "function_call":
        arguments = item.get("arguments")
        if not isinstance(arguments, str) or not isinstance(parsed(arguments or "{}"), dict):
            yield "the arguments are not a JSON object"
    elif kind == "reasoning":
        yield from _READS_REASONING[server](item)
    elif server == "llamacpp" and not isinstance(item.get("output"), str | list):
        yield "cannot determine type of item"


def _is_refused_by_xai(item: dict[str, Json]) -> bool:
    has_null = item.get("type") == "reasoning" and item.get("content", ()) is None
    return item.get("type") in _REFUSED_BY_XAI or has_null


def _message_faults(item: dict[str, Json], server: str) -> Iterator[str]:
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    is_answer = item.get("role") == "assistant"
    if is_answer and server == "llamacpp" and item.get("type") != "message":
        yield "cannot determine type of item"
    known = _PARTS[server] | ({"output_text"} if is_answer else set())
    if is_answer and server == "llamacpp":
        known |= {"refusal"}
    yield from (
        f"unknown content type {part.get('type')}"
        for part in objects(parts)
        if part.get("type") not in known
    )


def _vllm_reasoning(item: dict[str, Json]) -> Iterator[str]:
    if item.get("encrypted_content"):
        yield "encrypted content is not supported"


def _llamacpp_reasoning(item: dict[str, Json]) -> Iterator[str]:
    content = item.get("content")
    if not isinstance(item.get("summary"), list):
        yield "cannot determine type of item"
    elif not isinstance(content, list) or not content:
        yield "content is not an array, or empty"
    elif not isinstance(content[0].get("text"), str):
        yield "the text is not a string"


def _ollama_reasoning(_: dict[str, Json]) -> Iterator[str]:
    yield from ()


_READS_REASONING: dict[str, Callable[[dict[str, Json]], Iterator[str]]] = {
    "hosted_vllm": _vllm_reasoning,
    "llamacpp": _llamacpp_reasoning,
    "ollama": _ollama_reasoning,
}


def _as_chat(items: list[dict[str, Json]], system: Json) -> list[dict[str, Json]]:
    """The chat messages that vLLM makes: calls and reasoning join the answer before them."""
    chat: list[dict[str, Json]] = [{"role": "system", "content": system}] if system else []
    for item in items:
        last = chat[-1] if chat and chat[-1]["role"] == "assistant" else None
        kind = item.get("type") or "message"
        if kind == "function_call_output":
            chat.append(
                {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
            )
        elif kind == "message":
            if last is not None and item.get("role") == "assistant" and last.get("content") is None:
                last["content"] = item.get("content")
            else:
                chat.append({"role": item.get("role"), "content": item.get("content")})
        else:
            answer = last if last is not None else {"role": "assistant"}
            chat += [] if last is not None else [answer]
            if kind == "function_call":
                function = {"name": item.get("name"), "arguments": item.get("arguments")}
                call = {"id": item.get("call_id"), "type": "function", "function": function}
                answer.setdefault("tool_calls", []).append(call)
    return chat
