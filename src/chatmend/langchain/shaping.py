"""Shapes that LangChain's messages can have and a partner's converter cannot carry, written another way.

It runs before the repair, message by message: what follows in the conversation changes nothing. What a converter can
carry is a fact of the table ``partners.toml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, RemoveMessage, ToolMessage

from chatmend import jsontext
from chatmend.changes import Change, Effect
from chatmend.langchain.blocks import Place, Writer, without_blanks
from chatmend.langchain.calls import Call, calls_of, closed, is_call, listed
from chatmend.langchain.carries import Carries
from chatmend.langchain.fields import is_result_block
from chatmend.langchain.items import Items
from chatmend.langchain.markers import surfaced
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHY = "the partner package cannot carry this shape"


def shaped(
    messages: list[BaseMessage], carries: Carries, allow: Effect = Effect.DROPS, most_markers: int | None = None
) -> tuple[list[BaseMessage], tuple[Change, ...]]:
    """The messages in shapes that can be carried; the same list where all can.

    ``allow``: the worst effect that the caller permits; what would need more is left and reported.
    ``most_markers``: how many cache markers the target takes.
    """
    kept = messages
    changes: list[Change] = []
    if any(isinstance(message, RemoveMessage) for message in messages):
        kept = [message for message in messages if not isinstance(message, RemoveMessage)]
        why = "an order to a reducer is no message"
        changes.append(_change(messages, kept, ("ROLE001", "unknown-role"), why, Effect.RESHAPES))
    if not any(message.content.__class__ is list or message.additional_kwargs for message in kept):
        return kept, tuple(changes)
    writer = Writer(carries, allow)
    items = Items() if carries.item_ids else None
    out: list[BaseMessage] = []
    for message in kept:
        whole = _whole(message, writer) if message.additional_kwargs else message
        out += _shaped(whole, writer, items) if isinstance(message.content, list) else (whole,)
    rule = ("PART001", "unknown-part")
    if writer.left:
        changes.append(Change(*rule, Effect.DROPS, None, _WHY, (), (), applied=False))
    if carries.extra_markers:
        out = surfaced(out, most_markers)
    if is_unchanged(out, kept):
        return kept, tuple(changes)
    changes.append(_change(kept, out, rule, _WHY, writer.effect))
    return out, tuple(changes)


def _change(
    before: Sequence[BaseMessage], after: Sequence[BaseMessage], rule: tuple[str, str], why: str, effect: Effect
) -> Change:
    """A change of the whole list, made before the first window is cut: that is what -1 says."""
    pairs = enumerate(zip(before, after, strict=False))
    first = next((at for at, (old, new) in pairs if old is not new), min(len(before), len(after)))
    return Change(*rule, effect, first, why, tuple(before), tuple(after), None, -1)


def _whole(message: BaseMessage, writer: Writer) -> BaseMessage:
    """The message without keys of another provider at which the converter raises."""
    kwargs = message.additional_kwargs
    bad = [key for key in writer.carries.object_kwargs if key in kwargs and not isinstance(kwargs[key], dict)]
    if not bad or not writer.may(Effect.DROPS if any(kwargs[key] for key in bad) else Effect.RESHAPES):
        return message
    return message.model_copy(update={"additional_kwargs": {key: kwargs[key] for key in kwargs if key not in bad}})


def _shaped(message: BaseMessage, writer: Writer, items: Items | None) -> Sequence[BaseMessage]:
    message = _unwrapped(message)
    content: list[Any] = message.content  # type: ignore[assignment]
    carries = writer.carries
    blocks = writer.blocks(content, _place(message, carries))
    if isinstance(message, AIMessage):
        blocks = items.once(blocks, writer.may) if items is not None else blocks
        if any(map(is_call, blocks)):
            message, blocks = _mirrored(message, blocks, carries)
        blocks = blocks if carries.blank_texts else without_blanks(blocks)
        blocks = writer.without_tail(blocks, calls=bool(message.tool_calls or message.invalid_tool_calls))
    if not is_unchanged(content, blocks):
        message = message.model_copy(update={"content": blocks or ""})
    if _place(message, carries) == "user" and not carries.results_inside and any(map(is_result_block, blocks)):
        return _split(message, blocks)
    return (message,)


def _unwrapped(message: BaseMessage) -> BaseMessage:
    """A tool's message with nothing but the results of other calls as what converters take it for: a user's."""
    content = message.content
    if not isinstance(message, ToolMessage | FunctionMessage) or not content or not all(map(is_result_block, content)):
        return message
    answered = {block.get("tool_use_id") for block in content if isinstance(block, dict)}
    if isinstance(message, ToolMessage) and answered == {message.tool_call_id}:
        return message
    return HumanMessage(content)


def _mirrored(message: AIMessage, blocks: list[Any], carries: Carries) -> tuple[AIMessage, list[Any]]:
    """The message with every call where it is sent from, and nowhere else that would be refused."""
    if carries.calls_inside is not None:
        message, blocks = _called(message, blocks, carries.calls_inside)
    if blocks and not carries.trailing_thinking and _is_thinking(blocks[-1]) and not _is_standard(message):
        blocks = [*(block for block in blocks if not is_call(block)), *filter(is_call, blocks)]
    refused = carries.refused_mirrors
    if not refused or _is_standard(message):
        return message, blocks
    return message, [block for block in blocks if not (is_call(block) and block["type"] in refused)]


def _is_thinking(block: Any) -> bool:
    return block.__class__ is dict and block.get("type") in ("thinking", "redacted_thinking")


def _place(message: BaseMessage, carries: Carries) -> Place:
    if isinstance(message, AIMessage):
        return "own" if message.response_metadata.get("model_provider") in carries.writers else "answer"
    return "result" if isinstance(message, ToolMessage) else "user"


def _is_standard(message: AIMessage) -> bool:
    """Whether the content is in LangChain's own blocks, which converters translate before anything else."""
    return message.response_metadata.get("output_version") == "v1"


def _called(message: AIMessage, blocks: list[Any], sent: frozenset[str]) -> tuple[AIMessage, list[Any]]:
    """The message with calls in ``tool_calls`` that stood in its content alone, where they would not be sent."""
    held = [call for call in calls_of(message) if call.place == "content"]
    unsent = {jsontext.identity(call.id) for call in held if not _is_sent(call.native, sent)}
    if not unsent:
        return message, blocks
    # calls of one id go together: one that stayed would be taken for the mirror of one that went
    alone = [call for call in held if jsontext.identity(call.id) in unsent]
    known = {id(call.native) for call in alone}
    told = [block for block in blocks if id(block) not in known]
    written = [closed(_open(call), None).call or {} for call in alone]
    valid = [*listed(message.tool_calls), *(call for call in written if call["type"] == "tool_call")]
    broken = [*listed(message.invalid_tool_calls), *(call for call in written if call["type"] != "tool_call")]
    return message.model_copy(update={"tool_calls": valid, "invalid_tool_calls": broken}), told


def _is_sent(block: dict[str, Any], sent: frozenset[str]) -> bool:
    """Whether a call that stands in the content alone is sent from there, with arguments that can be read."""
    return block["type"] in sent and (block["type"] != "tool_use" or isinstance(block.get("input"), dict))


def _open(call: Call) -> dict[str, Any]:
    return {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}


def _split(message: BaseMessage, blocks: list[Any]) -> list[BaseMessage]:
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
