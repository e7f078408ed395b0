"""The Responses format of OpenAI, xAI and Azure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.answers import Answer, NormalizedRequest, Tool
from chatmend.sandbox.memory import Segment, make_segment
from chatmend.sandbox.providers.chat_shape import text_of
from chatmend.sandbox.request import SandboxRequest, mapping, objects
from chatmend.sandbox.signatures import sign
from chatmend.sandbox.wires import CREATED, pieces, sse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Body = dict[str, Any]
MEDIA_TYPE = "text/event-stream; charset=utf-8"
MARKERS = False


def _items(request: SandboxRequest) -> list[Body]:
    given = request.body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)
    stored = request.memory.responses.get(
        (request.key, str(request.body.get("previous_response_id")))
    )
    return [*(stored or []), *items]


def normalize(request: SandboxRequest) -> NormalizedRequest:
    """Read a Responses request."""
    body, items = request.body, _items(request)
    last = items[-1] if items else {}
    results = str(last.get("type", "")).endswith("call_output")
    user_items = [item for item in items if item.get("role") == "user"]
    choice, text = body.get("tool_choice") or "auto", body.get("text")
    answer_format = text.get("format") if isinstance(text, dict) else None
    reasoning = body.get("reasoning")
    return NormalizedRequest(
        last_text=text_of(last.get("output"))
        if results
        else text_of(user_items[-1].get("content"))
        if user_items
        else "",
        tools=tuple(
            Tool(str(t.get("name")), t.get("parameters") or {})
            for t in objects(body.get("tools"))
            if t.get("type") == "function"
        ),
        tool_choice=str(choice.get("name", "auto")) if isinstance(choice, dict) else str(choice),
        ends_with_results=results,
        schema=answer_format.get("schema")
        if isinstance(answer_format, dict) and answer_format.get("type") == "json_schema"
        else None,
        wants_thinking=isinstance(reasoning, dict) and reasoning.get("effort") != "none",
        max_tokens=body.get("max_output_tokens"),
    )


def segments(request: SandboxRequest) -> list[Segment]:
    """Return the instructions, the tools and each item."""
    head = [
        make_segment(request.body[key])
        for key in ("instructions", "tools")
        if request.body.get(key)
    ]
    return head + [make_segment(item) for item in _items(request)]


def _names(answer: Answer) -> str:
    return answer.id.removeprefix("resp_")


def output_of(answer: Answer, request: SandboxRequest) -> list[Body]:
    """Return the output items and store their ids, so that replayed items can be checked."""
    found: list[Body] = []
    name = _names(answer)
    if answer.thought:
        reasoning: Body = {"id": f"rs_{name}", "type": "reasoning", "summary": []}
        reasoning["summary"] = [{"type": "summary_text", "text": answer.thought}]
        if "reasoning.encrypted_content" in (request.body.get("include") or []):
            reasoning["encrypted_content"] = sign(request.model, reasoning["id"])
        found.append(reasoning)
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        found.append(
            {
                "id": f"msg_{name}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        )
    found += [
        {
            "id": f"fc_{at}{name}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.text,
        }
        for at, call in enumerate(answer.calls)
    ]
    _remember(found, answer, request)
    return found


def _remember(output: list[Body], answer: Answer, request: SandboxRequest) -> None:
    memory = request.memory.responses
    for item in output:
        if request.body.get("store") is not False:
            memory.put((request.key, item["id"]), item)
        if answer.thought and item["type"] == "function_call":
            memory.put((request.key, f"reasoning-of:{item['id']}"), f"rs_{_names(answer)}")
    if request.body.get("store") is not False:
        memory.put((request.key, answer.id), [*_items(request), *output])


def usage_of(answer: Answer) -> Body:
    """Return the usage; ``output_tokens`` includes reasoning."""
    prompt, output = answer.prompt, answer.output_tokens
    return {
        "input_tokens": prompt.total,
        "input_tokens_details": {"cached_tokens": prompt.read, "cache_write_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": answer.thought_tokens},
        "total_tokens": prompt.total + output,
    }


def _response(answer: Answer, request: SandboxRequest, status: str, output: list[Body]) -> Body:
    body, done = request.body, status != "in_progress"
    cut = answer.finish == "length" and done
    return {
        "id": answer.id,
        "object": "response",
        "created_at": CREATED,
        "status": "incomplete" if cut else status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": mapping(body.get("reasoning")).get("effort"), "summary": None},
        "service_tier": "default",
        "store": body.get("store") is not False,
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation", "disabled"),
        "usage": usage_of(answer) if done else None,
        "user": None,
    }


def response_body(answer: Answer, request: SandboxRequest) -> Body:
    """Return a ``response``."""
    return _response(answer, request, "completed", output_of(answer, request))


def _events(answer: Answer, request: SandboxRequest) -> Iterator[Body]:
    output = output_of(answer, request)
    yield {"type": "response.created", "response": _response(answer, request, "in_progress", [])}
    yield {
        "type": "response.in_progress",
        "response": _response(answer, request, "in_progress", []),
    }
    for at, item in enumerate(output):
        yield from _item(at, item)
    finished = _response(answer, request, "completed", output)
    yield {"type": f"response.{finished['status']}", "response": finished}


def _item(at: int, item: Body) -> Iterator[Body]:
    position = {"output_index": at, "item_id": item["id"]}
    opening = (
        item | {"status": "in_progress"} if item["type"] != "reasoning" else item | {"summary": []}
    )
    if item["type"] == "message":
        opening["content"] = []
    if item["type"] == "function_call":
        opening["arguments"] = ""
    yield {"type": "response.output_item.added", "output_index": at, "item": opening}
    if item["type"] == "message":
        yield from _text(position | {"content_index": 0}, item["content"][0])
    elif item["type"] == "function_call":
        for piece in pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **position, "delta": piece}
        yield {
            "type": "response.function_call_arguments.done",
            **position,
            "arguments": item["arguments"],
            "name": item["name"],
        }
    else:
        yield from _summary(position | {"summary_index": 0}, item["summary"][0])
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


def _text(position: Body, part: Body) -> Iterator[Body]:
    yield {"type": "response.content_part.added", **position, "part": part | {"text": ""}}
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", **position, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **position, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **position, "part": part}


def _summary(position: Body, part: Body) -> Iterator[Body]:
    yield {"type": "response.reasoning_summary_part.added", **position, "part": part | {"text": ""}}
    for piece in pieces(part["text"]):
        yield {"type": "response.reasoning_summary_text.delta", **position, "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", **position, "text": part["text"]}
    yield {"type": "response.reasoning_summary_part.done", **position, "part": part}


def events(answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
    """Yield numbered server-sent events."""
    for number, event in enumerate(_events(answer, request)):
        yield sse(event | {"sequence_number": number}, event["type"])
