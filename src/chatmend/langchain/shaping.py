"""Shapes that LangChain's messages can have and a partner's converter cannot carry, written another way.

It runs before the repair, message by message: what follows in the conversation changes nothing. What a converter can
carry is a fact of the table ``partners.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage

from chatmend.changes import Change, Effect
from chatmend.dialects.pictures import picture, translated
from chatmend.langchain.calls import Call, calls_of, closed, is_call
from chatmend.langchain.fields import is_result_block
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Carries:
    """What a partner's converter can carry."""

    results_inside: bool = True
    """Tool results as blocks of a user message."""
    calls_inside: frozenset[str] | None = None
    """Types of content blocks that are sent as calls though ``tool_calls`` has none; None: any."""
    sources: frozenset[str] | None = None
    """Types of blocks with a ``source``, as Anthropic writes images and documents; None: any."""
    bare_urls: bool = True
    """``image_url`` that is a string instead of an object."""
    cache_markers: bool = True
    """``cache_control`` on content blocks."""
    drops: frozenset[str] = frozenset()
    """Types of blocks that other providers wrote and that would be refused."""
    foreign_reasoning: bool = True
    """Blocks of reasoning that another provider wrote: without the id that this one gives its own."""


def shaped(messages: list[BaseMessage], carries: Carries) -> tuple[list[BaseMessage], tuple[Change, ...]]:
    """The messages in shapes that can be carried; the same list where all can."""
    kept = messages
    changes: list[Change] = []
    if any(isinstance(message, RemoveMessage) for message in messages):
        kept = [message for message in messages if not isinstance(message, RemoveMessage)]
        why = "an order to a reducer is no message"
        changes.append(_change(messages, kept, ("ROLE001", "unknown-role"), why, Effect.RESHAPES))
    if carries == Carries():
        return kept, tuple(changes)
    out: list[BaseMessage] = []
    for message in kept:
        out += _shaped(message, carries) if isinstance(message.content, list) else (message,)
    if is_unchanged(out, kept):
        return kept, tuple(changes)
    dropped = any(_is_dropped(block, carries) for message in kept for block in message.content)
    why = "the partner package cannot carry this shape"
    changes.append(_change(kept, out, ("PART001", "unknown-part"), why, Effect.DROPS if dropped else Effect.RESHAPES))
    return out, tuple(changes)


def _change(
    before: Sequence[BaseMessage], after: Sequence[BaseMessage], rule: tuple[str, str], why: str, effect: Effect
) -> Change:
    """A change of the whole list, made before the first window is cut: that is what -1 says."""
    pairs = enumerate(zip(before, after, strict=False))
    first = next((at for at, (old, new) in pairs if old is not new), min(len(before), len(after)))
    return Change(*rule, effect, first, why, tuple(before), tuple(after), None, -1)


def _shaped(message: BaseMessage, carries: Carries) -> Sequence[BaseMessage]:
    content: list[Any] = message.content  # type: ignore[assignment]
    blocks = [_carried(block, carries) for block in content]
    blocks = [block for block in blocks if not _is_dropped(block, carries)]
    if isinstance(message, AIMessage) and carries.calls_inside is not None:
        message, blocks = _called(message, blocks, carries.calls_inside)
    if not is_unchanged(content, blocks):
        message = message.model_copy(update={"content": blocks})
    if isinstance(message, HumanMessage) and not carries.results_inside and any(map(is_result_block, blocks)):
        return _split(message, blocks)
    return (message,)


def _carried(block: Any, carries: Carries) -> Any:
    """One block, in a shape that can be carried."""
    if block.__class__ is not dict:
        return block
    if not carries.cache_markers and "cache_control" in block:
        block = {key: value for key, value in block.items() if key != "cache_control"}
    if is_result_block(block):
        inner = block.get("content")
        if inner is None:
            return {**block, "content": ""}
        if isinstance(inner, list):
            inside = [_carried(item, carries) for item in inner]
            return block if is_unchanged(inside, inner) else {**block, "content": inside}
    if not carries.bare_urls and isinstance(block.get("image_url"), str):
        return {**block, "image_url": {"url": block["image_url"]}}
    if carries.sources is not None and isinstance(block.get("source"), dict):
        return block if block.get("type") in carries.sources else _without_source(block)
    return block


def _without_source(block: dict[str, Any]) -> dict[str, Any]:
    """A block of Anthropic's as OpenAI or LangChain writes it; the same where its bytes are not in it."""
    source = block["source"]
    if block.get("type") == "image":
        found = picture(block)
        return (translated(block, found, "url-object") if found else None) or block
    data, kind = source.get("data"), source.get("media_type")
    if source.get("type") == "text" and isinstance(data, str):
        return {"type": "text", "text": data}
    if source.get("type") == "base64" and isinstance(data, str) and isinstance(kind, str):
        return {"type": "file", "base64": data, "mime_type": kind}
    return block


def _is_dropped(block: Any, carries: Carries) -> bool:
    if block.__class__ is not dict:
        return False
    own = block.get("id") or block.get("encrypted_content")
    foreign = not carries.foreign_reasoning and block.get("type") == "reasoning" and not own
    return foreign or block.get("type") in carries.drops


def _called(message: AIMessage, blocks: list[Any], sent: frozenset[str]) -> tuple[AIMessage, list[Any]]:
    """The message with calls in ``tool_calls`` that stood in its content alone, where they would not be sent."""
    if not any(map(is_call, blocks)):
        return message, blocks
    alone = [call for call in calls_of(message) if call.place == "content" and not _is_sent(call.native, sent)]
    if not alone:
        return message, blocks
    known = {id(call.native) for call in alone}
    told = [block for block in blocks if id(block) not in known]
    written = [closed(_open(call), None).call or {} for call in alone]
    valid = [*message.tool_calls, *(call for call in written if call["type"] == "tool_call")]
    broken = [*message.invalid_tool_calls, *(call for call in written if call["type"] != "tool_call")]
    return message.model_copy(update={"tool_calls": valid, "invalid_tool_calls": broken}), told


def _is_sent(block: dict[str, Any], sent: frozenset[str]) -> bool:
    """Whether a call that stands in the content alone is sent from there, with arguments that can be read."""
    return block["type"] in sent and (block["type"] != "tool_use" or isinstance(block.get("input"), dict))


def _open(call: Call) -> dict[str, Any]:
    return {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}


def _split(message: HumanMessage, blocks: list[Any]) -> list[BaseMessage]:
    """A message for each tool result, and one for the rest behind them."""
    out: list[BaseMessage] = [_result(block) for block in blocks if is_result_block(block)]
    rest = [block for block in blocks if not is_result_block(block)]
    return [*out, message.model_copy(update={"content": rest})] if rest else out


def _result(block: dict[str, Any]) -> ToolMessage:
    call_id, content = block.get("tool_use_id"), block.get("content")
    return ToolMessage(
        content=content if isinstance(content, str | list) else "",
        tool_call_id=call_id if isinstance(call_id, str) else "",
        status="error" if block.get("is_error") else "success",
    )


__all__ = ["Carries", "shaped"]
