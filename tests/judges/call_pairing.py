"""Judges: each tool call is answered right after it, each result answers a call.

Two rules written by others decide: langgraph's for OpenAI-style histories (no call without a result), and the MCP
SDK's, which is Anthropic's rule (results directly after their calls, the same ids on both sides). The latter looks at
the last two messages only, so it is asked about every adjacent pair. Here a transcript is only cut into the turns that
both speak of.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .reading import blocks, calls, merged, objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_types import SamplingMessage

    from .request import Json, Request

_MINTS_NO_IDS = frozenset({"zai"})
"""Z.ai takes results without an id, in the order of the calls (zai-accepts-tool-without-id)."""


def openai_pairing(request: Request) -> list[str]:
    """langgraph's and MCP's verdict on an OpenAI-style transcript."""
    messages = objects(request.messages)
    if request.provider in _MINTS_NO_IDS:
        messages = _with_lent_ids(messages)
    return _langgraph_refusals(messages) + _mcp_refusals(_openai_turns(messages))


def anthropic_pairing(request: Request) -> list[str]:
    """MCP's verdict on Anthropic blocks."""
    return block_refusals(request.messages)


def block_refusals(messages: Json) -> list[str]:
    """The same for any Anthropic messages, such as what LiteLLM made of a transcript."""
    turns: list[SamplingMessage] = []
    said = [message for message in objects(messages) if message.get("role") != "system"]
    for turn in merged(said):
        turns += _anthropic_turns(turn)
    return _mcp_refusals(turns)


@cache
def _langgraph_rule() -> Callable[[list[Any]], None]:
    from langgraph.prebuilt.chat_agent_executor import _validate_chat_history

    return _validate_chat_history


def _langgraph_refusals(messages: list[dict[str, Json]]) -> list[str]:
    """One verdict per exchange: in a whole history an id answered once would count as answered everywhere."""
    from langchain_core.messages import convert_to_messages

    # OpenAI lets a history end with calls that nobody answered yet.
    closed = messages[:-1] if messages and calls(messages[-1]) else messages
    refusals = []
    for exchange in _exchanges(closed):
        try:
            _langgraph_rule()(convert_to_messages(exchange))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            refusals.append(f"langgraph: {type(error).__name__}: {error}"[:300])
    return refusals


def _exchanges(messages: list[dict[str, Json]]) -> list[list[dict[str, Json]]]:
    """Each message with calls and the results right after it, pared down to what pairing is about."""
    exchanges: list[list[dict[str, Json]]] = []
    is_open = False
    for message in messages:
        if held := calls(message):
            exchanges.append(
                [{"role": "assistant", "content": "", "tool_calls": [_bare(call) for call in held]}]
            )
        elif message.get("role") == "tool" and is_open:
            exchanges[-1].append(
                {"role": "tool", "content": "", "tool_call_id": message.get("tool_call_id")}
            )
        is_open = bool(held) or (is_open and message.get("role") == "tool")
    return exchanges


def _bare(call: dict[str, Json]) -> dict[str, Json]:
    """A call that has only its id: LangChain would parse arguments, which OpenAI does not."""
    return {"id": call.get("id"), "type": "function", "function": {"name": "f", "arguments": "{}"}}


def _mcp_refusals(turns: list[SamplingMessage]) -> list[str]:
    from mcp.server.validation import validate_tool_use_result_messages

    refusals = []
    spans = [turns[:1], *(list(pair) for pair in pairwise(turns))]
    for index, span in enumerate(spans):
        try:
            validate_tool_use_result_messages(span)
        except ValueError as error:
            refusals.append(f"mcp: turn {index}: {error}")
    return refusals


def _turn(
    role: str, *, uses: list[Json] | None = None, results: list[Json] | None = None
) -> SamplingMessage:
    from mcp_types import SamplingMessage, TextContent, ToolResultContent, ToolUseContent

    # model_construct: the SDK types have judged the shapes, only the ids matter here.
    content: list[Any] = [
        ToolUseContent.model_construct(name="f", id=str(i), input={}) for i in uses or []
    ]
    content += [ToolResultContent.model_construct(tool_use_id=str(i)) for i in results or []]
    said = content or [TextContent.model_construct(type="text", text="said")]
    return SamplingMessage.model_construct(role=role, content=said)


def _openai_turns(messages: list[dict[str, Json]]) -> list[SamplingMessage]:
    turns: list[SamplingMessage] = []
    results: list[Json] = []
    for message in messages:
        if message.get("role") == "tool":
            results.append(message.get("tool_call_id"))
            continue
        if results:
            turns.append(_turn("user", results=results))
            results = []
        role = "assistant" if message.get("role") == "assistant" else "user"
        turns.append(_turn(role, uses=[call.get("id") for call in calls(message)]))
    return [*turns, _turn("user", results=results)] if results else turns


def _anthropic_turns(turn: dict[str, Json]) -> list[SamplingMessage]:
    """An assistant turn whole; a user turn cut where its results end, because MCP lets results stand only alone."""
    held = blocks(turn["content"])
    if turn["role"] != "user":
        return [_turn("assistant", uses=[b.get("id") for b in held if b.get("type") == "tool_use"])]
    turns: list[SamplingMessage] = []
    results: list[Json] = []
    for block in held:
        if block.get("type") == "tool_result":
            results.append(block.get("tool_use_id"))
            continue
        turns += [_turn("user", results=results)] if results else []
        turns.append(_turn("user"))
        results = []
    return [*turns, _turn("user", results=results)] if results else turns


def _with_lent_ids(messages: list[dict[str, Json]]) -> list[dict[str, Json]]:
    lent: list[Json] = []
    becomes = []
    for message in messages:
        if message.get("role") == "assistant":
            lent = [call.get("id") for call in calls(message)]
        due = lent.pop(0) if message.get("role") == "tool" and lent else None
        becomes.append({"tool_call_id": due, **message} if due is not None else message)
    return becomes
